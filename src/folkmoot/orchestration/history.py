"""What is recorded of one run, and the questions that are asked of it."""

from __future__ import annotations

from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    RunBound,
    RunForked,
    RunParked,
    RunRepinned,
    RunStarted,
    SessionStarted,
)


class RunHistory(list[Draft]):
    """The entries of a run in their order, from its beginning.

    `RunHistory(drafts).is_over`; the log of a run that is under way has one that grows.
    """

    @property
    def started(self) -> RunStarted:
        event = self[0].event
        assert isinstance(event, RunStarted), "a run that was not pruned begins with its start"
        return event

    @property
    def last(self) -> Event:
        return self[-1].event

    @property
    def is_over(self) -> bool:
        return isinstance(self.last, RUN_ENDS)

    @property
    def is_parked(self) -> bool:
        return isinstance(self.last, RunParked)

    @property
    def is_forked(self) -> bool:
        """Whether it began as another run did."""
        return self.has(RunForked)

    @property
    def pins(self) -> list[RunStarted | RunRepinned]:
        """What the run was pinned to, the present pin last."""
        return [draft.event for draft in self if isinstance(draft.event, RunStarted | RunRepinned)]

    @property
    def label(self) -> str:
        """Of the place where the run's working folder is; empty if it has used none."""
        return next((draft.event.label for draft in self if isinstance(draft.event, RunBound)), "")

    @property
    def ended_sessions(self) -> set[str]:
        return {draft.session_id for draft in self if isinstance(draft.event, SESSION_ENDS)}

    @property
    def open_sessions(self) -> list[Draft]:
        """The beginnings of those that have not ended."""
        ended = self.ended_sessions
        begun = (draft for draft in self if isinstance(draft.event, SessionStarted))
        return [draft for draft in begun if draft.session_id not in ended]

    def has(self, *events: type[Event]) -> bool:
        return any(isinstance(draft.event, events) for draft in self)
