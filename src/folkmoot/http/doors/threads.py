"""Which runs answered which place in a conversation: a fold over the journal, so that a restart forgets nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Entry
from folkmoot.domain.event import Event
from folkmoot.domain.events import RunCompleted, RunStarted
from folkmoot.domain.inbox_events import ClientAnswered, ClientCalled, QuestionAnswered
from folkmoot.domain.value import Value
from folkmoot.http.doors.conversation import Earlier
from folkmoot.ports import Query

_FOLDED = (RunStarted, RunCompleted, ClientCalled, ClientAnswered, QuestionAnswered)
_TYPES = tuple(event.type for event in _FOLDED)


class Answered(Value):
    """A run that answered a place in a conversation."""

    run: str
    work_session: str
    answer: str = ""
    """What the client was told last; empty if it does not say."""


class Taken(Value):
    """A request that may come again, and has started a run or answered one."""

    ticket: str
    run: str


class Threads:
    def __init__(self, moot: Folkmoot) -> None:
        self._journal = moot.moot.journal
        self._lock = asyncio.Lock()
        self._seen = 0
        self._runs: dict[str, list[Answered]] = {}
        """By thread, the oldest first."""
        self._reports: dict[str, int] = {}
        """The hash of each run's report."""
        self._calls: dict[str, Answered] = {}
        """By the id of a call of a client's tool: the run that waits for its result."""
        self._taken: dict[str, Taken] = {}
        """By the key of the request."""

    async def taken(self, key: str) -> Taken | None:
        """The first request under this key, if it came to anything."""
        await self._catch_up()
        return self._taken.get(key)

    async def called(self, ids: Sequence[str]) -> Answered | None:
        """The run that called a client's tool under one of these ids, whatever the client says was said before."""
        await self._catch_up()
        return next((self._calls[id] for id in ids if id in self._calls), None)

    async def find(self, earlier: Sequence[Earlier]) -> Answered | None:
        """The run that the conversation goes on from: the latest place that one is known of. Of several that answered
        the same, it is the one that said what the client was told; otherwise the youngest."""
        if not earlier:
            return None
        await self._catch_up()
        for place in earlier:
            if runs := self._runs.get(place.thread):
                said = hash(place.answer)
                same = [run for run in runs if self._reports[run.run] == said or run.run in place.answer]
                chosen = (same or runs)[-1]
                return Answered(chosen.run, chosen.work_session, earlier[0].answer)
        return None

    async def _catch_up(self) -> None:
        async with self._lock:
            async for entry in self._journal.read(Query(types=_TYPES, after=self._seen)):
                self._take(entry)
                self._seen = entry.seq

    def _take(self, entry: Entry) -> None:
        if ticket := ticket_with(entry.event):
            self._taken.setdefault(ticket.partition(".")[0], Taken(ticket, entry.stream))
        match entry.event:
            case RunStarted(errand=errand) if errand.thread:
                begun = Answered(entry.stream, entry.draft.work_session_id)
                self._runs.setdefault(errand.thread, []).append(begun)
                self._reports[entry.stream] = 0
            case ClientCalled(id=id):
                begun = Answered(entry.stream, entry.draft.work_session_id)
                self._calls.setdefault(id, begun)  # a fork has it too, later
            case RunCompleted(outcome=outcome) if entry.stream in self._reports and outcome.report:
                self._reports[entry.stream] = hash(outcome.report.content.strip())


def ticket_with(event: Event) -> str:
    """The ticket of the request that made it happen; empty if it has none."""
    match event:
        case RunStarted(errand=errand):
            return errand.ticket
        case ClientAnswered(ticket=ticket) | QuestionAnswered(ticket=ticket):
            return ticket
    return ""
