"""A run cut after any of its events and continued gives the same journal and the same report."""

import pytest

from folkmoot import MemoryJournal
from folkmoot.domain.events import LlmResponse
from folkmoot.engine.local import encode_graph
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Query
from tests.desk import look, unclaimed
from tests.fakes import fake

LOOK = {
    "calls": [{"tool": "look", "arguments": {"where": "x"}}, {"tool": "look", "arguments": {"where": "y"}}]
}
AGENTS = {"desk": "tools: [look]\nmodels: [scripted/one, scripted/two]"}
SCRIPT = {
    "desk": [
        LOOK,
        {"calls": [{"tool": "nothing"}, {"tool": "look", "arguments": {"where": "z"}}]},
        "",
        {"attempts": [{"error": "overloaded"}, {"report": "seen three times"}]},
    ]
}
PATTERNS = {
    "front": "advisors: [law.ai, tax.ai]\nrouter: {destinations: [billing.ai]}\nhandoff: editor.ai\ntools: [look]",
    "law": "",
    "tax": "",
    "billing": "agents: [clerk.ai]",
    "clerk": "tools: [look]",
    "editor": "",
}
ASK = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}] * 2}
SAID = {
    "front": [LOOK, {"route": {"agent": "billing", "message": "m"}}],
    "law": ["by law"],
    "tax": [{"error": {"message": "no", "retryable": False}}],
    "billing": [ASK, "billed"],
    "clerk": [LOOK, "3"],
    "editor": ["Dear customer"],
}


def memory(desk, folder):
    return MemoryJournal(desk.clock.monotonic)


def sqlite(desk, folder):
    return SqliteJournal.open(folder, desk.clock.monotonic)


@pytest.mark.parametrize("backend", [memory, sqlite])
async def test_a_conversation_cut_after_any_event_continues_to_the_identical_journal(desk, tmp_path, backend):
    """DESIGN 4: the span rule. No recorded answer is asked for again."""
    whole = await desk(AGENTS, SCRIPT, tools=[look]).run("desk.ai")
    assert whole.report == "seen three times"
    assert len(whole.drafts) == 21

    for cut in range(1, len(whole.drafts)):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        again = desk(AGENTS, SCRIPT, tools=[look])
        journal = backend(again, folder)
        played = await again.continued(whole.drafts[:cut], journal=journal)
        await journal.close()

        assert unclaimed(played.drafts) == whole.drafts, f"cut after event {cut}"
        assert played.result.to_json() == whole.result.to_json()
        answered = sum(isinstance(draft.event, LlmResponse) for draft in whole.drafts[:cut])
        failed = sum(draft.event.type == "llm.failed" for draft in whole.drafts[:cut])
        assert len(again.model.heard) == len(whole.model.heard) - answered - failed


async def test_all_patterns_together_cut_after_any_event_continue_to_the_same_end(desk):
    """DESIGN 4, A-107: no branch runs twice, none takes another's result."""
    whole = await desk(PATTERNS, SAID, tools=[look]).run_cut_anywhere("front.ai")

    assert whole.report == "Dear customer"


async def test_a_finished_run_is_only_shown_again(desk):
    at = desk(AGENTS, SCRIPT, tools=[look])
    whole = await at.run("desk.ai")
    async with at.open() as moot:
        again = await moot.resume("run-1")

    assert again.to_json() == whole.result.to_json()
    assert len(at.model.heard) == 5


async def test_a_resumed_run_uses_the_files_it_was_started_with(desk, tmp_path):
    at = desk(AGENTS, SCRIPT, tools=[look])
    whole = await at.run("desk.ai")
    again = desk(AGENTS, SCRIPT, tools=[look])
    async with again.open() as moot:
        pinned = encode_graph(moot.graph)
    (tmp_path / "desk.ai").write_text("---\ntools: [look]\n---\nYou are somebody else.")
    again.journal = MemoryJournal(again.clock.monotonic)
    again.journal.keep(pinned)
    played = await again.continued(whole.drafts[:2], journal=again.journal)

    assert played.model.heard[0].messages[0].text == "You are desk."
    assert unclaimed(played.drafts) == whole.drafts


async def test_a_once_call_that_may_have_happened_waits_for_a_person(desk):
    """C3, O-22: the run is parked, says what waits, and nothing is sent twice."""
    sent = []
    send = fake("send(to)", "sent", effect="once", access="write", calls=sent)
    files, script = (
        {"desk": "tools: [send]"},
        {"desk": [{"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "ok"]},
    )
    whole = await desk(files, script, tools=[send]).run("desk.ai")
    cut = whole.types.index("tool.started") + 1
    again = desk(files, script, tools=[send])
    played = await again.continued(whole.drafts[:cut])

    assert sent == ["x"]
    assert played.result.status == "waiting"
    assert played.result.waiting == [played.events("tool.in_doubt")[0].id]
    assert played.types[-2:] == ["tool.in_doubt", "run.parked"]


async def test_every_entry_of_a_run_names_its_place(desk):
    at = desk(PATTERNS, SAID, tools=[look])
    await at.run("front.ai")
    entries = [entry async for entry in at.journal.read(Query(stream="run-1"))]

    assert [entry.run_seq for entry in entries] == list(range(1, len(entries) + 1))
    assert all(entry.draft.span and entry.draft.session_id and entry.draft.agent_id for entry in entries)
