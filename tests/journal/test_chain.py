"""Whether entries follow one another."""

import msgspec
import pytest

from folkmoot.journal.sqlite import MemoryJournal
from tests.journal.chain import check_chain
from tests.journal.contract import ASKED, ENDED, ME, draft, read, said


@pytest.fixture
async def entries():
    journal = MemoryJournal()
    await journal.append("run-1", ME, [draft(), draft(ASKED), said("x"), draft(ENDED)])
    return await read(journal)


def test_entries_as_they_were_written_have_no_fault(entries):
    assert list(check_chain(entries)) == []
    assert list(check_chain([])) == []


def test_a_missing_entry_is_found_at_the_one_after_it(entries):
    """C2: damage is reported with its position."""
    assert list(check_chain([entries[0], *entries[2:]])) == [
        "entry 3 of the journal, 3 of stream 'run-1': it follows on 1: entries are missing or doubled"
    ]
    assert "1 of stream" not in next(check_chain(entries[1:]))


def test_a_doubled_entry_is_found(entries):
    assert len(list(check_chain([*entries[:2], entries[1], *entries[2:]]))) == 1


def test_entries_in_the_wrong_order_are_found(entries):
    assert list(check_chain([entries[1], entries[0], *entries[2:]])) != []


def test_an_entry_with_another_content_is_found(entries):
    changed = msgspec.structs.replace(entries[1], text=entries[1].text.replace(b"scripted/x", b"scripted/y"))

    assert list(check_chain([entries[0], changed, *entries[2:]])) == [
        "entry 2 of the journal, 2 of stream 'run-1': its content does not match its hash"
    ]


async def test_an_entry_of_another_history_is_found(entries):
    other = MemoryJournal()
    await other.append("run-1", ME, [said("other"), said("other")])
    foreign = (await read(other))[1]

    assert list(check_chain([entries[0], foreign])) == [
        "entry 2 of the journal, 2 of stream 'run-1': it was written after another entry than 1"
    ]


async def test_each_of_several_streams_is_checked_for_itself(entries):
    other = MemoryJournal()
    await other.append("run-2", ME, [draft(), draft(ASKED)])
    one, two = await read(other)

    assert list(check_chain([entries[0], one, entries[1], two])) == []
    assert len(list(check_chain([entries[0], two, entries[1]]))) == 1
