"""Which runs answered which place in a conversation: folded from the journal, so that a restart forgets nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import RunCompleted, RunParked, RunStarted
from folkmoot.domain.inbox_events import ClientAnswered, ClientCalled, QuestionAnswered
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound
from folkmoot.ports import Query
from folkmoot.protocols.conversation import ChatRequest, EarlierTurn
from folkmoot.protocols.reply import AwaitedRun, ChatReply, reply_of, waiting_mark
from folkmoot.protocols.runs import RESTS
from folkmoot.views.result import Result

_FOLDED = (RunStarted, RunCompleted, ClientCalled, ClientAnswered, QuestionAnswered)
_TYPES = tuple(event.type for event in _FOLDED)


class AnsweringRun(Value):
    """A run that answered a place in a conversation."""

    run: str
    work_session: str
    answer: str = ""
    """The last answer that the client has; empty if it does not say."""


class PastAnswer(Value):
    """A run up to the end of an answer to a client."""

    run: str
    entries: int
    """How many it had when that was asked."""
    drafts: tuple[Draft, ...]

    @property
    def awaited(self) -> AwaitedRun:
        return AwaitedRun(self.run, self.entries, Result(self.run, self.drafts[: self.entries]).totals)

    @property
    def is_over(self) -> bool:
        """Whether the run had ended or waited there."""
        return len(self.drafts) > self.entries and isinstance(self.drafts[-1].event, RESTS)

    def reply(self, page: str) -> ChatReply:
        return reply_of(Result(self.run, self.drafts), self.awaited, page)


async def read_entries(moot: Folkmoot, run: str) -> list[Entry]:
    entries = [entry async for entry in moot.events(run)]
    if not entries or not isinstance(entries[0].event, RunStarted):
        raise NotFound(
            f"there is no run {run!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return entries


async def read_drafts(moot: Folkmoot, run: str) -> list[Draft]:
    return [entry.draft for entry in await read_entries(moot, run)]


async def find_answer(moot: Folkmoot, name: str) -> PastAnswer:
    """By its name, see `AwaitedRun.name`. Raises `NotFound` if there is none."""
    run, _, number = name.partition(".")
    drafts = await read_drafts(moot, run)
    entries = int(number) if number.isdecimal() and number.isascii() else 0
    ends = (at for at, draft in enumerate(drafts, 1) if at > entries and isinstance(draft.event, RESTS))
    return PastAnswer(run, entries, tuple(drafts[: next(ends, len(drafts))]))


class AnsweredRuns:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._lock = asyncio.Lock()
        self._seen = 0
        self._runs: dict[str, list[AnsweringRun]] = {}
        """By thread, the oldest first."""
        self._reports: dict[str, int] = {}
        """The hash of each run's report."""
        self._calls: dict[str, AnsweringRun] = {}
        """By the id of a call of a client's tool: the run that waits for its result."""
        self._keyed: dict[str, tuple[str, str]] = {}
        """By idempotency key: what is recorded of the first request under it, and its run."""

    async def keyed(self, key: str) -> tuple[str, str] | None:
        """The first request under this key that started a run or answered one, as recorded, and that run."""
        await self._catch_up()
        return self._keyed.get(key)

    async def calling(self, ids: Sequence[str]) -> AnsweringRun | None:
        """The run that called a client's tool under one of these ids, whatever else the client repeats."""
        await self._catch_up()
        return next((self._calls[id] for id in ids if id in self._calls), None)

    async def last_before(self, asked: ChatRequest) -> AnsweringRun | None:
        """The run that answered the conversation last."""
        if asked.results and (calling := await self.calling([result.answers for result in asked.results])):
            return calling
        if not asked.after:
            return await self._find((EarlierTurn(asked.thread),) * bool(asked.results) + asked.earlier)
        past = await find_answer(self._moot, asked.after)
        waited = isinstance(past.drafts[-1].event, RunParked)
        mark = waiting_mark(past.run) if waited else ""
        return AnsweringRun(past.run, past.drafts[0].work_session_id, mark)

    async def _find(self, earlier: Sequence[EarlierTurn]) -> AnsweringRun | None:
        """Of the latest place with a known run. Of several that answered the same place, the one whose answer the
        client has; otherwise the youngest."""
        if not earlier:
            return None
        await self._catch_up()
        for place in earlier:
            if runs := self._runs.get(place.thread):
                answer = hash(place.answer)
                same = [run for run in runs if self._reports[run.run] == answer or run.run in place.answer]
                chosen = (same or runs)[-1]
                return AnsweringRun(chosen.run, chosen.work_session, earlier[0].answer)
        return None

    async def _catch_up(self) -> None:
        async with self._lock:
            async for entry in self._moot.moot.journal.read(Query(types=_TYPES, after=self._seen)):
                self._apply(entry)
                self._seen = entry.seq

    def _apply(self, entry: Entry) -> None:
        if recorded := recorded_key(entry.event):
            self._keyed.setdefault(recorded.partition(".")[0], (recorded, entry.stream))
        match entry.event:
            case RunStarted(errand=errand) if errand.thread:
                started = AnsweringRun(entry.stream, entry.draft.work_session_id)
                self._runs.setdefault(errand.thread, []).append(started)
                self._reports[entry.stream] = 0
            case ClientCalled(id=id):
                started = AnsweringRun(entry.stream, entry.draft.work_session_id)
                self._calls.setdefault(id, started)  # a fork has it too, later
            case RunCompleted(outcome=outcome) if entry.stream in self._reports and outcome.report:
                self._reports[entry.stream] = hash(outcome.report.content.strip())


def recorded_key(event: Event) -> str:
    """The idempotency key of the request behind this event; empty if it had none."""
    match event:
        case RunStarted(errand=errand):
            return errand.ticket
        case ClientAnswered(ticket=ticket) | QuestionAnswered(ticket=ticket):
            return ticket
    return ""
