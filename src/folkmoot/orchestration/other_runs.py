"""What other runs of the project recorded: messages between agents, for the loop guard, and results of equal calls."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from folkmoot.domain.call_events import SubAgentCompleted
from folkmoot.domain.entry import Draft
from folkmoot.domain.team_events import A2aSend
from folkmoot.domain.value import Value
from folkmoot.orchestration.log import RunLog
from folkmoot.ports import Clock, Journal, Query

PAIR_MESSAGES = 10
PAIR_WINDOW = 60.0
"""Seconds."""
HOPS = 5


class SentMessage(Value):
    """One message between two agents."""

    sender: str
    receiver: str
    at: float
    """Seconds of a clock that never jumps."""
    hops: int = 1
    """How often the matter was passed on, this time included."""

    @property
    def pair(self) -> frozenset[str]:
        return frozenset((self.sender, self.receiver))


class LoopGuard(Value):
    hops: int = HOPS

    def objection(self, message: SentMessage, sent: Iterable[SentMessage] = ()) -> str:
        """Why a message is not delivered after those that were `sent`, and which rule says so; empty if it may be."""
        if message.sender == message.receiver:
            return f"self_message: {message.sender} writes to itself"
        if message.hops > self.hops:
            return f"hops: passed on {message.hops} times; the most is {self.hops}"
        between = (each.at for each in sent if each.pair == message.pair)
        lately = sorted(at for at in between if message.at - at < PAIR_WINDOW)
        if len(lately) >= PAIR_MESSAGES:
            again = lately[0] + PAIR_WINDOW - message.at
            return (
                f"pair_window: {PAIR_MESSAGES} messages within {PAIR_WINDOW:g} s; try again in {again:.0f} s"
            )
        return ""


class Traffic:
    """One for all runs of a process: what was read once is not looked for again."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._lately: dict[int, tuple[str, SentMessage]] = {}
        """By position in the journal: in which run, and what."""
        self._seen = 0

    def now(self) -> float:
        """By the clock of the journal, because a window reaches over runs and processes."""
        return _seconds(self._clock.now())

    async def objection(self, guard: LoopGuard, message: SentMessage, span: str, log: RunLog) -> str:
        """Why a message to a receiver at this span is not delivered; empty if it may be.

        What this run sent is looked at last and without a pause, so that of parallel messages each counts.
        """
        if refused := guard.objection(message):
            return refused
        await self._read_on(message.at - PAIR_WINDOW)
        run = log.drafts[0].session_id
        sent = [each for stream, each in self._lately.values() if stream != run]
        sent += [
            _to_sent_message(draft, draft.event) for draft in log.drafts if isinstance(draft.event, A2aSend)
        ]
        return guard.objection(message, sent)

    async def _read_on(self, since: float) -> None:
        """Several may do so at once: each entry has one place."""
        ends = [entry.seq async for entry in self._journal.read(Query(newest_first=True, limit=1))]
        async for entry in self._journal.read(Query(types=(A2aSend.type,), after=self._seen)):
            if isinstance(event := entry.event, A2aSend):
                self._lately[entry.seq] = (entry.stream, _to_sent_message(entry.draft, event))
        self._seen = max([self._seen, *ends])
        self._lately = {seq: known for seq, known in self._lately.items() if known[1].at > since}


def _to_sent_message(draft: Draft, event: A2aSend) -> SentMessage:
    return SentMessage(event.from_agent, event.to_agent, _seconds(draft.ts), event.hop)


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()


class ResultCache:
    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By key: of equal calls at the same time the first runs, and the others wait for what it gives."""

    async def find(self, key: str, seconds: int) -> SubAgentCompleted | None:
        """The newest result under this key, if it is not older than so many seconds and still kept."""
        now = datetime.fromisoformat(self._clock.now())
        newest = Query(types=(SubAgentCompleted.type,), newest_first=True)
        async for entry in self._journal.read(newest):
            if (now - datetime.fromisoformat(entry.draft.ts)).total_seconds() > seconds:
                return None
            if isinstance(entry.event, SubAgentCompleted) and entry.event.key == key:
                with suppress(KeyError):
                    await self._journal.artifact(entry.event.artifact)
                    return entry.event
                return None
        return None
