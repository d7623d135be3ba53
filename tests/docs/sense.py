"""What is only shown must make sense all the same: commands that the program takes, and texts that can be read."""

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import typer
import yaml

from folkmoot.cli.main import app, move_global_options_first

_TYPED = {"console": "$ ", "sh": "", "text": "  "}
"""What stands before a line that is typed."""
_PART_OF_A_LINE = re.compile(r"&&|\|\||[|;<>&]")
_READ: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "yaml": yaml.safe_load,
    "toml": tomllib.loads,
    "python": ast.parse,
    "ini": lambda text: configparser.RawConfigParser().read_string(text),
}

NO_COMMANDS = (
    "folkmoot broke",
    "folkmoot sign-in",
    "from folkmoot",
    "install folkmoot again",
    "folkmoot Xs list",
)
QUOTED = re.compile(r"`(folkmoot [^`\n]+)`")
BARE = re.compile(r"(?<![`\w./@-])(folkmoot (?:--?\w|[a-z])[^)]*)")
"""Without quotes a command is the last thing on its line or in its brackets."""


def nonsense(language: str, text: str) -> str:
    """What is wrong with a block; empty if nothing is."""
    try:
        if language in _READ:
            _READ[language](text)
        for words in commands(language, text):
            understand(words)
    except Exception as error:  # whatever a reader of a format raises
        return f"{type(error).__name__}: {getattr(error, 'message', '') or error}"
    return ""


def commands(language: str, text: str) -> Iterator[list[str]]:
    """Each call of `folkmoot` in lines that are typed: after a prompt, or indented below `Examples:` of a help."""
    before = _TYPED.get(language, "")
    for line in text.replace("\\\n", " ").splitlines() if language in _TYPED else ():
        typed = line.removeprefix(before) if line.startswith(before) else ""
        for part in _parts(typed) if "folkmoot " in typed else ():
            words = [word for word in part if not re.match(r"[A-Z_]+=", word)]
            if words[:1] == ["folkmoot"]:
                yield words[1:]


def understand(words: list[str]) -> None:
    """Raises what the program would say about them; nothing is done."""
    command = _program()
    context, rest, name = None, move_global_options_first(words), "folkmoot"
    while True:
        try:
            context = command.make_context(name, list(rest), parent=context)
        except typer.Exit:  # --help and the like
            return
        if not hasattr(command, "list_commands"):
            return
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)


def understand_names(words: list[str]) -> None:
    """The same for a command that is only mentioned: that it is there, and its options are; arguments may be missing."""
    command: Any = _program()
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] not in command.commands:
            raise ValueError(f"there is no command {words[0]!r}")
        command, words = command.commands[words[0]], words[1:]
    options = [option for each in (command, _program()) for option in each.params]
    known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    for word in words:
        if word.startswith("--") and word.partition("=")[0] not in known | {"--help"}:
            raise ValueError(f"there is no option {word!r}")


def hints(text: str) -> Iterator[str]:
    """The commands in a message."""
    for line in text.splitlines():
        if not any(words in line for words in NO_COMMANDS):
            yield from QUOTED.findall(line)
            yield from (found.partition(" && ")[0] for found in BARE.findall(QUOTED.sub("", line)))


@cache
def _program() -> Any:
    return typer.main.get_command(app)


def _parts(line: str) -> Iterator[list[str]]:
    """The commands of a line, as words; what separates them counts only outside of quotes."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    part: list[str] = []
    for word in words:
        if _PART_OF_A_LINE.fullmatch(word):
            yield part
            part = []
        else:
            part.append(word)
    yield part
