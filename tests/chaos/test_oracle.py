"""The judge of the chaos: it finds each kind of fault when there is one."""

import asyncio

import pytest

from chaos.oracle import (
    Book,
    differences,
    effect_faults,
    essence,
    journal_faults,
    read_book,
    repeated,
    settled_keys,
    stop_faults,
)
from chaos.witness import Seen
from folkmoot.domain.run_row import RunRow
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import NewRun, Query
from tests.desk import look

CALL = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
SENT = Seen(1, "tool", "run-1/0/turn:1/call:1", "once")
BOOKED = Seen(1, "tool", "run-1/0/turn:1/call:2", "keyed")


@pytest.fixture
async def book(desk):
    at = desk({"desk": "tools: [look]"}, {"desk": [CALL, "done"]}, tools=[look])
    await at.run("desk")
    return Book([entry async for entry in at.journal.read(Query())], (), ())


def promised(book):
    return {(entry.seq, entry.id) for entry in book.entries}


def test_a_sound_journal_has_no_faults(book):
    assert journal_faults(book, promised(book)) == []
    assert list(differences(book, book, ["run-1"])) == []


def test_an_entry_that_was_promised_and_is_not_there_is_lost(book):
    """C1."""
    assert journal_faults(book, {*promised(book), (99, "f" * 64)}) == [
        f"1 acknowledged entries are lost, the first is {(99, 'f' * 64)}"
    ]


def test_a_gap_is_found(book):
    """C2."""
    gap = Book([*book.entries[:2], *book.entries[3:]], (), ())

    assert journal_faults(gap, ()) == ["the positions are not dense from 1"]


def test_a_run_that_nobody_runs_is_not_running(book):
    row = RunRow("run-1", "desk.ai", "running", "", "hello")

    assert journal_faults(book._replace(rows=[row]), ()) == ["run-1 is shown as running, and nobody runs it"]


def test_what_has_a_recorded_outcome_may_not_happen_again(book):
    settled = settled_keys(book.entries)
    asked = Seen(2, "model", "run-1 1 1")

    assert settled == {"run-1 1 1", "run-1 2 1", "run-1/0/turn:1/call:1"}
    assert repeated([asked, SENT._replace(life=2)], 2, settled) == [
        "model run-1 1 1 again",
        "tool run-1/0/turn:1/call:1 again",
    ]
    assert repeated([asked], 1, settled) == []


def test_each_once_call_is_delivered_exactly_once_and_a_keyed_one_at_least_once():
    """C3."""
    wanted = [SENT, BOOKED]

    assert list(effect_faults([SENT, BOOKED, BOOKED], wanted)) == []
    assert list(effect_faults([SENT, SENT, BOOKED], wanted)) == [
        f"once calls were delivered more than once: ['{SENT.key}']"
    ]
    assert list(effect_faults([SENT], wanted)) == [f"keyed calls were never made: ['{BOOKED.key}']"]
    assert list(effect_faults(wanted, [SENT])) == [f"keyed calls that nobody wanted: ['{BOOKED.key}']"]


def test_after_a_stop_nothing_may_begin(book):
    """C5."""
    stop, late = Seen(1, "stop", "run-1"), Seen(2, "model", "run-1 2 1")

    assert list(stop_faults([SENT, stop], book, "run-1")) == []
    assert list(stop_faults([SENT, stop, late], book, "run-1")) == ["model run-1 2 1 after the stop"]


def test_a_run_and_its_sessions_have_one_end_each(book):
    cut = book._replace(entries=book.entries[:-2])

    assert list(stop_faults([], cut, "run-1")) == [
        "run-1 has not one end: ['tool.finished', 'llm.request', 'llm.response']",
        "run-1: these sessions have not one end: ['run-1']",
    ]


def test_a_run_that_came_to_something_else_differs(book):
    cut = book._replace(entries=book.entries[:-1])

    assert essence("run-1", cut.entries)["status"] == "interrupted"
    assert [fault.split(" is ")[0] for fault in differences(cut, book, ["run-1"])] == [
        "run-1: status",
        "run-1: report",
        "run-1: agent",
    ]


async def test_whatever_breaks_the_contract_is_a_fault(tmp_path, book):
    """C1: here an artifact is missing."""
    journal = SqliteJournal.open(tmp_path, lambda: 0.0)
    await journal.append("run-1", NewRun("me", 30.0), [book.entries[0].draft])
    await journal.close()

    found = await asyncio.to_thread(read_book, tmp_path)
    assert found.faults[0].startswith("C1: run-1, entry 1: it names the artifact ")
