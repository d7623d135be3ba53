"""The oracle: it finds nothing in a sound journal, and every kind of planted fault in another."""

import pytest
from msgspec.structs import replace

from folkmoot import MemoryJournal
from folkmoot.contract.verify import Verification, _Checking, verify
from folkmoot.domain.budget import Budget
from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.events import (
    ArtifactCreated,
    CancelRequested,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunFailed,
    SessionCancelled,
    SessionCompleted,
    SessionStarted,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalApproved, GateChanged, ToolSettled
from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun, Query
from tests.desk import SETTINGS, look
from tests.fakes import fake

AGENTS = {
    "front": "advisors: [law.ai]\nrouter: {destinations: [clerk.ai]}\nhandoff: editor.ai\nbudget: {requests: 40, tokens: 900000}",
    "law": "",
    "clerk": "tools: [look, pay, send]\nagents: [aide.ai]",
    "aide": "tools: [look]",
    "editor": "",
    "crew": "team: {members: [law.ai, aide.ai]}",
}
SCRIPT = {
    "front": [{"route": {"agent": "clerk", "message": "m"}}],
    "law": ["by law"],
    "clerk": [
        {
            "calls": [
                {"tool": "look", "arguments": {"where": "x"}},
                {"tool": "pay", "arguments": {"euros": "20"}},
            ]
        },
        {"calls": [{"tool": "send", "arguments": {"to": "y"}}]},
        {"calls": [{"tool": "agent__aide", "arguments": {"prompt": "count", "reason": "r"}}]},
        "paid",
    ],
    "aide": [{"calls": [{"tool": "look", "arguments": {"where": "z"}}]}, "3"],
    "editor": ["Dear customer"],
}
UNTAINTED = SETTINGS + "gate: {taint: off}"


pay = fake("pay(euros)", "paid", effect="keyed", access="write", asks="low")
send = fake("send(to)", "sent", effect="once", access="write")


class Forged:
    """A sound run whose events can be changed, left out or added before they are chained anew."""

    def __init__(self, drafts, graph):
        self.drafts = drafts
        self.graph = graph

    def at(self, type, position=0, **fields):
        """Where the nth event of a type stands whose fields are these."""
        found = [
            place
            for place, draft in enumerate(self.drafts)
            if isinstance(draft.event, type)
            and all(getattr(draft.event, name) == value for name, value in fields.items())
        ]
        return found[position]

    def change(self, place, **fields):
        draft = self.drafts[place]
        self.drafts[place] = replace(draft, event=replace(draft.event, **fields))

    def insert(self, place, event, like=None):
        """`event`, at the place and session of another."""
        self.drafts.insert(place, replace(self.drafts[place if like is None else like], event=event))

    def under(self, epoch, place):
        """Let everything from here on be written under a later claim than all before."""
        self.drafts = [
            replace(draft, epoch=epoch if at >= place else 0) for at, draft in enumerate(self.drafts)
        ]

    async def faults(self, *contents):
        journal = MemoryJournal()
        for content in (encode_graph(self.graph), *contents):
            journal.keep(content)
        self.change(0, graph=journal.keep(encode_graph(self.graph)), tools="")
        await journal.append("run-1", NewRun("nobody", 0.0), self.drafts)
        verdict = await verify(journal)
        self.notes = verdict.notes
        assert all(
            (fault.run_id, fault.seq, len(fault.id)) == ("run-1", fault.run_seq, 64)
            for fault in verdict.faults
        )
        return [(fault.guarantee, fault.run_seq - 1, fault.words) for fault in verdict.faults]


@pytest.fixture
async def forged(desk):
    """Nothing is wrong with it yet; its artifacts are not needed."""
    at = desk(AGENTS, SCRIPT, tools=[look, pay, send], settings=UNTAINTED)
    async with at.open() as moot:
        result = await moot.run("front.ai", "money")
        for item in await moot.inbox():
            await moot.reply(item.approve())
        result = await moot.resume(result.run_id)
        graph = moot.graph
    played = await at.played(result)
    assert played.report == "Dear customer"
    drafts = [
        replace(draft, event=replace(draft.event, artifact_ids=()))
        if isinstance(draft.event, HandoffRequested)
        else draft
        for draft in played.drafts
        if not isinstance(draft.event, ArtifactCreated)
    ]
    forged = Forged(drafts, graph)
    assert await forged.faults() == []
    return forged


async def test_a_sound_run_holds_and_says_what_was_checked(desk):
    """C1 to C7: each guarantee tells how much it looked at."""
    at = desk(AGENTS, SCRIPT, tools=[look, pay, send], settings=UNTAINTED)
    async with at.open() as moot:
        result = await moot.run("front.ai", "money")
        for item in await moot.inbox():
            await moot.reply(item.approve())
        await moot.resume(result.run_id)

    verdict = await verify(at.journal, "run-1")
    said = dict(verdict.checked())

    assert verdict.holds
    assert said["C1"].startswith("5 artifacts there and unchanged")
    assert said["C2"] == f"1 stream, {verdict.counts['entries']} entries, dense and chained"
    assert said["C3"] == "9 model requests, 5 tool calls (1 keyed, 1 once)"
    assert said["C4"] == "5 sessions folded; 5 ends follow from what was recorded"
    assert said["C6"] == "1 run: 1 ended once, 0 not yet, 0 pruned; within their budgets"
    assert said["C7"] == "5 tool calls, 1 approval, each for exactly its call"
    assert verdict.state_hash == (await verify(at.journal, "run-1")).state_hash


async def test_a_run_that_waits_or_was_cut_off_is_no_fault(forged):
    """C6: it has not ended yet."""
    for cut in range(1, len(forged.drafts)):
        assert await Forged(forged.drafts[:cut], forged.graph).faults() == [], cut


async def test_a_second_end_and_anything_after_an_end_are_found(forged):
    """C6: exactly one terminal event."""
    last = len(forged.drafts)
    forged.drafts += [
        replace(forged.drafts[-1], event=RunFailed("no", "SYSTEM_ERROR")),
        replace(forged.drafts[-1], event=LlmRequest(9, 1, "scripted/any", 256, 300)),
    ]

    assert await forged.faults() == [
        ("C6", last, "the run ends a second time: run.failed after run.completed"),
        ("C6", last + 1, "a llm.request stands after the run's end, run.failed"),
    ]


async def test_a_session_without_an_end_in_an_ended_run_is_found(forged):
    """C6: every child reaches a terminal event."""
    del forged.drafts[forged.at(SessionCompleted)]

    assert await forged.faults() == [
        ("C6", len(forged.drafts) - 1, "sessions without an end: law (0/advisor:law)")
    ]


async def test_a_session_that_begins_ends_or_works_twice_is_found(forged):
    """C6."""
    end = forged.at(SessionCompleted)
    forged.insert(end + 1, forged.drafts[end].event, end)
    forged.insert(end + 2, LlmRequest(2, 1, "scripted/any", 256, 300), end)
    forged.insert(end + 3, SessionStarted("law.ai", "x"), end)

    faults = await forged.faults()

    assert ("C6", end + 1, "the session at 0/advisor:law ends, but is not under way") in faults
    assert ("C6", end + 2, "law goes on at 0/advisor:law after its session has ended") in faults
    assert ("C6", end + 3, "the session at 0/advisor:law began twice") in faults


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(requests=8), "9 requests are spent or reserved; the run has 8"),
        (Budget(tokens=600), "tokens are spent or reserved; the run has 600"),
        (Budget(descendants=2), "3 descendants are spent or reserved; the run has 2"),
    ],
)
async def test_a_budget_that_was_exceeded_is_found(forged, budget, words):
    """C6: what is reserved must fit before it is sent."""
    forged.graph = replace(forged.graph, settings=replace(forged.graph.settings, budget=budget))

    faults = await forged.faults()

    assert faults
    assert all(guarantee == "C6" for guarantee, _, _ in faults)
    assert words in faults[0][2]


async def test_an_answer_that_cost_more_than_was_estimated_is_no_fault(forged):
    """C6: only the estimate was wrong, and nothing was sent after it."""
    last = forged.at(LlmResponse, -1)
    forged.change(last, usage=replace(forged.drafts[last].event.usage, tokens_in=10_000_000))

    assert await forged.faults() == []


async def test_a_once_call_started_twice_is_found_unless_a_person_said_so(forged):
    """C3."""
    once = forged.at(ToolStarted, effect="once")
    start = forged.drafts[once].event
    forged.insert(once + 1, start, once)

    assert await forged.faults() == [
        ("C3", once + 1, "send is a `once` call and was started twice; no person said so")
    ]

    forged.insert(once + 1, ToolInDoubt(start.turn, start.call, start.tool, "doubt_1"), once)
    forged.insert(once + 2, ToolSettled(start.turn, start.call, "retry"), once)
    assert await forged.faults() == []

    forged.change(once + 2, decision="fail")
    assert [fault[:2] for fault in await forged.faults()] == [("C3", once + 3)]


async def test_a_once_call_begun_under_one_claim_and_ended_under_another_is_found(forged):
    """C3, K-7: unless a person said what became of it."""
    once = forged.at(ToolStarted, effect="once")
    start = forged.drafts[once].event
    forged.under(2, once + 1)

    assert await forged.faults() == [
        (
            "C3",
            once + 1,
            "send is a `once` call, begun under claim 1; its result came under claim 2, and no person said what became of it",
        )
    ]
    forged.insert(once + 1, ToolInDoubt(start.turn, start.call, start.tool, "doubt_1"))
    forged.insert(once + 2, ToolSettled(start.turn, start.call, "done"))
    assert await forged.faults() == []


async def test_a_once_call_that_was_made_again_under_another_claim_is_named_though_it_is_no_fault(forged):
    """K-7: two claims around one call."""
    once = forged.at(ToolStarted, effect="once")
    start = forged.drafts[once].event
    forged.under(2, once + 1)
    forged.insert(once + 1, ToolInDoubt(start.turn, start.call, start.tool, "doubt_1"))
    forged.insert(once + 2, ToolSettled(start.turn, start.call, "retry"))
    forged.insert(once + 3, start)

    assert await forged.faults() == []
    (note,) = forged.notes
    assert (note.guarantee, note.run_seq) == ("C3", once + 4)
    assert "begun under claim 1 and, as a person said, under claim 2" in note.words


async def test_a_keyed_call_repeated_under_another_key_is_found(forged):
    """C3."""
    keyed = forged.at(ToolStarted, effect="keyed")
    forged.insert(keyed + 1, forged.drafts[keyed].event, keyed)
    assert await forged.faults() == []

    forged.change(keyed + 1, key="run-1/another")
    assert await forged.faults() == [
        (
            "C3",
            keyed + 1,
            f"pay was called again under another key: {forged.drafts[keyed].event.key}, then run-1/another",
        )
    ]


async def test_a_key_that_two_calls_share_is_found(forged):
    """C3: a tool that trusts its key would drop the second."""
    keyed, once = forged.at(ToolStarted, effect="keyed"), forged.at(ToolStarted, effect="once")
    key = forged.drafts[keyed].event.key
    forged.change(once, key=key)

    assert await forged.faults() == [("C3", once, f"send was called under the key of another call: {key}")]


async def test_results_without_a_start_doubled_or_settled_without_a_doubt_are_found(forged):
    """C3: intent before outcome."""
    done = forged.at(ToolFinished, tool="send")
    event = forged.drafts[done].event
    forged.insert(done + 1, event, done)
    forged.insert(done + 2, ToolSettled(event.turn, event.call, "done"), done)
    del forged.drafts[forged.at(ToolStarted, tool="send")]

    assert [fault for fault in await forged.faults() if fault[0] == "C3"] == [
        ("C3", done - 1, "send has a result, and its start is not recorded"),
        ("C3", done, "send has a second result"),
        ("C3", done + 1, "somebody settled a call that is not in doubt"),
    ]


async def test_an_answer_without_its_request_is_found(forged):
    """C3, C4: nothing is sent before its intent is recorded, and such a session cannot be folded."""
    asked = forged.at(LlmRequest)
    del forged.drafts[asked]

    faults = await forged.faults()

    assert faults[0] == ("C3", asked, "no request is recorded for what came in turn 1, attempt 1")
    assert faults[1][:2] == ("C4", asked)


async def test_a_recorded_answer_that_was_asked_for_again_is_found(forged):
    """C3: no recorded model answer is paid for twice."""
    asked, answered = forged.at(LlmRequest), forged.at(LlmResponse)
    forged.insert(answered + 1, forged.drafts[asked].event, asked)

    assert await forged.faults() == [
        ("C3", answered + 1, "the model was asked again in turn 1, whose answer is recorded")
    ]


async def test_a_request_beside_one_that_is_awaited_is_found(forged):
    """C3."""
    asked = forged.at(LlmRequest)
    forged.insert(asked + 1, forged.drafts[asked].event, asked)

    assert await forged.faults() == [
        ("C3", asked + 1, "the model was asked while the answer to turn 1 was still awaited")
    ]


async def test_an_end_that_does_not_follow_from_the_conversation_is_found(forged):
    """C4: the state folded from the journal equals the live one."""
    end = forged.at(SessionCompleted)
    outcome = forged.drafts[end].event.outcome
    forged.change(end, outcome=replace(outcome, report=replace(outcome.report, content="against the law")))

    assert await forged.faults() == [
        ("C4", end, "its recorded outcome is not the one that follows from its conversation")
    ]

    forged.change(end, outcome=replace(outcome, error="it broke"))
    assert await forged.faults() == [("C4", end, "it failed, and by what is recorded before it succeeded")]


async def test_a_session_that_ends_well_without_a_report_is_found(forged):
    """C4."""
    answered = forged.at(LlmResponse, -1)
    del forged.drafts[answered]

    assert ("C4", answered, "it completed, and nothing that is recorded before completes it") in (
        await forged.faults()
    )


@pytest.mark.parametrize("type", [LlmRequest, ToolStarted])
async def test_a_call_after_an_acknowledged_stop_is_found(forged, type):
    """C5."""
    call = forged.at(type, -1)
    forged.insert(call, CancelRequested("enough"), 0)

    faults = await forged.faults()

    assert faults
    assert {fault[0] for fault in faults} == {"C5"}
    assert faults[0][1] == call + 1
    assert "after the stop was acknowledged" in faults[0][2]


async def test_what_was_in_flight_when_a_stop_came_may_end(forged):
    """C5: only a new call is one too many."""
    call = forged.at(LlmRequest, -1)
    place = forged.drafts[call]
    stop = [
        replace(forged.drafts[0], event=CancelRequested("enough")),
        forged.drafts[forged.at(LlmResponse, -1)],
        replace(place, event=SessionCancelled("enough")),
        replace(forged.drafts[0], event=RunCancelled("enough")),
    ]
    forged.drafts = [*forged.drafts[: call + 1], *stop]
    assert await forged.faults() == []


async def test_a_call_without_a_decision_is_found(forged):
    """C7."""
    call = forged.at(ToolStarted)
    forged.change(call, decision="")

    assert await forged.faults() == [("C7", call, "look was called without a decision")]


async def test_a_call_that_no_answer_asks_for_is_found(forged):
    """C7: a decision holds for exactly one call."""
    call = forged.at(ToolStarted, tool="send")
    forged.change(call, arguments={"to": "somebody else"})

    assert await forged.faults() == [
        ("C7", call, "send was called, and no recorded answer asks for this call")
    ]


async def test_a_call_that_was_granted_by_nobody_or_whose_tool_was_gated_is_found(forged):
    """C7, E-67."""
    place = forged.at(ToolStarted, tool="send")
    forged.change(place, decision="granted: ap_1 by ann", grounds="granted")
    assert await forged.faults() == [
        ("C7", place, "send was called as granted, and nobody granted this call")
    ]

    forged.change(place, decision="allowed: clerk.ai names it")
    forged.insert(place, GateChanged(forged.drafts[place].session_id, gated=("send",)))
    assert await forged.faults() == [("C7", place + 1, "send was called, and it is gated in this session")]


async def test_a_call_whose_approval_is_missing_or_was_given_for_another_call_is_found(forged):
    """C7: the word releases the exact call whose hash was shown."""
    call, word = forged.at(ToolStarted, tool="pay"), forged.at(ApprovalApproved)
    id = forged.drafts[word].event.id
    requested = next(
        place for place, draft in enumerate(forged.drafts) if draft.event.type == "approval.requested"
    )
    forged.change(requested, hash="0" * 64)
    assert [fault for fault in await forged.faults() if fault[0] == "C7"] == [
        ("C7", call, f"pay was called, and {id} was given for another call")
    ]

    del forged.drafts[word]
    assert ("C7", call - 1, f"pay was called, and {id} is not approved") in await forged.faults()

    del forged.drafts[requested]
    assert ("C7", call - 2, "pay was called as approved, and nobody was asked") in await forged.faults()


async def test_artifacts_that_are_missing_or_of_another_size_are_found(forged):
    """C1: what an entry names must be there."""
    last = len(forged.drafts) - 1
    like = forged.drafts[last]
    forged.drafts[last:] = [
        replace(like, event=HandoffRequested("chain", "a", "b", artifact_ids=("0" * 64,))),
        replace(like, event=ArtifactCreated(MemoryJournal().keep(b"kept"), "result", 5)),
        like,
    ]

    faults = await forged.faults(b"kept")

    assert [fault[:2] for fault in faults] == [("C1", last), ("C1", last + 1)]
    assert faults[0][2] == f"it names the artifact {'0' * 64}, which is missing"
    assert "it names 5 bytes" in faults[1][2]


async def test_a_pinned_project_that_cannot_be_read_is_found(forged):
    """C4: without it no state can be folded."""
    journal = MemoryJournal()
    forged.change(0, graph=journal.keep(b"[]"))
    await journal.append("run-1", NewRun("nobody", 0.0), forged.drafts)

    verdict = await verify(journal)

    assert [fault.guarantee for fault in verdict.faults] == ["C4"]
    assert "pinned to cannot be read" in verdict.faults[0].words


async def test_the_memory_of_a_check_does_not_grow_with_runs_that_have_ended(forged):
    """Only runs that are under way are remembered."""
    journal = MemoryJournal()
    forged.change(0, graph=journal.keep(encode_graph(forged.graph)))
    for run in range(3):
        await journal.append(f"run-{run}", NewRun("nobody", 0.0), forged.drafts)
    checking = _Checking(journal, Verification())
    async for stored in journal.stored(Query()):
        await checking.take(stored)
        assert len(checking._under_way) <= 1
    assert checking._under_way == {}
