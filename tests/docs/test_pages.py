"""The documentation is true: its examples run and give what they show."""

import shlex
from pathlib import Path

import pytest

from checks.files import ROOT
from folkmoot.cli.main import main
from tests.docs.pages import REASONS, blocks, enter, play
from tests.docs.sense import nonsense
from tests.docs.texts import ALONE, DOCS, GUIDES, PAGES

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/README.md"))


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", ALONE)
def test_the_examples_of_a_page_give_what_it_shows(name):
    """A-110: behaviour cannot change without the pages that show it."""
    played = play(PAGES[name], name=name)

    assert played or name in ("README.md", "concepts.md", "glossary.md")


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_readme_of_an_example_says_is_typed_there(name):
    """No marks: these files become a user's own. What needs a key is only understood; a run may wait for a person."""
    enter(ROOT / "examples" / name, Path.cwd())
    assert main(["trust", "--yes"]) == 0

    for block in blocks((ROOT / "examples" / name / "README.md").read_text()):
        assert block.language in ("sh", "text", "yaml"), block.line
        assert nonsense(block.language, block.text) == ""
        for line in block.text.splitlines() if block.language == "sh" else ():
            words = shlex.split(line, comments=True)
            assert words[0] != "folkmoot" or main(words[1:]) in (0, 6), line


@pytest.mark.parametrize("name", [path.name for path in sorted((DOCS / "reference").glob("*.md"))])
def test_every_example_of_the_reference_is_taken_by_the_program(name):
    found = [
        f"line {block.line}: {wrong}"
        for block in blocks((DOCS / "reference" / name).read_text())
        if (wrong := nonsense(block.language, block.text))
    ]

    assert found == []


def test_almost_everything_that_is_shown_is_run_and_what_is_not_has_one_of_a_few_reasons():
    shown = [block for text in (*PAGES.values(), *GUIDES.values()) for block in blocks(text)]
    excused = [block.mark for block in shown if block.mark.startswith("not run: ")]

    assert {mark.removeprefix("not run: ") for mark in excused} == REASONS
    assert (
        len(excused) < len(shown) / 35
    )  # `./dev clients` runs the lines for programs that are not installed here


def test_whole_scenarios_run_from_the_command_line_to_the_report():
    """B-57: at least ten; every example project has a test of its own, every page is played."""
    told = [name for name, text in PAGES.items() if "<!-- run -->" in text]
    examples = [path.parent.name for path in (ROOT / "examples").glob("*/folkmoot.yaml")]

    assert len(told) + len(examples) >= 10
    tested = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in examples if f'"{name}"' not in tested] == []
