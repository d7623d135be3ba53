"""What the documentation promises is shown by tests that are there."""

import ast
import re
from functools import cache

import pytest

from checks.files import ROOT
from tests.docs.texts import PAGES

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TABLES = {
    "security.md": ("## What stands against what\n", re.compile(r"^\| (\d+) \|", re.MULTILINE), "{}. "),
    "contract.md": ("## How each promise is tested\n", re.compile(r"^\| (C\d) ", re.MULTILINE), "- {}: "),
}
"""By page: its section, what a row is known by, and how the item of that row begins in the list below the table."""


@cache
def functions(file: str) -> set[str]:
    """Also those of classes."""
    path = ROOT / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def unknown(text: str) -> list[str]:
    return [f"{file}::{name}" for file, name in NAMED.findall(text) if name not in functions(file)]


def unshown(page: str, text: str) -> list[str]:
    """The rows of its table for which no test is named."""
    heading, row, start = TABLES[page]
    section = text.partition(heading)[2].partition("\n## ")[0]
    items = {key: _item(section, start.format(key)) for key in row.findall(section)}
    assert items, page
    return [key for key, item in items.items() if not NAMED.search(item)]


def _item(section: str, start: str) -> str:
    """An item of a list with the lines that belong to it."""
    found = re.search(rf"^{re.escape(start)}.*(?:\n +.*)*", section, re.MULTILINE)
    return found[0] if found else ""


@pytest.mark.parametrize("name", PAGES)
def test_every_test_that_a_page_names_is_there(name):
    """Issue 14: a promise whose test was renamed or removed is found."""
    assert unknown(PAGES[name]) == []


@pytest.mark.parametrize("page", TABLES)
def test_every_promise_names_a_test(page):
    """Issue 14."""
    assert unshown(page, PAGES[page]) == []


def test_a_test_that_is_not_there_and_a_row_without_one_are_found():
    row = re.compile(r"^10\. .*\n(?: +.*\n)*", re.MULTILINE)
    without = row.sub("10. somebody looked at it\n", PAGES["security.md"])

    assert unshown("security.md", without) == ["10"]
    assert unknown("`tests/docs/test_promises.py::test_nothing`, `tests/none.py::test_it`") == [
        "tests/docs/test_promises.py::test_nothing",
        "tests/none.py::test_it",
    ]
