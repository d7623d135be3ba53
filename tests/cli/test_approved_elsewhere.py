"""A run that waits is killed, taken up by another process and approved from a third: the call is made once."""

import json
import os
import re
import signal
from collections import Counter

import pytest

from tests.cli.conftest import ended, wait_for
from tests.cli.till import opened, paid

AGENTS = {"a": "agents: [b.ai]", "b": "agents: [c.ai]", "c": "tools: [t]"}
DRAWN = re.compile(r"\b(?:(?:ap|ev)_[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{32})\b|_[0-9a-f]{8}\b")


def call(name):
    return {"tool": f"agent__{name}", "arguments": {"prompt": "go on", "reason": "r"}}


@pytest.fixture(params=[("ann",), ("ann", "bob")], ids=["one call", "two calls of one turn"])
def till(request, folkmoot):
    pays = [{"tool": "t.pay", "arguments": {"to": name}} for name in request.param]
    script = {
        "a": [{"calls": [call("b")]}, {"report": "all paid"}],
        "b": [{"calls": [call("c")]}, {"report": "paid"}],
        "c": [{"calls": pays}, {"report": "done"}],
    }
    opened(folkmoot, AGENTS, script)
    folkmoot.names = request.param
    return folkmoot


def approve_all(till):
    """Each from a process of its own, once all of them wait."""
    for item in till("approvals", "list", "--json").json:
        assert ended(till.started("approvals", "approve", item["id"])).code == 0


def waits(process, till):
    for _ in till.names:
        wait_for(process.stderr, "waits for somebody to approve")


def happened(till, run):
    """Every event with its span, without ids, times, claims and waits."""
    events = [json.loads(line) for line in till("log", "export", run).out.splitlines()]
    for event in events:
        event["data"].pop("latencyMs", None)
    return Counter(
        (event["type"], event["span"], DRAWN.sub("ID", json.dumps(event["data"]).replace(run, "RUN")))
        for event in events
        if event["type"] != "run.parked"
    )


def undisturbed(till):
    done = till.started("run", "a.ai", "x", "--wait", "--json")
    waits(done, till)
    approve_all(till)
    result = ended(done)
    (till.folder / "paid.txt").unlink()
    return json.loads(result.out)


def test_a_killed_run_whose_grandchild_waits_is_taken_up_and_approved_from_elsewhere(till):
    """U-7, U-12, pains 5 and 6: that call runs once, and the run ends with the same report and events."""
    before = undisturbed(till)
    process = till.started("run", "a.ai", "x", "--wait", "--json")
    waits(process, till)
    os.kill(process.pid, signal.SIGKILL)
    ended(process)
    (run,) = {item["runId"] for item in till("approvals", "list", "--json").json}

    resumed = till.started("runs", "resume", run, "--wait", "--json")
    approve_all(till)
    result = json.loads(ended(resumed).out)

    assert sorted(paid(till)) == sorted(till.names)
    assert result["finalReport"] == before["finalReport"]
    assert happened(till, run) == happened(till, before["runId"])
    assert till("verify").code == 0
