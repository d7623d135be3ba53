"""Whatever the program, its pages or its documents tell people to type is a command that there is."""

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.files import ROOT
from tests.docs.sense import QUOTED, hints, understand, understand_names
from tests.docs.texts import GUIDES, PAGES

SOURCE = ROOT / "src" / "folkmoot"


def messages(file: Path) -> Iterator[tuple[int, str]]:
    """Every text of a file that somebody may read, with `X` for what is put in; but what explains the code, and the
    examples of operations, which are lines for a shell and are run as such."""
    tree = ast.parse(file.read_text())
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "examples":
            explained |= {id(part) for part in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values),
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not {id(node)} & (inner | explained)
        ):
            yield node.lineno, node.value


def wrong(command: str, check=understand) -> str:
    try:
        check(shlex.split(command)[1:])
    except Exception as error:  # whatever the reader of a command line raises
        return f"{command}: {getattr(error, 'message', '') or error}"
    return ""


@pytest.mark.parametrize(
    "room", sorted(path.name for path in SOURCE.iterdir() if any(path.rglob("*.py")) or path.suffix == ".py")
)
def test_every_command_in_a_message_is_taken_by_the_program(room):
    """K-64: with its arguments and options."""
    files = [SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).rglob("*.py"))
    found = [
        f"{file.relative_to(ROOT)}:{line}: {fault}"
        for file in files
        for line, text in messages(file)
        for hint in hints(text)
        if (fault := wrong(hint))
    ]

    assert found == []


@pytest.mark.parametrize("name", [*PAGES, *GUIDES])
def test_every_command_that_the_documents_mention_is_there(name):
    """K-64: perhaps without its arguments, but with no option that there is not."""
    mentioned = QUOTED.findall({**PAGES, **GUIDES}[name])

    assert [fault for each in mentioned if (fault := wrong(each, understand_names))] == []


def test_every_command_that_the_code_mentions_is_there():
    found = [
        f"{file.relative_to(ROOT)}: {fault}"
        for file in sorted(SOURCE.rglob("*.py"))
        for each in QUOTED.findall(file.read_text())
        if "{" not in each and (fault := wrong(each, understand_names))
    ]

    assert found == []
