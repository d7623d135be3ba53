"""What a team has said, and who has read what of it. A view of the journal: nothing is kept here.

Everyone reads each broadcast of the others once, in the order of the transcript; prompts grow by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Block
from folkmoot.domain.sources import Sources
from folkmoot.domain.spans import child_span
from folkmoot.domain.team_events import TeamBroadcast, TeamCalled
from folkmoot.orchestration.history import ReadSources
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.stamp import summarize_work

LEAD = "lead"


class Broker:
    def __init__(self, log: RunLog, readings: ReadSources, team: str, members: Sequence[str]) -> None:
        """`team` is the team's span; `members` are the names of their seats, such as `member:coder`."""
        self._log = log
        self._readings = readings
        self._team = team
        self._members = members
        self._seats = (*members, LEAD)
        self.elsewhere: dict[str, tuple[str, ...]] = {}
        """Where else the work of a part was done, by its span: a member that is a team has sessions beside it."""

    def span(self, seat: str, cycle: int) -> str:
        return child_span(child_span(self._team, seat), "cycle", cycle)

    def order(self, seat: str, cycle: int) -> int:
        """Known before anybody speaks, so that it does not depend on who is quicker."""
        return (cycle - 1) * len(self._seats) + self._seats.index(seat) + 1

    def consume(self, place: Place, seat: str, cycle: int, fits: Callable[[str], bool]) -> list[Block]:
        """The broadcasts that a seat has not read yet, as it reads them now; from here on they are read."""
        called = self.called(seat, cycle)
        if called is None:
            called = self._call(place.agent, seat, cycle, fits)
            self._log.note(place, called)
        return [
            _render_dropped(said, place.agent)
            if said.order in called.dropped
            else replace(
                _render_broadcast(said),
                runtime=self._stamp(sender, said),
                sources=self.read_by(sender, self._cycle(said)),
            )
            for sender, said in self.transcript()
            if said.order in called.reads
        ]

    def called(self, seat: str, cycle: int) -> TeamCalled | None:
        return next((event for event in self._past(seat, cycle) if isinstance(event, TeamCalled)), None)

    def refused(self, seat: str, cycle: int) -> bool:
        """Whether a member is gone in this very cycle, before it was called."""
        return any(isinstance(event, TeamBroadcast) for event in self._past(seat, cycle)[:1])

    def transcript(self) -> Iterator[tuple[str, TeamBroadcast]]:
        """Every broadcast with the seat it came from, in order."""
        for cycle in count(1):
            past = [(seat, self._past(seat, cycle)) for seat in self._seats]
            if not any(events for _, events in past):
                return
            for seat, events in past:
                yield from ((seat, event) for event in events if isinstance(event, TeamBroadcast))

    def present(self, cycle: int) -> list[str]:
        """The members that take part in a cycle: none of them has left in an earlier one."""
        gone = {seat for seat, said in self.transcript() if said.terminal and self._cycle(said) < cycle}
        return [seat for seat in self._members if seat not in gone]

    def overflowed(self, cycle: int) -> bool:
        """Whether somebody's context was too small for what it should have read, up to this cycle."""
        return any(called.dropped for seat in self._seats for called in self._calls(seat, cycle))

    def _call(self, name: str, seat: str, cycle: int, fits: Callable[[str], bool]) -> TeamCalled:
        read = {order for called in self._calls(seat, cycle - 1) for order in called.reads}
        unread = [said for sender, said in self.transcript() if sender != seat and said.order not in read]
        dropped, text = [], ""
        for said in unread:
            longer = text + _render_broadcast(said).text
            if fits(longer):
                text = longer
            else:
                dropped.append(said.order)
                text += _render_dropped(said, name).text
        reads = tuple(said.order for said in unread)
        return TeamCalled(member_id=name, cycle=cycle, reads=reads, dropped=tuple(dropped))

    def _calls(self, seat: str, up_to: int) -> Iterator[TeamCalled]:
        return (called for cycle in range(1, up_to + 1) if (called := self.called(seat, cycle)))

    def read_by(self, seat: str, cycle: int) -> Sources:
        """What somebody has read up to this cycle."""
        parts = [self.span(seat, each) for each in range(1, cycle + 1)]
        return self._readings.within(
            *parts, *(span for part in parts for span in self.elsewhere.get(part, ()))
        )

    def _cycle(self, said: TeamBroadcast) -> int:
        return (said.order - 1) // len(self._seats) + 1

    def _stamp(self, seat: str, said: TeamBroadcast) -> str:
        """Of a member's part that ended with this; what the lead says is no account of work."""
        if seat == LEAD or said.kind == "failure":
            return ""
        part = self.span(seat, self._cycle(said))
        return str(summarize_work(self._log, part, *self.elsewhere.get(part, ())))

    def _past(self, seat: str, cycle: int) -> Sequence[Event]:
        return self._log.of(self.span(seat, cycle))


def _render_broadcast(said: TeamBroadcast) -> Block:
    left = said.terminal and said.kind == "update"
    notice = f"\n\n{said.member_id} has left the team and can no longer be reached." if left else ""
    text = f"### {said.member_id}: {said.kind} {said.order}\n\n{said.message}{notice}"
    return Block("broadcast", text, said.member_id)


def _render_dropped(said: TeamBroadcast, reader: str) -> Block:
    text = (
        f"### {said.member_id}: {said.kind} {said.order}\n\nThis broadcast of {len(said.message)} characters was "
        f"dropped: it would overflow the context of {reader}."
    )
    return Block("broadcast", text, said.member_id)
