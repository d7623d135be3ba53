"""`input: {format: json, schema: …}` of an agent, whoever asks it: a person, a program, another agent."""

import json

import pytest

from tests.cli.conftest import SETTINGS

FORM = (
    "input: {format: json, schema: {type: object, properties: {order: {type: integer}}, required: [order]}}"
)
CALLING = SETTINGS + "orchestration: {enable_agent_tool: true, auto_approve: true}\n"


def ask(way, text):
    arguments = {
        "agent__form": {"prompt": text, "reason": "r"},
        "call_agent": {"mission": text, "specialist": "form"},
        "call_agents_parallel": {"missions": [{"mission": text, "specialist": "form"}]},
        "a2a_send": {"to": "form", "message": text},
        "a2a_spawn": {"to": "form", "message": text},
        "a2a_broadcast": {"agents": ["form"], "message": text},
    }
    return {"tool": way, "arguments": arguments[way]}


def run(folkmoot, calls):
    """What the agent `desk` was told of its calls, and which sessions began."""
    script = {"desk": [{"calls": calls}, {"report": "done"}], "form": [{"report": "taken"}], "else": []}
    agents = {"desk": "agents: [form.ai]\ntools: [messages]", "form": FORM, "else": "description: else"}
    folkmoot.write(agents, script, CALLING)
    done = folkmoot("run", "desk.ai", "hi", "--json")
    assert done.code == 0, done.err
    told = [said["text"] for said in done.json["conversation"] if said["role"] == "tool"]
    events = [json.loads(line) for line in folkmoot("log", "export").out.splitlines()]
    assert folkmoot("verify").code == 0
    assert folkmoot("runs", "replay", "last").code == 0
    return told, events


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("order 7", "form.ai takes JSON, and the request is none"),
        ('{"order": "7"}', "does not fit the input schema of form.ai: $.order: '7' is not of type 'integer'"),
    ],
)
@pytest.mark.parametrize("way", ["agent__form", "call_agent", "call_agents_parallel"])
def test_an_agent_that_is_called_with_what_it_does_not_take_is_not_begun(folkmoot, way, text, reason):
    """K-121, O-47: the caller reads the reason and what fits, and can ask again."""
    (wrong, right), events = run(folkmoot, [ask(way, text), ask(way, '{"order": 7}')])

    assert reason in wrong
    assert "ask again with JSON that fits" in wrong
    assert "taken" in right
    assert [event["agentId"] for event in events if event["type"] == "session.started"] == ["desk", "form"]


@pytest.mark.parametrize("way", ["a2a_send", "a2a_spawn", "a2a_broadcast"])
def test_an_agent_that_takes_json_gets_no_message_and_the_sender_reads_why(folkmoot, way):
    """K-121, O-47: a message has a head of its own, so it never is the JSON that the agent takes."""
    (wrong,), events = run(folkmoot, [ask(way, '{"order": 7}')])

    assert "no agent 'form' that can be written to, because it takes JSON; call it as a tool" in wrong
    assert [event["agentId"] for event in events if event["type"] == "session.started"] == ["desk"]
