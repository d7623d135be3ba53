"""Whatever the terminal can do, the API can, or the page about it says why not."""

import re

from typer.main import get_command

from checks.files import ROOT
from checks.served import SERVED
from folkmoot.cli.main import app
from folkmoot.http.api import OPERATIONS

_ROW = re.compile(r"^\| `([a-z -]+)` \| (.+) \|$", re.MULTILINE)


def commands(command, *path):
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path)
    for name, each in (below or {}).items():
        yield from commands(each, *path, name)


def reasons():
    page = (ROOT / "docs" / "http.md").read_text()
    return dict(_ROW.findall(page.partition("## What is left to the terminal")[2]))


def test_every_command_is_served_or_listed_with_its_reason():
    """Issue 7: JSON API for everything the terminal can do."""
    known, left = set(commands(get_command(app))), reasons()

    assert known - SERVED.keys() - left.keys() == set(), "say in checks/served.py or docs/http.md"
    assert (SERVED.keys() | left.keys()) - known == set()
    assert SERVED.keys() & left.keys() == set()
    assert all(len(why.split()) > 2 for why in left.values())


def test_what_stands_for_a_command_is_an_operation():
    ids = {operation.id for operation in OPERATIONS}

    assert {id for named in SERVED.values() for id in named} <= ids


def test_nobody_is_trusted_from_another_machine():
    """DESIGN 8: trust is given where the files are."""
    assert "trust" in reasons()
    assert not [operation.path for operation in OPERATIONS if "trust" in operation.path]
