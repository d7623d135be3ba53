"""The documentation is true: its examples run and give what they show, and it leaves out nothing there is."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import socket
import sys
from pathlib import Path

import msgspec
import pytest

import folkmoot
from bench.process import model_server
from checks.files import ROOT
from checks.structs import all_rows
from folkmoot.cli.main import main
from folkmoot.domain.agent import Frontmatter
from folkmoot.domain.settings import Settings
from folkmoot.models import script
from folkmoot.scenarios.scenario import ScenarioFile
from folkmoot.views.accounting import Totals
from tests.docs.chat_server import shop_model
from tests.docs.pages import REASONS, blocks, enter, play
from tests.docs.sense import nonsense
from tests.docs.shown import Lie

DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))}
GUIDES = {name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")}
"""What is read outside of the documentation."""
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/README.md"))
REFERENCE = "".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """An empty folder, and nothing of this machine's user around it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("COLUMNS", "200")
    # What is installed beside this Python is at hand, as it is for whoever types the commands.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")  # a page sets it
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a page shows pytest as it comes
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


DATABASE = ("postgresql.md", "workers.md")
MOVING = [name for name in PAGES if name.startswith("moving-from-")]


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"tutorial.md", *DATABASE, *MOVING, "mcp-server.md"}))
def test_the_examples_of_a_page_give_what_it_shows(name):
    """A-110: behaviour cannot change without the pages that show it."""
    played = play(PAGES[name], name=name)

    assert played or name in ("README.md", "concepts.md", "walk.md")


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", GUIDES)
def test_what_is_typed_elsewhere_works_too(name):
    play(GUIDES[name], name=name)


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

    assert len(REASONS) < 10
    assert {mark.removeprefix("not run: ") for mark in excused} == REASONS
    assert len(excused) < len(shown) / 8


@pytest.mark.usefixtures("desktop")
def test_the_tutorial_leads_from_an_empty_folder_to_a_team_on_postgresql(postgres):
    """A-110, with servers where the page has some: a model's, and a database's."""
    with model_server() as model:
        there = {"8000": str(model), "8484": free_port(), "postgresql://moot@127.0.0.1/moot": postgres.url}

        assert play(PAGES["tutorial.md"], there, name="tutorial.md") > 20


@pytest.mark.usefixtures("desktop")
def test_a_door_for_mcp():
    there = {"8000": free_port(), "/home/ann/desk": str(Path.cwd() / "desk")}

    assert play(PAGES["mcp-server.md"], there, name="mcp-server.md")


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", DATABASE)
def test_what_needs_a_database_finds_one(name, postgres):
    assert play(PAGES[name], {"postgresql://moot@db.example.com/folkmoot": postgres.url}, name=name)


@pytest.mark.usefixtures("desktop")
@pytest.mark.parametrize("name", MOVING)
def test_programs_of_other_frameworks_and_the_same_in_ours_give_what_the_page_shows(name):
    """A-110, with a model's server on loopback for both."""
    with shop_model() as model:
        assert play(PAGES[name], {"8000": str(model), "8484": free_port()}) > 2


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


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
        ("<!-- not run: does not end -->\n```console\n$ folkmoot serve --prot 1\n```\n", "No such option"),
        ("<!-- not run: needs a key -->\n```json\n{1}\n```\n", "only shown, but JSONDecodeError"),
        ("<!-- not run: needs a key -->\n```python\n1 +\n```\n", "only shown, but SyntaxError"),
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


def test_whole_scenarios_run_from_the_command_line_to_the_report():
    """B-57: at least ten; every example project has a test of its own, every page is played."""
    told = [name for name, text in PAGES.items() if "<!-- run -->" in text]
    examples = [path.parent.name for path in (ROOT / "examples").glob("*/folkmoot.yaml")]

    assert len(told) + len(examples) >= 10
    tested = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in examples if f'"{name}"' not in tested] == []


def unmentioned(names, *pages):
    """Which of these no page has in code, alone or as a part of something."""
    code = " ".join(re.findall(r"```.*?```|`[^`\n]+`", "".join(pages), re.DOTALL))
    return [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code)]


def keys(*structs):
    return [field.encode_name for struct in structs for field in msgspec.structs.fields(struct)]


def public(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


def test_every_key_of_an_agent_file_is_explained_outside_the_reference_too():
    """A-110."""
    assert unmentioned(keys(Frontmatter), *PAGES.values()) == []


@pytest.mark.parametrize("struct", [Frontmatter, Settings, ScenarioFile])
def test_every_key_of_a_file_is_in_the_reference(struct):
    """A-110."""
    assert unmentioned([row.key for row in all_rows(struct)], REFERENCE) == []


def test_every_key_of_a_script_is_explained_with_an_example():
    parts = (script.Part, script.Rule, script.Reply, script.Call, script.Route, script.Fault)
    example = PAGES["testing.md"].partition("desk/script.yaml -->")[2].partition("<!--")[0]

    names = {*keys(*parts, script.Counted, script.Claim), "attempts"} - {"then"}
    assert unmentioned(sorted(names), example) == []
    assert unmentioned(keys(script.Barrier), PAGES["testing.md"]) == []


def test_every_promised_name_and_what_it_has_is_on_the_page_about_python():
    kinds = (
        folkmoot.Folkmoot,
        folkmoot.Result,
        folkmoot.Surroundings,
        folkmoot.ScriptedModel,
        folkmoot.FakeClock,
    )
    arguments = inspect.signature(folkmoot.Folkmoot.open).parameters

    names = [*folkmoot.__all__, *(name for kind in kinds for name in public(kind)), *arguments]
    assert unmentioned(names, PAGES["python.md"]) == []


def test_every_field_of_the_result_is_on_the_page_about_running():
    fields = [*folkmoot.Result("run", []).to_json(), *keys(Totals)]

    assert unmentioned(fields, PAGES["running.md"]) == []


def test_several_handoffs_are_described_as_a_pipeline_and_never_as_a_fan_out():
    """A-4: only the statement; that a list is refused, the loader's own test shows."""
    said = " ".join(PAGES["agents.md"].split())

    assert "they will mean a sequential pipeline, one after the other, never a fan-out" in said


def test_every_page_is_in_the_table_of_contents():
    """B-57: with every key, option, event and command above, the guide is complete."""
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.name != "README.md"]

    assert [page for page in pages if f"({page})" not in PAGES["README.md"]] == []
