"""The loop guard over real runs: nobody writes to itself, no pair too often, no message too far."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from folkmoot import ScriptedModel
from folkmoot.domain.errand import Errand
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.replay import replay_run
from folkmoot.views.conversations import Conversations
from tests.desk import SETTINGS, blocks
from tests.fakes import fake
from tests.orchestration.messages import calls, have, write
from tests.orchestration.test_a2a import results

WRITING = "tools: [messages]\nmaxToolCallsPerTurn: 20"
CHAIN = ("a1", "a2", "a3", "a4", "a5", "a6", "a7")


async def another(at, number, agent="ann.ai"):
    """One more run of the same project."""
    at.identity = RunIdentity(f"run-{number}", f"seed {number}")
    return await at.run(agent)


@pytest.mark.parametrize("call", [write("ann"), have("ann")])
async def test_whoever_writes_to_itself_is_blocked_and_that_is_recorded(desk, call):
    """E-69."""
    played = await desk({"ann": WRITING, "bob": ""}, {"ann": [calls(call), "done"]}).run("ann.ai")

    [blocked] = played.events("guard.loop_blocked")
    assert (blocked.from_agent, blocked.to_agent) == ("ann", "ann")
    assert blocked.reason == "self_message: ann writes to itself"
    assert "not delivered: self_message: ann writes to itself" in results(played, "ann")[0]
    assert played.started() == ["ann"]


async def test_the_eleventh_message_of_a_pair_within_a_minute_is_blocked(desk):
    """E-70: also if all eleven are sent at once."""
    script = {"ann": [calls(*[write("bob")] * 11), "done"], "bob": ["ok"]}
    played = await desk({"ann": WRITING, "bob": ""}, script).run("ann.ai")

    assert len(played.events("a2a.send")) == 10
    [blocked] = played.events("guard.loop_blocked")
    assert blocked.reason == "pair_window: 10 messages within 60 s; try again in 60 s"
    assert [event.outcome for event in played.events("a2a.response")] == ["replied"] * 10


async def test_both_directions_and_all_runs_of_a_project_count_together_until_the_minute_is_over(desk):
    """E-70: six one way in one run, four the other way in the next, and one more in a third."""
    files = {"ann": WRITING, "bob": WRITING}
    at = desk(files, {"ann": [calls(*[write("bob")] * 6), "done"], "bob": ["ok"]})
    assert len((await another(at, 1)).events("a2a.send")) == 6
    at.model = ScriptedModel({"ann": ["ok"], "bob": [calls(*[write("ann")] * 4), "done"]})
    assert len((await another(at, 2, "bob.ai")).events("a2a.send")) == 4
    at.model = ScriptedModel({"ann": [calls(write("bob")), "done"], "bob": ["ok"]})

    assert (await another(at, 3)).events("guard.loop_blocked")[0].reason.startswith("pair_window")
    await at.clock.advance(59)
    assert (await another(at, 4)).events("guard.loop_blocked")
    await at.clock.advance(1)
    assert (await another(at, 5)).events("guard.loop_blocked") == []


@pytest.mark.parametrize("kept", [True, False])
async def test_what_was_not_delivered_is_read_with_the_next_message_if_the_project_says_so(desk, kept):
    """E-62: recorded to the history before it is dropped."""
    wait_a_minute = fake("wait_a_minute", "waited", does=lambda: at.clock.advance(60))
    pause = {"tool": "wait_a_minute", "arguments": {}}
    turns = [[write("bob")] * 10, [write("bob", "one too many")], [pause], [write("bob", "and now?")]]
    turns += [[write("bob", "still there?")]]
    script = {"ann": [*(calls(*turn) for turn in turns), "done"], "bob": ["ok"]}
    settings = f"{SETTINGS}messages: {{keepDropped: {str(kept).lower()}}}\n"
    files = {"ann": "tools: [messages, wait_a_minute]\nmaxToolCallsPerTurn: 20", "bob": ""}
    at = desk(files, script, settings=settings, tools=[wait_a_minute])
    played = await at.run("ann.ai")

    [blocked] = played.events("guard.loop_blocked")
    *_, before_last, last = (blocks(request.messages[-1].text) for request in played.model.heard_from("bob"))
    assert blocked.message == ("one too many" if kept else "")
    dropped = [("dropped", "ann", "one too many")] if kept else []
    assert before_last == [*dropped, ("message", "ann", "and now?")]
    assert last == [("message", "ann", "still there?")]
    (thread,) = Conversations(played.drafts).threads.values()
    said = [(turn.message, turn.error) for turn in thread.turns if turn.outcome == "blocked"]
    assert said == ([("one too many", f"not delivered: {blocked.reason}")] if kept else [])
    assert (await replay_run(at.journal, "run-1")).equal


@pytest.mark.parametrize(("hops", "sent", "before"), [(5, 5, 0), (2, 2, 0), (5, 2, 3)])
async def test_a_matter_is_passed_on_so_often_and_no_further(desk, hops, sent, before):
    """E-71, X-3: five hops pass and the sixth is blocked; what came before the run counts too."""
    files = dict.fromkeys(CHAIN, WRITING)
    script = {one: [calls(write(to)), "ok"] for one, to in pairwise(CHAIN)}
    at = desk(files, script, settings=f"{SETTINGS}limits: {{a2aHops: {hops}}}\n")
    played = await at.run("a1.ai", "go", errand=Errand(hops=before))

    assert [event.hop for event in played.events("a2a.send")] == list(range(before + 1, before + sent + 1))
    [blocked] = played.events("guard.loop_blocked")
    assert blocked.reason == f"hops: passed on {hops + 1} times; the most is {hops}"


async def test_a_replay_goes_by_what_the_guard_said_then(desk):
    """C4: other runs sent ten messages before; they are not in the record of this one."""
    at = desk({"ann": WRITING, "bob": ""}, {"ann": [calls(*[write("bob")] * 10), "done"], "bob": ["ok"]})
    await another(at, 1)
    played = await another(at, 2)
    assert len(played.events("guard.loop_blocked")) == 10

    again = await replay_run(at.journal, "run-2")
    assert (again.equal, again.divergence) == (True, "")


async def test_a_resumed_run_blocks_what_was_blocked_before_its_process_died(desk):
    """The window may be over by then; what the guard said holds."""
    at = desk({"ann": WRITING, "bob": ""}, {"ann": [calls(write("ann")), "done"]})
    played = await at.run("ann.ai")
    cut = played.types.index("guard.loop_blocked") + 1
    drafts = [
        replace(draft, event=replace(draft.event, reason="pair_window: said before"))
        if draft.event.type == "guard.loop_blocked"
        else draft
        for draft in played.drafts[:cut]
    ]
    again = desk({"ann": WRITING, "bob": ""}, {"ann": [calls(write("ann")), "done"]})
    continued = await again.continued(drafts)

    assert "pair_window: said before" in results(continued, "ann", 0)[0]
    assert len(continued.events("guard.loop_blocked")) == 1
