"""The newcomer's walk: what it does stands in the documents, and what is installed is enough for it."""

import sys
from pathlib import Path

import pytest

from bench.walk import ANSWER, INSTALLED, MODEL, SHIPPING, Place, Step, Taken, line, walk
from checks.files import ROOT

QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text()


@pytest.fixture
def place(tmp_path):
    """As after `./dev demo`: a clone with a `.venv`, which is this one."""
    return Place(tmp_path, ROOT, Path(sys.executable).parent)


def test_an_agent_of_ones_own_a_model_on_loopback_and_the_page_are_reached(place):
    walked = list(walk(place, INSTALLED))

    assert [step.name for step, _ in walked] == ["project", "own agent", "model", "page"]
    assert all(taken.wall > 0 and taken.cpu > 0 for _, taken in walked)


def test_a_step_that_does_not_give_what_it_should_ends_the_walk(place):
    broken = Step("broken", "nothing", lambda place: place.run("echo no; false", place.home))

    with pytest.raises(SystemExit, match="`echo no; false` ended with 1:\nno"):
        list(walk(place, (broken,)))


def test_what_the_walk_writes_and_types_is_what_the_quickstart_says():
    assert f"```markdown\n{SHIPPING}```" in QUICKSTART
    assert f"```yaml\n{ANSWER}```" in QUICKSTART
    for command in (
        "./dev demo",
        "folkmoot init desk",
        'folkmoot run shipping.ai "Where is my parcel?"',
        "pip install",
    ):
        assert command in QUICKSTART
    address = MODEL.format(port=8000).splitlines()[1]
    assert address in (ROOT / "docs" / "tutorial.md").read_text()


def test_each_step_is_a_line_with_its_times():
    assert (
        line("clone", Taken(1.84, 0.5), "the repository")
        == "clone            1.8 s     0.5 s CPU  the repository"
    )
