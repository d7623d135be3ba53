"""The documentation leaves out nothing there is."""

import inspect
import re

import msgspec
import pytest

import folkmoot
from checks.structs import all_rows
from folkmoot.domain.agent import Frontmatter
from folkmoot.domain.message import Usage
from folkmoot.domain.report import Selection
from folkmoot.domain.settings import Settings
from folkmoot.models import script
from folkmoot.scenarios.scenario import ScenarioFile
from folkmoot.views.costs import Totals
from tests.docs.texts import DOCS, PAGES

REFERENCE = "".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))


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
    parts = (
        script.AgentScript,
        script.ScriptedRule,
        script.ScriptedReply,
        script.ScriptedCall,
        Selection,
    )
    example = PAGES["testing.md"].partition("desk/script.yaml -->")[2].partition("<!--")[0]

    names = {*keys(*parts, script.ScriptedFault, Usage, script.ScriptedClaim), "attempts"} - {"then"}
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
