"""Random projects of all patterns together: whatever their models do, the same things hold."""

import re
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from folkmoot import DeclarationError, FakeClock, Folkmoot, MemoryJournal, Surroundings
from folkmoot.domain.draw import chance
from folkmoot.domain.message import Answer, Message, ToolCall, Usage
from folkmoot.engine.local import Identity
from folkmoot.engine.replay import replay
from folkmoot.errors import ModelFailed
from folkmoot.ports import Query
from tests.desk import write

MOST = 6
YAML = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
budget: {requests: 60}
"""
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
        return Answer(Message("assistant", "", (self._act(request, dice),)), usage)

    def _act(self, request, dice):
        offered = {spec.name: spec for spec in request.tools}
        agents = [name for name in offered if name.startswith("agent__") and name != "agent__final_report"]
        called = [name for name in agents if name != "agent__ask_clarification"]
        if called and dice < 0.5:
            name = called[round(dice * 100) % len(called)]
            return ToolCall("c", name, {"prompt": "p", "reason": "r"})
        if "router__handoff-to" in offered and dice < 0.8:
            enum = offered["router__handoff-to"].parameters["properties"]["agent"]["enum"]
            return ToolCall("c", "router__handoff-to", {"agent": enum[0], "message": "m"})
        if "team__broadcast" in offered and ("agent__final_report" not in offered or dice < 0.7):
            return ToolCall("c", "team__broadcast", {"message": "news"})
        return ToolCall("c", "agent__final_report", {"report_format": "text", "report_content": "done"})


@st.composite
def projects(draw):
    """Agents a0 … an; each refers to later ones only, so that there is no cycle."""
    count = draw(st.integers(2, MOST))
    files = {}
    for number in range(count):
        later = [f"a{n}.ai" for n in range(number + 1, count)]
        some = st.lists(st.sampled_from(later), unique=True, max_size=2) if later else st.just([])
        keys = {"advisors": draw(some), "agents": draw(some), "maxTurns": draw(st.integers(1, 4))}
        if later and draw(st.booleans()):
            keys["handoff"] = draw(st.sampled_from(later))
        match draw(st.sampled_from(["plain", "router", "team"])) if later else "plain":
            case "router":
                keys["router"] = {"destinations": [draw(st.sampled_from(later))]}
            case "team":
                keys["team"] = {"members": [draw(st.sampled_from(later))]}
        files[f"a{number}"] = "\n".join(f"{key}: {value}" for key, value in keys.items())
    return files


async def played(files, seed, folder):
    write(folder, files, YAML)
    clock, journal, player = FakeClock(), MemoryJournal(), Player(seed)
    around = Surroundings(env={}, clock=clock, journal=journal, identify=lambda _: Identity("run-1", seed))
    async with Folkmoot.open(folder, models={"scripted": player}, around=around) as moot:
        result = await moot.run("a0.ai", "hello")
    drafts = [entry.draft async for entry in journal.read(Query(stream="run-1"))]
    return result, player, drafts, await replay(journal, "run-1")


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(files=projects(), seed=st.text("abcdef0123456789", min_size=8, max_size=8))
async def test_every_run_of_every_composition_ends_once_adds_up_and_replays(files, seed):
    """A-30, A-104, A-107, O-18, C4; pains 3, 12 and 20."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            result, player, drafts, again = await played(files, seed, Path(folder))
        except DeclarationError:
            assume(False)

    assert result.status in ("completed", "failed")
    assert again.equal, again.divergence
    totals = result.totals
    assert totals.tokens_in + totals.tokens_out == player.used
    assert totals.model_requests <= 60
    begun = Counter(draft.session_id for draft in drafts if draft.event.type == "session.started")
    ended = Counter(draft.session_id for draft in drafts if draft.event.type in ENDS)
    assert begun == ended
    assert set(begun.values()) == {1}
    nonces = [nonce for prompt in player.prompts for nonce in NONCE.findall(prompt)]
    assert len(set(nonces)) == len(nonces)
