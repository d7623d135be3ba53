"""`file_read`, `file_write` and `web_fetch`: names that others use for tools of ours, wherever a tool is named."""

import json

import pytest
import yaml

from folkmoot import Folkmoot, ScriptedModel, tool
from tests.cli.conftest import SETTINGS

READ = {"tool": "file_read", "arguments": {"path": "notes.txt"}}


def write(folkmoot, settings="", frontmatter="tools: [file_read, web_fetch]", calls=(READ,)):
    folkmoot.write(
        {"a": frontmatter}, {"a": [{"calls": list(calls)}, {"report": "fine"}]}, SETTINGS + settings
    )
    (folkmoot.folder / "notes.txt").write_text("milk")


def ran(folkmoot):
    done = folkmoot("run", "a", "hi", "--json")
    return [(said["tool"], said["text"]) for said in done.json["conversation"] if said["role"] == "tool"]


def test_an_agent_that_names_one_has_the_tool_and_only_its_own_name_is_recorded_and_shown(folkmoot):
    """K-123, O-39."""
    write(folkmoot)

    assert folkmoot("check").err == "1 agent, no problems, no warnings\n"
    ((name, text),) = ran(folkmoot)
    assert (name, "milk" in text) == ("files__read", True)
    recorded = [json.loads(line) for line in folkmoot("log", "export").out.splitlines()]
    assert {event["data"]["tool"] for event in recorded if event["type"] == "tool.started"} == {"files__read"}
    shown = folkmoot("agents", "show", "a", "--json").json
    assert shown["tools"] == ["files.read", "web.fetch"]
    explained = folkmoot("explain", "a", "--json").json
    assert [each["tool"] for each in explained["tools"]] == ["files__read", "web__fetch"]
    assert "names 'files.read' in `tools`" in explained["tools"][0]["because"]
    assert folkmoot("explain", "a", "file_read").code == 0
    assert folkmoot("explain", "a", "file_read", "--args", '{"path": "x"}').code == 0
    assert folkmoot("explain", "a", "file_write").code == 2


@pytest.mark.parametrize("name", ["file_read", "files.read"])
def test_rules_and_allowlists_mean_the_tool(folkmoot, name):
    """K-123, O-39: a rule that denies by the short name denies."""
    calling = "orchestration: {enable_agent_tool: true, auto_approve: true"
    rule = f"rules: [{{decision: deny, tool: {name}, reason: no reading}}]\n"
    write(folkmoot, rule)
    assert "no reading" in ran(folkmoot)[0][1]

    mission = {
        "mission": "read",
        "agent_definition": {"system_prompt": "You read.", "tool_allowlist": [name]},
    }
    settings = f"{calling}, sub_agent_tool_allowlist: [{name}]}}\n"
    write(folkmoot, settings, calls=[{"tool": "call_agent", "arguments": mission}])
    script = yaml.safe_load((folkmoot.folder / "script.yaml").read_text())
    script["agents"]["custom"] = [{"calls": [READ]}, {"report": "read it"}]
    (folkmoot.folder / "script.yaml").write_text(yaml.safe_dump(script))
    ran(folkmoot)
    events = [json.loads(line) for line in folkmoot("log", "export").out.splitlines()]
    finished = [
        each["data"] for each in events if each["type"] == "tool.finished" and each["agentId"] == "custom"
    ]
    assert ["milk" in each["text"] for each in finished] == [True]


def test_a_pattern_that_fits_only_the_short_name_is_warned_of(folkmoot):
    """K-123: patterns go by the names that are recorded."""
    write(folkmoot, "rules: [{decision: deny, tool: 'file_*'}]\n")

    done = folkmoot("check")

    assert "the pattern 'file_*' does not fit 'files.read', for which 'file_read' is short" in done.out
    assert done.code == 0


def test_scenarios_and_gates_and_plans_mean_the_tool(folkmoot):
    """K-123, O-39."""
    write(folkmoot)
    (folkmoot.folder / "a.test.yaml").write_text(
        "agent: a.ai\nscenarios:\n- name: reads\n  request: hi\n  tools: {file_read: [{text: bread}]}\n"
        "  expect: {calls: [{tool: file_read}]}\n"
    )
    done = folkmoot("test")
    assert done.code == 0, done.out + done.err

    asks = [{"tool": "ask_user", "arguments": {"question": "Which?"}}]
    write(folkmoot, "", "tools: [file_read, ask_user]", asks)
    folkmoot("run", "a", "hi")
    (session,) = folkmoot("sessions", "list", "--json").json
    gated = folkmoot("sessions", "gate", session["id"], "file_read", "--json").json
    assert gated["gated"] == ["files__read"]

    plan = {
        "title": "t",
        "tools_requested": ["file_write"],
        "steps": [{"description": "d", "tool_policy": {"tools": ["web_fetch"]}}],
    }
    (folkmoot.folder / "plan.yaml").write_text(yaml.safe_dump(plan))
    assert folkmoot("plans", "draft", "--file", "plan.yaml").code == 0
    shown = folkmoot("plans", "show", "last", "--json").json
    assert shown["toolsRequested"] == ["files.write"]
    assert shown["steps"][0]["toolPolicy"]["tools"] == ["web.fetch"]


async def test_a_tool_of_the_project_by_that_name_wins(folkmoot):
    """K-123: in the agent's file, in rules and in calls."""

    @tool(effect="pure", access="read")
    def file_read(path: str) -> str:
        """Read it elsewhere."""
        return f"{path} from elsewhere"

    write(folkmoot, "rules: [{decision: deny, tool: files.read}]\n", "tools: [file_read]")
    model = ScriptedModel({"a": [{"calls": [READ]}, {"report": "fine"}]})
    async with Folkmoot.open(folkmoot.folder, tools=[file_read], models={"s": model}) as moot:
        done = await moot.run("a.ai", "hi")

    said = [each["text"] for each in done.conversation if each["role"] == "tool"]
    assert said == ["notes.txt from elsewhere"]
