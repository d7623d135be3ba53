"""What every journal must do: one suite, run against each backend.

A backend is tested by a class in a test file that inherits from `JournalContract` and gives it a `journal` fixture.
"""

import asyncio
from hashlib import sha256

import msgspec
import pytest

from folkmoot.domain.call_events import AdvisorStarted
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import (
    LlmRequest,
    RunCompleted,
    RunPruned,
    RunStarted,
    SessionStarted,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.report import Outcome, Report
from folkmoot.errors import Conflict, Held, JournalDamaged, OperationFailed, StaleOwner, WrongUse
from folkmoot.journal.codec import LIMIT, ORIGIN, from_line, to_entry, to_line
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import Claim, Epoch, Journal, NewRun, Post, Query, Swept, Version
from tests.journal.chain import check_chain

ME = NewRun("me", 30.0)
STARTED = RunStarted("a.ai", "Hello", "graph", "seed")
ASKED = LlmRequest(1, 1, "scripted/x", 256, 900, 0.00001)
ENDED = RunCompleted(Outcome("a", "0", report=Report(content="Done")))
PRUNED = RunPruned("a.ai", "completed", "2026-03-01T12:00:00.000Z", "2026-03-01T12:00:01.000Z")


class Time:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def draft(event=STARTED, **more) -> Draft:
    return Draft("2026-03-01T12:00:00.000Z", event, **more)


def said(text: str) -> Draft:
    return draft(ToolFinished(1, 1, "look", text, "ev-1"))


async def read(journal: Journal, **query) -> list[Entry]:
    return [entry async for entry in journal.read(Query(**query))]


async def first(entries, count: int) -> list[Entry]:
    """The next entries of a follower, or a failure where it would wait for ever."""
    async with asyncio.timeout(60):
        return [await anext(entries) for _ in range(count)]


async def watched(journal, run, owner):
    """Whoever wants a run has seen that another holds it."""
    with pytest.raises(Held):
        await journal.claim(run, owner, 30.0)


class JournalContract:
    @pytest.fixture
    def time(self):
        return Time()

    async def test_the_streams_whose_names_begin_alike_are_read_together_in_order(self, journal):
        await journal.append("task_1", Version(0), [draft()])
        await journal.append("run-1", ME, [draft()])
        await journal.append("task_2", Version(0), [draft(), draft(ASKED)])
        await journal.append("task_1", Version(1), [draft(ENDED)])
        await journal.append("tasks", Version(0), [draft()])

        found = await read(journal, prefix="task_")
        newest = await read(journal, prefix="task_", newest_first=True, limit=1, types=("run.started",))

        assert [entry.stream for entry in found] == ["task_1", "task_2", "task_2", "task_1"]
        assert [entry.stream for entry in newest] == ["task_2"]

    async def test_entries_are_read_by_their_places(self, journal):
        await journal.append("run-1", ME, [draft(), draft(ASKED), draft(ENDED)])
        first, _, last = await read(journal)

        found = await read(journal, seqs=(last.seq, first.seq, 999), newest_first=True)

        assert found == [last, first]

    async def test_the_entries_of_a_stream_are_numbered_from_one_without_gaps_and_chained(self, journal):
        """C2: per run, sequence numbers are dense from 1 and hash-chained."""
        await journal.append("run-1", ME, [draft(), draft(ASKED)])
        await journal.append("run-2", ME, [draft()])
        await journal.append("run-1", Epoch(1), [draft(ENDED)])

        one, two, three = await read(journal, stream="run-1")

        assert [one.run_seq, two.run_seq, three.run_seq] == [1, 2, 3]
        assert [one.prev, two.prev, three.prev] == [ORIGIN, one.id, two.id]
        assert list(check_chain([one, two, three])) == []

    async def test_positions_rise_over_all_streams_in_the_order_of_writing(self, journal):
        """C2: every reader sees a prefix."""
        for run in ("b", "a", "c"):
            await journal.append(run, ME, [draft(), draft(ASKED)])

        entries = await read(journal)

        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6]
        assert [entry.stream for entry in entries] == ["b", "b", "a", "a", "c", "c"]

    async def test_what_is_read_equals_what_was_acknowledged(self, journal):
        """C1: what was acknowledged is there."""
        full = draft(
            ToolStarted(
                1, 2, "pay", {"sum": 1.5, "to": ["x", None], "n": -3}, "once", "write", "k", "granted"
            ),
            session_id="run-1:sub_pay_1a2b3c4d",
            span="0/turn:1/call:2",
            agent_id="pay",
            work_session_id="ws-1",
            conversation_id="c-1",
        )

        acknowledged = await journal.append("run-1", ME, [draft(), full, draft(ENDED)])

        assert await read(journal) == list(acknowledged)
        assert [entry.draft for entry in acknowledged] == [draft(), full, draft(ENDED)]

    async def test_an_exported_line_proves_itself_to_someone_who_has_only_the_line(self, journal):
        """C2: the documented recipe, with nothing of this package."""
        await journal.append("run-1", ME, [draft(), said("a\u2028b – ü 🎉")])

        lines = [to_line(entry) async for entry in journal.read(Query())]

        prev = "0" * 64
        for line in lines:
            shown = msgspec.json.decode(line)
            assert shown["id"] == sha256(b"{" + line[line.index(b'"prev":') :].rstrip(b"\n")).hexdigest()
            assert shown["prev"] == prev
            prev = shown["id"]
        assert [from_line(line) for line in lines] == await read(journal)

    async def test_an_append_of_nothing_writes_nothing(self, journal):
        await journal.append("run-1", ME, [draft()])

        assert list(await journal.append("run-1", Epoch(1), [])) == []
        assert len(await read(journal)) == 1

    async def test_a_new_run_belongs_to_its_owner_under_the_first_epoch(self, journal):
        await journal.append("run-1", ME, [draft()])

        assert list(await journal.claims()) == [Claim("run-1", "me", 1, live=True)]

    async def test_a_run_cannot_be_created_twice(self, journal):
        await journal.append("run-1", ME, [draft()])

        with pytest.raises(Conflict, match="run-1"):
            await journal.append("run-1", NewRun("you", 30.0), [draft(ASKED)])

        assert [entry.event for entry in await read(journal)] == [STARTED]
        assert list(await journal.claims()) == [Claim("run-1", "me", 1, live=True)]

    async def test_a_stale_owner_is_refused_and_nothing_of_it_is_written(self, journal, time):
        """C2: a process that was taken over cannot write between the entries of its successor."""
        await journal.append("run-1", ME, [draft()])
        await watched(journal, "run-1", "you")
        time.now += 31
        await journal.claim("run-1", "you", 30.0)

        with pytest.raises(StaleOwner, match="run-1"):
            await journal.append("run-1", Epoch(1), [draft(ASKED), draft(ASKED)])
        written = await journal.append("run-1", Epoch(2), [draft(ENDED)])

        assert [entry.run_seq for entry in written] == [2]
        assert [entry.event for entry in await read(journal)] == [STARTED, ENDED]

    @pytest.mark.parametrize("epoch", [0, 1])
    async def test_no_epoch_fits_a_run_that_does_not_exist(self, journal, epoch):
        with pytest.raises(StaleOwner):
            await journal.append("run-1", Epoch(epoch), [draft()])

        assert await read(journal) == []

    async def test_no_epoch_fits_a_stream_that_nobody_owns(self, journal):
        await journal.append("task-1", Version(0), [draft()])

        with pytest.raises(StaleOwner):
            await journal.append("task-1", Epoch(0), [draft()])

    async def test_a_shared_stream_takes_an_append_only_at_the_expected_version(self, journal):
        await journal.append("task-1", Version(0), [draft(), draft()])

        with pytest.raises(Conflict, match="version 2, not 1"):
            await journal.append("task-1", Version(1), [draft(ASKED)])
        with pytest.raises(Conflict):
            await journal.append("task-2", Version(1), [draft(ASKED)])
        await journal.append("task-1", Version(2), [draft(ENDED)])

        assert [entry.event for entry in await read(journal)] == [STARTED, STARTED, ENDED]
        assert list(await journal.claims()) == []

    async def test_of_many_who_expect_the_same_version_one_gets_it(self, journal):
        results = await asyncio.gather(
            *(journal.append("task-1", Version(0), [said(str(n))]) for n in range(20)), return_exceptions=True
        )

        assert sum(isinstance(result, Conflict) for result in results) == 19
        assert len(await read(journal)) == 1

    async def test_a_refused_append_does_not_harm_its_neighbours(self, journal):
        await journal.append("run-1", ME, [draft()])

        results = await asyncio.gather(
            journal.append("run-2", ME, [draft()]),
            journal.append("run-1", Epoch(7), [draft(ASKED), draft(ASKED)]),
            journal.append("run-1", Epoch(1), [draft(ASKED)]),
            journal.append("run-2", ME, [draft()]),
            journal.append("run-2", Epoch(1), [draft(ENDED)]),
            return_exceptions=True,
        )

        assert [type(result) for result in results if isinstance(result, Exception)] == [StaleOwner, Conflict]
        assert [(entry.stream, entry.run_seq, entry.event) for entry in await read(journal)] == [
            ("run-1", 1, STARTED),
            ("run-2", 1, STARTED),
            ("run-1", 2, ASKED),
            ("run-2", 2, ENDED),
        ]

    async def test_what_cannot_be_stored_is_refused_before_anything_is_written(self, journal):
        with pytest.raises(WrongUse, match=r"tool\.finished"):
            await journal.append("run-1", ME, [draft(), said("\ud800")])

        assert await read(journal) == []
        assert list(await journal.claims()) == []

    async def test_appends_that_nobody_waits_for_are_written_in_the_order_of_the_calls(self, journal):
        journal.append("run-1", ME, [draft()])
        for n in range(9):
            last = journal.append("run-1", Epoch(1), [said(str(n))])
        await last

        entries = await read(journal)

        assert [entry.event.text for entry in entries[1:]] == [str(n) for n in range(9)]

    async def test_many_tasks_write_at_once_and_every_stream_hangs_together(self, journal):
        """C1, C2: acknowledged entries are there, dense and chained, whoever else writes."""

        async def run(name: str) -> list[Entry]:
            written = [*await journal.append(name, ME, [draft()])]
            for n in range(5):
                written += await journal.append(name, Epoch(1), [said(str(n)), draft(ASKED)])
            return written

        acknowledged = await asyncio.gather(*(run(f"run-{n}") for n in range(40)))

        entries = await read(journal)
        assert [entry.seq for entry in entries] == list(range(1, 40 * 11 + 1))
        assert list(check_chain(entries)) == []
        for written in acknowledged:
            assert [entry for entry in entries if entry.stream == written[0].stream] == written

    async def test_a_query_restricts_by_stream_type_position_and_number(self, journal):
        for run in ("run-1", "run-2", "run-3"):
            await journal.append(run, ME, [draft(), draft(AdvisorStarted("x")), draft(ENDED)])

        async def seqs(**query):
            return [entry.seq for entry in await read(journal, **query)]

        assert await seqs(stream="run-2") == [4, 5, 6]
        assert await seqs(stream="nobody") == []
        assert await seqs(types=("run.started",)) == [1, 4, 7]
        assert await seqs(types=("advisor.started", "run.completed")) == [2, 3, 5, 6, 8, 9]
        assert await seqs(types=("no.such",)) == []
        assert await seqs(after=7) == [8, 9]
        assert await seqs(after=99) == []
        assert await seqs(limit=2) == [1, 2]
        assert await seqs(newest_first=True, limit=3) == [9, 8, 7]
        assert await seqs(newest_first=True, after=6) == [9, 8, 7]
        assert await seqs(stream="run-2", after=4, newest_first=True) == [6, 5]
        assert await seqs(types=("advisor.started",), newest_first=True, limit=2) == [8, 5]
        assert await seqs(types=("run.started", "run.completed"), after=3, limit=3) == [4, 6, 7]
        assert await seqs(stream="run-3", types=("run.completed",)) == [9]

    @pytest.mark.parametrize("newest_first", [False, True])
    @pytest.mark.parametrize("types", [(), ("run.started",), ("tool.finished",), ("llm.request",)])
    async def test_long_journals_are_read_whole(self, journal, types, newest_first):
        await journal.append("run-1", ME, [draft()])
        for n in range(0, 450, 90):
            await journal.append("run-1", Epoch(1), [said(str(n + k)) for k in range(90)])
        await journal.append("run-2", ME, [draft()])

        entries = await read(journal, types=types, newest_first=newest_first)

        expected = {(): 452, ("run.started",): 2, ("tool.finished",): 450, ("llm.request",): 0}[types]
        seqs = [entry.seq for entry in entries]
        assert len(seqs) == expected
        assert seqs == sorted(seqs, reverse=newest_first)

    async def test_a_read_ends_with_what_was_durable_when_it_began(self, journal):
        await journal.append("run-1", ME, [draft(), draft(ASKED)])

        seen = []
        async for entry in journal.read(Query()):
            seen.append(entry.seq)
            await journal.append("run-1", Epoch(1), [draft(ASKED)])

        assert seen == [1, 2]

    async def test_a_follower_sees_everything_once_and_in_order(self, journal):
        """C2: also what is written while it looks."""
        await journal.append("run-1", ME, [draft(), draft(ASKED)])
        follower = journal.follow()

        old = await first(follower, 2)
        await asyncio.gather(*(journal.append(f"new-{n}", ME, [draft(), draft(ENDED)]) for n in range(30)))
        new = await first(follower, 60)
        later = asyncio.ensure_future(first(follower, 1))
        await asyncio.sleep(0)
        await journal.append("run-1", Epoch(1), [draft(ENDED)])

        assert [entry.seq for entry in old + new + await later] == list(range(1, 64))

    async def test_a_follower_may_begin_in_the_middle_and_another_beside_it(self, journal):
        await journal.append("run-1", ME, [draft(), draft(ASKED), draft(ENDED)])

        assert [entry.seq for entry in await first(journal.follow(after=2), 1)] == [3]
        assert [entry.seq for entry in await first(journal.follow(), 3)] == [1, 2, 3]

    async def test_a_follower_comes_to_an_end_when_the_journal_is_closed(self, journal):
        await journal.append("run-1", ME, [draft()])

        async def follow():
            return [entry.seq async for entry in journal.follow()]

        following = asyncio.ensure_future(follow())
        await asyncio.sleep(0)
        await journal.close()

        async with asyncio.timeout(60):
            assert await following == [1]

    @pytest.mark.parametrize("size", [0, 1, LIMIT, LIMIT + 1, 3_000_000])
    async def test_kept_content_comes_back_by_its_hash(self, journal, size):
        content = b"\0x\xff"[:size] + b"y" * (size - 3)

        id = journal.keep(content)

        assert id == sha256(content).hexdigest()
        assert await journal.artifact(id) == content
        await journal.append("run-1", ME, [draft()])
        assert await journal.artifact(id) == content

    async def test_the_same_content_has_one_id_however_often_it_is_kept(self, journal):
        ids = {journal.keep(b"twice")}
        await journal.append("run-1", ME, [draft()])
        ids |= {journal.keep(b"twice"), journal.keep(b"twice")}
        await journal.append("run-1", Epoch(1), [draft()])

        assert len(ids) == 1
        assert await journal.artifact(ids.pop()) == b"twice"

    @pytest.mark.parametrize("id", ["0" * 64, "", "../../../etc/passwd", "G" * 64, "ab"])
    async def test_an_id_that_nobody_kept_is_a_key_error(self, journal, id):
        with pytest.raises(KeyError):
            await journal.artifact(id)

    @pytest.mark.parametrize("size", [LIMIT - 80, LIMIT, LIMIT + 1, 1_000_000])
    async def test_large_events_are_read_and_exported_whole(self, journal, size):
        large = said("ü\u2028" + "x" * size)

        (entry,) = await journal.append("run-1", ME, [large])

        assert await read(journal, stream="run-1") == [entry]
        assert entry.draft == large
        assert msgspec.json.decode(to_line(entry))["data"]["text"] == large.event.text
        assert from_line(to_line(entry)) == entry

    async def test_a_live_owner_is_not_robbed(self, journal, time):
        await journal.append("run-1", ME, [draft()])
        time.now += 29

        with pytest.raises(Held) as held:
            await journal.claim("run-1", "you", 30.0)

        assert held.value.owner == "me"
        await journal.append("run-1", Epoch(1), [draft(ENDED)])

    async def test_a_run_whose_lease_ended_can_be_claimed_under_a_higher_epoch(self, journal, time):
        await journal.append("run-1", ME, [draft()])
        await watched(journal, "run-1", "you")
        time.now += 31

        assert list(await journal.claims()) == [Claim("run-1", "me", 1, live=False)]
        assert await journal.claim("run-1", "you", 30.0) == Claim("run-1", "you", 2, live=True)
        assert list(await journal.claims()) == [Claim("run-1", "you", 2, live=True)]

    async def test_an_owner_may_claim_its_own_run_again(self, journal):
        await journal.append("run-1", ME, [draft()])

        assert (await journal.claim("run-1", "me", 30.0)).epoch == 2

    async def test_the_lease_of_an_owner_known_to_be_dead_need_not_be_waited_for(self, journal):
        await journal.append("run-1", ME, [draft()])

        assert (await journal.claim("run-1", "you", 30.0, after="me")).epoch == 2
        with pytest.raises(Held):
            await journal.claim("run-1", "third", 30.0, after="me")

    async def test_a_renewed_lease_holds_longer_and_only_under_its_epoch(self, journal, time):
        for run in ("run-1", "run-2"):
            await journal.append(run, ME, [draft()])
        one, two = await journal.claims()
        time.now += 20
        assert await journal.renew([one, two], 30.0) == {"run-1", "run-2"}
        await watched(journal, "run-1", "you")
        time.now += 20
        await watched(journal, "run-1", "you")

        time.now += 20
        await journal.claim("run-1", "you", 5.0)
        assert await journal.renew([one, two], 30.0) == {"run-2"}
        await watched(journal, "run-1", "third")
        time.now += 6

        assert (await journal.claim("run-1", "third", 30.0)).epoch == 3

    async def test_a_released_run_can_be_claimed_at_once(self, journal):
        await journal.append("run-1", ME, [draft()])
        (claim,) = await journal.claims()

        await journal.release(claim)

        assert [found.live for found in await journal.claims()] == [False]
        assert (await journal.claim("run-1", "you", 30.0)).epoch == 2

    async def test_a_release_under_an_old_epoch_changes_nothing(self, journal):
        await journal.append("run-1", ME, [draft()])
        (old,) = await journal.claims()
        await journal.release(old)
        await journal.claim("run-1", "you", 30.0)

        await journal.release(old)

        assert [claim.live for claim in await journal.claims()] == [True]

    async def test_of_many_who_claim_a_run_at_once_one_gets_it(self, journal, time):
        await journal.append("run-1", ME, [draft()])
        await watched(journal, "run-1", "you")
        time.now += 31

        results = await asyncio.gather(
            *(journal.claim("run-1", f"owner-{n}", 30.0) for n in range(10)), return_exceptions=True
        )

        assert sum(isinstance(result, Claim) for result in results) == 1
        assert sum(isinstance(result, Held) for result in results) == 9

    async def test_posts_lie_in_the_inbox_of_their_run_until_they_are_taken(self, journal):
        for run in ("run-1", "run-2"):
            await journal.append(run, ME, [draft()])
        await journal.post("run-1", "cancel", "too slow \u2028 \0")
        await journal.post("run-2", "cancel")
        await journal.post("run-1", "answer", "42")

        one, two = await journal.posts(["run-1"])

        assert (one.run, one.kind, one.body) == ("run-1", "cancel", "too slow \u2028 \0")
        assert two == Post(two.id, "run-1", "answer", "42")
        await journal.take(one)
        await journal.take(one)
        assert [post.kind for post in await journal.posts(["run-1", "run-2", "run-3"])] == [
            "cancel",
            "answer",
        ]
        assert list(await journal.posts([])) == []

    async def test_the_number_of_a_taken_post_is_not_used_again(self, journal):
        await journal.append("run-1", ME, [draft()])
        await journal.post("run-1", "cancel")
        (old,) = await journal.posts(["run-1"])
        await journal.take(old)

        await journal.post("run-1", "cancel")
        await journal.take(old)

        assert len(await journal.posts(["run-1"])) == 1

    async def test_only_a_run_that_exists_can_be_claimed_or_written_to(self, journal):
        with pytest.raises(WrongUse, match="run-9"):
            await journal.claim("run-9", "me", 30.0)
        with pytest.raises(WrongUse, match="run-9"):
            await journal.post("run-9", "cancel")

    @pytest.mark.parametrize(
        "text",
        ["a\u2028b\u2029c\x85d", "🎉 Müller 東京", "nul \0 in it", "\x1b[31mred\x07", '"\\/\n\r\t', ""],
    )
    async def test_every_text_comes_back_as_it_was(self, journal, text):
        written = draft(
            SessionStarted("a.ai", text, title=text),
            session_id=text,
            span=text,
            agent_id=text,
            conversation_id=text,
        )
        stream = text or "run"

        (entry,) = await journal.append(stream, ME, [written])

        assert await read(journal, stream=stream) == [entry]
        assert entry.draft == written
        line = to_line(entry)
        assert len(line.decode().splitlines()) == 1
        assert from_line(line) == entry

    async def test_what_is_stored_is_read_as_it_lies_there(self, journal):
        """C2: whoever checks a journal or passes it on sees what was written, byte for byte."""
        await journal.append("run-1", ME, [draft(), said("x" * (LIMIT + 1))])
        await journal.append("run-2", ME, [draft()])

        entries, stored = await read(journal), [each async for each in journal.stored(Query())]
        last = [each async for each in journal.stored(Query(stream="run-1", newest_first=True, limit=1))]

        assert [to_entry(each) for each in stored] == entries
        assert [each.text for each in stored] == [entry.text for entry in entries]
        assert [each.type for each in stored] == ["run.started", "tool.finished", "run.started"]
        assert [each.run_seq for each in last] == [2]

    async def test_a_stream_of_another_journal_is_taken_in_as_it_is(self, journal):
        """Issue 4, import: texts, times and hashes stay; what it names is there; nobody owns it."""
        other = MemoryJournal()
        await other.append("run-9", ME, [draft(), said("x" * (LIMIT + 1)), draft(ASKED)])
        await journal.append("run-1", ME, [draft()])
        stored = [each async for each in other.stored(Query())]

        await journal.restore("run-9", stored)

        taken = await read(journal, stream="run-9")
        assert [(each.text, each.id) for each in taken] == [(each.text, each.id) for each in stored]
        assert [each.seq for each in await read(journal)] == [1, 2, 3, 4]
        assert (await journal.claim("run-9", "me", 30.0)).live
        await journal.append("run-9", Version(3), [draft(ENDED)])
        assert list(check_chain(await read(journal, stream="run-9"))) == []

    async def test_a_stream_that_is_there_or_does_not_hang_together_is_not_taken_in(self, journal):
        """C2: all of it is written, or nothing."""
        await journal.append("run-1", ME, [draft(), draft(ASKED), draft(ENDED)])
        one, two, three = [each async for each in journal.stored(Query())]
        forged = msgspec.structs.replace(two, text=two.text.replace(b"256", b"257"))

        with pytest.raises(Conflict):
            await journal.restore("run-1", [one, two, three])
        for broken in ([one, three], [one, forged], [two], [one, two]):
            with pytest.raises(JournalDamaged):
                await journal.restore("run-2", broken)

        assert [entry.id for entry in await read(journal)] == [one.id, two.id, three.id]

    async def test_of_a_pruned_run_only_the_tombstone_stays_with_the_last_hash(self, journal):
        """Issue 4, prune: the chain of the run ends in it, and others are untouched."""
        entries = await journal.append("run-1", ME, [draft(), said("x" * (LIMIT + 1)), draft(ENDED)])
        await journal.append("run-2", ME, [draft()])
        await journal.post("run-1", "cancel", "")

        with pytest.raises(Conflict):
            await journal.prune("run-1", Version(2), draft(PRUNED))
        assert await journal.prune("run-1", Version(3), draft(PRUNED)) == 3

        tombstone, *others = await read(journal, stream="run-1")
        assert (tombstone.event, tombstone.run_seq, tombstone.prev) == (PRUNED, 4, entries[-1].id)
        assert others == []
        assert [entry.seq for entry in await read(journal)] == [4, 5]
        assert [entry.seq for entry in await read(journal, after=4)] == [5]
        assert [entry.seq for entry in await first(journal.follow(after=3), 2)] == [4, 5]
        assert await journal.posts(["run-1"]) == []
        assert (await journal.append("run-2", Epoch(1), [draft(ASKED)]))[0].seq == 6

    @pytest.mark.parametrize("size", [10, LIMIT + 1])
    async def test_a_sweep_removes_what_no_entry_names_and_was_not_kept_just_now(self, journal, time, size):
        """Issue 4, prune: an artifact that another run names stays, and so does a young one."""
        alone, shared, young = (bytes([65 + each]) * size for each in range(3))
        named = [journal.keep(content) for content in (alone, shared)]
        events = [draft(ToolFinished(1, 1, "look", "seen", "ev-1", artifact=id)) for id in named]
        await journal.append("run-1", ME, [draft(), *events])
        await journal.append("run-2", ME, [draft(), events[1]])
        await journal.prune("run-1", Version(3), draft(PRUNED))
        time.now += 1_000
        kept = journal.keep(young)
        await journal.append("run-2", Epoch(1), [draft(ASKED)])

        assert await journal.sweep(100.0) == Swept(1, size)
        with pytest.raises(KeyError):
            await journal.artifact(named[0])
        assert await journal.artifact(named[1]) == shared
        assert await journal.artifact(kept) == young

        assert journal.keep(alone) == named[0]
        await journal.append("run-2", Epoch(1), [draft(ASKED)])
        assert await journal.artifact(named[0]) == alone

    @pytest.mark.parametrize("size", [10, LIMIT + 1])
    async def test_content_that_is_kept_again_is_young_again(self, journal, time, size):
        """Issue 4, prune: between keeping content and naming it nothing may take it away."""
        id = journal.keep(b"x" * size)
        await journal.append("run-1", ME, [draft()])
        time.now += 1_000
        journal.keep(b"x" * size)
        await journal.append("run-1", Epoch(1), [draft(ASKED)])

        assert await journal.sweep(100.0) == Swept()
        assert await journal.artifact(id) == b"x" * size
        time.now += 1_000
        assert await journal.sweep(100.0) == Swept(1, size)

    async def test_the_data_of_a_large_event_is_never_swept(self, journal, time):
        """C1: it is an artifact that the entry itself names, as may be what it mentions."""
        inner = journal.keep(b"inner")
        await journal.append("run-1", ME, [said(f"{'x' * (LIMIT + 1)} {inner}")])
        time.now += 1_000

        assert await journal.sweep(100.0) == Swept()
        assert await journal.artifact(inner) == b"inner"
        assert len(await read(journal, stream="run-1")) == 1

    async def test_a_closed_journal_takes_nothing_more(self, journal):
        await journal.append("run-1", ME, [draft()])
        await journal.close()
        await journal.close()

        with pytest.raises(OperationFailed, match="closed"):
            await journal.append("run-1", Epoch(1), [draft()])
        with pytest.raises(OperationFailed, match="closed"):
            journal.keep(b"x")
        with pytest.raises(OperationFailed, match="closed"):
            await journal.post("run-1", "cancel")
