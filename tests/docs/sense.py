"""What is only shown must make sense all the same: commands that the program takes, and texts that can be read."""

from __future__ import annotations

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

from folkmoot.cli.main import app, hoisted

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
    context, rest, name = None, hoisted(words), "folkmoot"
    while True:
        try:
            context = command.make_context(name, list(rest), parent=context)
        except typer.Exit:  # --help and the like
            return
        if not hasattr(command, "list_commands"):
            return
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)


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
