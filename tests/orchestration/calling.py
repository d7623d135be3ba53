"""What the tests of `call_agent` and its kin share."""

import json

from tests.desk import SETTINGS


def calling(more="", limits=""):
    """Settings with the tools switched on."""
    tail = f", {more}" if more else ""
    return f"{SETTINGS}orchestration: {{enable_agent_tool: true, auto_approve: true{tail}}}\n{limits}"


def ask(mission="count", specialist=None, **more):
    given = {"mission": mission, **({"specialist": specialist} if specialist else {}), **more}
    return {"tool": "call_agent", "arguments": given}


def ask_all(*missions, **more):
    given = [each if isinstance(each, dict) else {"mission": each} for each in missions]
    return {"tool": "call_agents_parallel", "arguments": {"missions": given, **more}}


def results(played, agent="desk", request=1):
    """What an agent read as the results of its calls before its nth request."""
    messages = played.model.heard_from(agent)[request].messages
    last = max(number for number, message in enumerate(messages) if message.role == "assistant")
    return [read(message.text) for message in messages[last + 1 :]]


def read(text):
    try:
        return json.loads(text)
    except ValueError:
        return text
