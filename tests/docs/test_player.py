"""A page is played as a reader would, and one that lies is found out."""

import os
from pathlib import Path

import pytest

from tests.docs.pages import play
from tests.docs.shown import Lie


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize(
    ("page", "lie"),
    [
        ("<!-- run -->\n```console\n$ folkmoot --version\nfolkmoot 99.0\n```\n", "but gives"),
        ("<!-- run -->\n```console\n$ folkmoot run nobody hello\n...\n```\n", "ended with 2"),
        ("<!-- run -->\n```console\n$ folkmoot run nobody hello\n...\n$ echo $?\n0\n```\n", "but gives"),
        ("<!-- run -->\n```console\n$ true | false\n```\n", "ended with 1"),
        ("<!-- run -->\n```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```\n", "but gives"),
        ("<!-- run -->\n```console\n$ echo no &\nready\n```\n", "but gives"),
        ("```python\nprint(1)\n```\n", "no mark"),
        ("```text\nIt works.\n```\n", "no mark"),
        ("- In a list:\n\n  ```python\n  print(1)\n  ```\n", "no mark"),
        ("<!-- run -->\n```sh\nfolkmoot rnu\n```\n", "ended with 2"),
        ("<!-- run -->\n```nginx\nlocation /\n```\n", "no mark"),
        ("<!-- not run: too long -->\n```text\nx\n```\n", "none of the reasons"),
        (
            "<!-- not run: not installed here -->\n```console\n$ folkmoot serve --prot 1\n```\n",
            "No such option",
        ),
        ("<!-- not run: not installed here -->\n```json\n{1}\n```\n", "only shown, but JSONDecodeError"),
        ("<!-- not run: not installed here -->\n```python\n1 +\n```\n", "only shown, but SyntaxError"),
        ("<!-- played by tests/docs/pages.py -->\n```python\n1\n```\n", "says nothing of nowhere.md"),
        ("<!-- rum -->\n```console\n$ folkmoot --version\n```\n", "no mark"),
    ],
)
def test_a_page_that_lies_is_found_out(page, lie):
    with pytest.raises(Lie, match=lie):
        play(page, name="nowhere.md")


@pytest.mark.usefixtures("desktop")
def test_what_a_page_leaves_running_is_there_until_it_is_killed_and_no_longer():
    begun = "$ sh -c 'echo $$ > pid; echo ready; exec sleep 60' &\nready\n$ kill -0 $(cat pid)\n"
    gone = "$ kill -0 $(cat pid) 2>/dev/null\n$ echo $?\n0\n"

    assert play(f"<!-- run -->\n```console\n{begun}```\n") == 1
    with pytest.raises(Lie, match="but gives\n\n1"):
        play(f"<!-- run -->\n```console\n{gone}```\n")
    with pytest.raises(Lie, match="but gives\n\n1"):
        play(f"<!-- run -->\n```console\n{begun}$ kill -9 %1\n{gone}```\n")


@pytest.mark.usefixtures("desktop")
def test_an_id_that_was_printed_can_be_used_as_the_page_shows_it():
    page = (
        "<!-- run -->\n```console\n$ echo ID: HERE\nID: ap_000000000001\n$ echo ap_000000000001 > said\n```\n"
    )

    play(page, {"HERE": "ap_0123456789ab"})

    assert Path("said").read_text() == "ap_0123456789ab\n"


@pytest.mark.usefixtures("desktop")
def test_what_a_file_on_a_page_says_is_what_runs():
    page = "<!-- file: a.ai -->\n```markdown\n---\nmodles: x\n---\nHello.\n```\n"

    with pytest.raises(Lie, match="unknown key 'modles'"):
        play(page + "<!-- run -->\n```console\n$ folkmoot check\n```\n")


@pytest.mark.usefixtures("desktop")
def test_python_on_a_page_that_fails_fails_the_page():
    with pytest.raises(ZeroDivisionError):
        play("<!-- run -->\n```python\n1 / 0\n```\n")


@pytest.mark.usefixtures("desktop")
def test_what_a_page_sets_holds_for_all_that_follows_and_no_longer():
    page = "<!-- run -->\n```console\n$ export SHOP=open\n$ echo $SHOP\nopen\n```\n"

    play(page + "<!-- run -->\n```python\nimport os\n\nassert os.environ['SHOP'] == 'open'\n```\n")

    assert "SHOP" not in os.environ
