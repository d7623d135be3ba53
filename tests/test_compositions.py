"""Random projects of all patterns together: whatever their models do, the same things hold."""

import asyncio
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from folkmoot import DeclarationError, FakeClock, Folkmoot, MemoryJournal, Surroundings
from folkmoot.domain.entry import Cause
from folkmoot.domain.message import Answer, Message, ToolCall, Usage
from folkmoot.domain.naming import chance
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.replay import replay_run
from folkmoot.errors import ModelFailed
from folkmoot.orchestration.runtime_tools import STRATEGIES
from folkmoot.ports import Query
from folkmoot.views.plans import audit
from tests.desk import write

MOST = 6
YAML = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
budget: {requests: 60}
"""
CALLING = "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
STEP = {"action_type": "DO", "rationale": "r", "expected_outputs": ["o"], "stop_condition": "s"}
WAYS = ["split: always", "split: auto", *(f"planningStrategy: {name}" for name in STRATEGIES)]
ENDS = ("session.completed", "session.failed", "session.cancelled")
NONCE = re.compile(r"<\w+__([0-9a-f]{12})[ >]")


class Player:
    """A model that does something allowed, or breaks, as the dice say; it remembers what it used and read."""

    def __init__(self, seed):
        self.seed = seed
        self.used = 0
        self.prompts = []

    async def answer(self, request, hear=None):
        dice = chance(self.seed, request.session, request.turn, request.attempt)
        self.prompts += [message.text for message in request.messages[-1:] if message.role == "user"]
        if dice < 0.08:
            raise ModelFailed("the dice say no", retryable=False)
        usage = Usage(tokens_in=10 + round(dice * 20), tokens_out=5)
        self.used += usage.tokens_in + usage.tokens_out
        if not request.tools:
            return Answer(Message("assistant", self._say(request, dice)), usage)
        return Answer(Message("assistant", "", (self._act(request, dice),)), usage)

    def _say(self, request, dice):
        plan = {"steps": [STEP] * (1 + round(dice * 2))} if dice > 0.25 else {"steps": []}
        return json.dumps(plan if request.part == "planner" else {"done": dice < 0.6})

    def _act(self, request, dice):
        offered = {spec.name: spec for spec in request.tools}
        calls = [*self._calls(offered)]
        if calls and dice < 0.6:
            return calls[round(dice * 1000) % len(calls)]
        if "router__handoff-to" in offered and dice < 0.8:
            return ToolCall(
                "c", "router__handoff-to", {"agent": choices(offered["router__handoff-to"], "agent")[0]}
            )
        if "team__broadcast" in offered and ("agent__final_report" not in offered or dice < 0.7):
            return ToolCall("c", "team__broadcast", {"message": "news"})
        return ToolCall("c", "agent__final_report", {"report_format": "text", "report_content": "done"})

    def _calls(self, offered):
        """One call of each kind that may be made now."""
        for name, spec in offered.items():
            match name:
                case "agent__ask_clarification":
                    child = choices(spec, "child_id")[-1]
                    yield ToolCall("c", name, {"child_id": child, "question": "sure?"})
                case "ask_parent":
                    yield ToolCall("c", name, {"question": "which?"})
                case "call_agent":
                    known = choices(spec, "specialist")
                    yield ToolCall("c", name, {"mission": "m", **({"specialist": known[0]} if known else {})})
                case "call_agents_parallel":
                    made = {"mission": "n", "agent_definition": {"system_prompt": "x"}}
                    yield ToolCall("c", name, {"missions": [{"mission": "m"}, made], "min_success": 1})
                case _ if name.startswith("agent__") and name != "agent__final_report":
                    yield ToolCall("c", name, {"prompt": "p", "reason": "r"})


def choices(spec, argument):
    return [choice for choice in spec.parameters["properties"].get(argument, {}).get("enum", []) if choice]


@st.composite
def projects(draw):
    """Agents a0 … an; each refers to later ones only, so that there is no cycle."""
    count = draw(st.integers(2, MOST))
    files = {}
    for number in range(count):
        later = [f"a{n}.ai" for n in range(number + 1, count)]
        some = st.lists(st.sampled_from(later), unique=True, max_size=2) if later else st.just([])
        keys = {"advisors": draw(some), "agents": draw(some), "maxTurns": draw(st.integers(1, 4))}
        keys |= {"chat": draw(st.booleans()), "tools": draw(st.sampled_from([[], ["ask_parent"]]))}
        if later and draw(st.booleans()):
            keys["handoff"] = draw(st.sampled_from(later))
        match draw(st.sampled_from(["plain", "router", "team"])) if later else "plain":
            case "router":
                keys["router"] = {"destinations": [draw(st.sampled_from(later))]}
            case "team":
                keys["team"] = {"members": [draw(st.sampled_from(later))]}
        way = draw(st.sampled_from(["", "", *WAYS]))
        files[f"a{number}"] = "\n".join(
            [way, *(f"{key}: {json.dumps(value)}" for key, value in keys.items())]
        )
    return files, YAML + draw(st.sampled_from(["", CALLING]))


async def played(files, yaml, seed, folder):
    write(folder, files, yaml)
    clock, journal, player = FakeClock(), MemoryJournal(), Player(seed)
    around = Surroundings(env={}, clock=clock, journal=journal, identify=lambda _: RunIdentity("run-1", seed))
    async with Folkmoot.open(folder, models={"scripted": player}, around=around) as moot:
        result = await moot.run("a0.ai", "hello")
    drafts = [entry.draft async for entry in journal.read(Query(stream="run-1"))]
    return result, player, drafts, await replay_run(journal, "run-1")


def test_every_run_of_every_composition_ends_once_and_adds_up():
    """A-30, A-104, A-107, O-18; pains 3 and 12. The projects together had every way of starting a session."""
    causes = set()

    @settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(project=projects(), seed=st.text("abcdef0123456789", min_size=8, max_size=8))
    def holds(project, seed):
        with tempfile.TemporaryDirectory() as folder:
            try:
                result, player, drafts, again = asyncio.run(played(*project, seed, Path(folder)))
            except DeclarationError:
                assume(False)
        causes.update(draft.event.cause for draft in drafts if draft.event.type == "session.started")
        check(result, player, drafts)
        assert again.equal, again.divergence

    holds()
    assert causes == {*get_args(Cause)}


def check(result, player, drafts):
    assert result.status in ("completed", "failed")
    totals = result.totals
    assert totals.tokens_in + totals.tokens_out == player.used
    assert totals.model_requests <= 60
    begun = Counter(draft.session_id for draft in drafts if draft.event.type == "session.started")
    ended = Counter(draft.session_id for draft in drafts if draft.event.type in ENDS)
    assert begun == ended
    assert set(begun.values()) == {1}
    errors = [draft.event for draft in drafts if draft.event.type == "system.error"]
    broken = [event for event in errors if not event.error.startswith("no acceptable plan")]
    broken += [
        draft.event
        for draft in drafts
        if draft.event.type == "tool.failed" and re.search(r"\w+Error: ", draft.event.text)
    ]
    assert broken == []
    assert audit(drafts).orphans == ()
    nonces = [nonce for prompt in player.prompts for nonce in NONCE.findall(prompt)]
    assert len(set(nonces)) == len(nonces)
