"""A team: its members work in parallel and broadcast; the lead reads all of it, and sends them on or reports.

A cycle is one part of every member still present, then one of the lead. A part is a session of its own that goes
on with the conversation so far, and ends with a broadcast. The lead's report, or its failure, ends the team.

A member may route, and may be a team itself. Then what its destination or its lead reports is its broadcast. A team
within a team goes on from part to part: its cycles are counted on, and who has left it stays away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Cause
from folkmoot.domain.errand import Block
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.report import BROADCAST, ROUTE, Broadcast, Outcome
from folkmoot.domain.sources import Source, joined
from folkmoot.domain.spans import child_span
from folkmoot.domain.team_events import (
    TeamBroadcast,
    TeamCancelled,
    TeamCompleted,
    TeamMemberExited,
    TeamMemberFailed,
    TeamStarted,
)
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import build_brief_with
from folkmoot.orchestration.broker import LEAD, Broker
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import SessionToolset
from folkmoot.orchestration.transfer import consult_advisors, describe_failed_stage, follow_route_and_handoff
from folkmoot.session.decide import fits
from folkmoot.session.record import answer_open_calls
from folkmoot.session.state import Brief, State, folded


async def run_team(run: Run, inv: Invocation) -> Outcome:
    """The team in place of its file's own session; `inv` is what everyone in it is asked."""
    return await _Team(run, inv, inv.span).take_part(inv)


class TeamSeat(Value):
    """One agent of a team: a member with a broadcast and nothing else to end with, or the lead with a report."""

    name: str
    """Its part of the span: `member:coder`, or `lead`."""
    cause: Cause
    agent: Agent
    kit: SessionToolset
    max_turns: int
    """Over all cycles."""


class _Team:
    """Holds only what can be rebuilt by running it again over the same journal."""

    def __init__(self, run: Run, inv: Invocation, span: str, most: int | None = None) -> None:
        """`span` is the team's place, whatever part it takes; `most` are the turns of its lead at most."""
        self._run = run
        self._inv = self._request = inv
        self._span = span
        lead = self._lead_seat()
        self._lead = replace(lead, max_turns=min(lead.max_turns, most)) if most else lead
        self._members = {seat.name: seat for seat in self._member_seats()}
        self._broker = Broker(run.log, run.readings, span, list(self._members))
        self._openings: dict[str, tuple[Block, ...]] = {}
        """What each seat reads beside the request in its first part."""
        self._states: dict[str, State] = {}
        """Where each seat's conversation stands."""
        self._teams: dict[str, _Team] = {}
        """The members that are teams, by their seats."""
        self._answers: dict[str, Block] = {}
        """What was said in a seat's name in its last part, and is no part of its conversation."""
        self._first = self._at = 0
        """The first and the last cycle of this part."""

    def _member_seats(self) -> Iterator[TeamSeat]:
        run, file = self._run, self._inv.agent
        assert file.team is not None
        for name in file.team.members:
            agent = run.graph.agents[name]
            kit = run.kits.in_team(file, agent, "member", self._inv.reach.below(file))
            turns = file.team.member_max_turns or agent.tuning.max_turns
            yield TeamSeat(f"member:{agent.id}", "member", agent, kit, turns)

    def _lead_seat(self) -> TeamSeat:
        """The team's own file, or the one it names; that one reads the file's body first, as the team's brief."""
        run, agent, team = self._run, self._inv.agent, self._inv.agent.team
        assert team is not None
        if team.supervisor:
            lead = run.graph.agents[team.supervisor]
            agent = replace(lead, prompt=f"{agent.prompt}\n\n{lead.prompt}".strip())
        kit = run.kits.in_team(self._inv.agent, agent, "lead", self._inv.reach)
        return TeamSeat(LEAD, "lead", agent, kit, team.supervisor_max_turns or agent.tuning.max_turns)

    async def take_part(self, inv: Invocation) -> Outcome:
        """From what is asked now to the lead's report: all of it, for a team that is no member of another."""
        members = tuple(seat.agent.id for seat in self._members.values())
        self._inv = inv
        self._run.log.once(
            inv.place, TeamStarted(self._lead.agent.id, members, inv.parent, inv.cause, inv.title)
        )
        self._at = self._first = self._at + 1
        self._run.leads[inv.session] = self._leads_state
        try:
            await self._assemble()
            while (led := await self._cycle(self._at))[1].exit == BROADCAST:
                self._at += 1
        except asyncio.CancelledError:
            self._let_go(self._at, "the run was cancelled", "run")
            raise
        finally:
            del self._run.leads[inv.session]
        return await self._end(self._at, *led)

    @property
    def is_over(self) -> bool:
        """Whether its lead had to report for the last time."""
        return bool(self._why_last(self._at))

    @property
    def state(self) -> State:
        """Where its lead's conversation stands."""
        return self._states[LEAD]

    @property
    def spans(self) -> tuple[str, ...]:
        """Where the work of this part was done."""
        cycles = range(self._first, self._at + 1)
        return tuple(self._broker.span(name, cycle) for cycle in cycles for name in (*self._members, LEAD))

    async def _assemble(self) -> None:
        """Admit the members, and let each seat's own advisors speak before its first part."""
        if self._first > 1:
            self._openings = dict.fromkeys((*self._members, LEAD), self._inv.blocks)
            return
        for seat in self._members.values():
            place = child_span(self._span, seat.name)
            if not self._broker.called(seat.name, 1) and (limit := self._run.ledger.admit(place)):
                self._fail(seat, 1, f"budget exceeded: {limit}")
            self._run.open_budget(place, seat.agent.budget, repr(seat.agent.id))
        if self._lead.agent.file != self._inv.agent.file:
            place, lead = child_span(self._span, self._lead.name), self._lead.agent
            self._run.open_budget(place, lead.budget, repr(lead.id))
        seats = [*(self._members[name] for name in self._able(1)), self._lead]
        openings = await self._run.log.together(map(self._consult, seats))
        self._openings = {seat.name: blocks for seat, blocks in zip(seats, openings, strict=True)}

    async def _consult(self, seat: TeamSeat) -> tuple[Block, ...]:
        """The advisors of the team's own file have spoken to everybody already."""
        inv = self._inv
        if seat.agent.file == inv.agent.file:
            return inv.blocks
        asking = replace(inv, agent=seat.agent, span=child_span(self._span, seat.name))
        return (await consult_advisors(self._run, asking)).blocks

    async def _cycle(self, cycle: int) -> tuple[Invocation, Outcome]:
        """All members read what there is before the first of them speaks: who is quicker changes nothing."""
        calls = [(self._members[name], *self._call(self._members[name], cycle)) for name in self._able(cycle)]
        await self._run.log.together(self._member_speaks(cycle, *call) for call in calls)
        return await self._leads_part(cycle)

    def _able(self, cycle: int) -> list[str]:
        """The members present that have a turn left; whoever has none fails here."""
        able = []
        for name in self._broker.present(cycle):
            seat = self._members[name]
            if self._turns(seat) >= seat.max_turns:
                self._fail(seat, cycle, f"it has no turn left; its limit is {seat.max_turns}")
            elif not self._broker.refused(name, cycle):
                able.append(name)
        return able

    async def _member_speaks(self, cycle: int, seat: TeamSeat, asked: Invocation, brief: Brief) -> None:
        speak = self._team_speaks(seat, asked) if seat.agent.team else self._speak(seat, asked, brief)
        own = outcome = await speak
        if own.exit == ROUTE:
            blocks = asked.blocks if cycle == self._first else (*self._openings[seat.name], *asked.blocks)
            first = replace(asked, original=self._request.original, parts=self._request.parts, blocks=blocks)
            outcome = await follow_route_and_handoff(self._run, first, own)
        said = outcome.broadcast or self._adopt_report(seat, outcome)
        if outcome.failed:
            whole = replace(asked, span=child_span(self._span, seat.name))
            self._fail(seat, cycle, describe_failed_stage(self._run, outcome, whole))
        elif said.outcome == "failure":
            self._fail(seat, cycle, said.message)
        else:
            broadcast = self._broadcast(seat, cycle, said.message)
            broadcast = replace(broadcast, terminal=said.final, outcome=said.outcome)
            self._run.log.once(asked.place, broadcast)
            if said.final:
                self._run.log.once(asked.place, TeamMemberExited(member_id=seat.agent.id))

    async def _team_speaks(self, seat: TeamSeat, asked: Invocation) -> Outcome:
        """A part of a member that is a team: as many cycles as its lead wants."""
        if seat.name not in self._teams:
            declared, place = self._inv.agent.team, child_span(self._span, seat.name)
            most = declared.member_max_turns if declared else None
            self._teams[seat.name] = _Team(self._run, asked, place, most)
        team = self._teams[seat.name]
        outcome = await team.take_part(asked)
        self._states[seat.name] = team.state
        self._broker.elsewhere[asked.span] = team.spans
        return outcome

    def _adopt_report(self, seat: TeamSeat, outcome: Outcome) -> Broadcast:
        """A report stands for the member's broadcast; a team that is over leaves with it."""
        read = self._run.readings.within(self._broker.span(seat.name, self._at))
        self._answers[seat.name] = Block("response", outcome.report.content, outcome.agent, sources=read)
        team = self._teams.get(seat.name)
        final = team is not None and team.is_over
        return Broadcast(outcome.report.content, final=final, outcome="success" if final else "")

    async def _leads_part(self, cycle: int) -> tuple[Invocation, Outcome]:
        asked, brief = self._call(self._lead, cycle)
        if why := self._why_last(cycle):
            once = replace(brief, max_turns=brief.turns_before + 1)
            brief = brief.offering_exits_only() if self._run.behavior > 1 else once
            notice = Block("broadcast", f"### The team ends\n\n{why} Give your final report now.")
            asked = asked.with_blocks(notice)
        outcome = await self._speak(self._lead, asked, brief)
        if outcome.broadcast:
            self._run.log.once(asked.place, self._broadcast(self._lead, cycle, outcome.broadcast.message))
        return asked, outcome

    def _leads_state(self) -> State:
        """Where its conversation stands between its parts; before the first it has heard nothing."""
        lead = self._lead
        asked = self._inv.child(self._run, lead.agent, lead.cause, self._broker.span(lead.name, 1))
        return self._states.get(lead.name) or State(self._brief(lead, asked))

    def _why_last(self, cycle: int) -> str:
        """Why the lead must report in this cycle, if it must."""
        if self._broker.overflowed(cycle):
            return "A broadcast was too long for the context of somebody in the team."
        if not self._broker.present(cycle + 1):
            return "No member is left."
        return ""

    def _call(self, seat: TeamSeat, cycle: int) -> tuple[Invocation, Brief]:
        """Where the conversation stands, and what comes to it now: the request at first, then only what is new."""
        run, inv, opens = self._run, self._inv, cycle == self._first
        answered = (self._answers.pop(seat.name),) if seat.name in self._answers else ()
        asked = inv.child(run, seat.agent, seat.cause, self._broker.span(seat.name, cycle))
        reach = asked.reach
        if run.behavior > 1:  # what its conversation has read in earlier cycles
            taint = joined(reach.taint, self._broker.read_by(seat.name, cycle - 1))
            reach = replace(reach, taint=taint)
        asked = replace(
            asked,
            original=inv.original if opens else "",
            blocks=self._openings.get(seat.name, ()) if opens else answered,
            parts=inv.parts if opens else (),
            title=f"cycle {cycle} of {inv.agent.id}",
            reach=reach,
        )
        brief = self._brief(seat, asked)
        opened = folded(brief, [SessionStarted(seat.agent.file, asked.prompt(run), parts=asked.parts)])
        unread = self._broker.consume(
            asked.place, seat.name, cycle, lambda text: fits(opened, estimated_tokens(text))
        )
        asked = asked.with_blocks(*unread)
        policy = replace(brief.policy, taint=asked.taint(run) or brief.policy.taint)
        return asked, replace(brief, policy=policy)

    def _brief(self, seat: TeamSeat, asked: Invocation) -> Brief:
        """The next part of a seat's conversation."""
        run, so_far = self._run, self._states.get(seat.name)
        brief = replace(build_brief_with(run, asked, run.offering(asked, seat.kit)), max_turns=seat.max_turns)
        if so_far is None:
            return brief
        if run.behavior == 1:
            said = brief.policy.taint or (Source("what was said in its team"),)
            brief = replace(brief, policy=replace(brief.policy, taint=said))
        return replace(brief, before=answer_open_calls(so_far), turns_before=so_far.turn)

    async def _speak(self, seat: TeamSeat, asked: Invocation, brief: Brief) -> Outcome:
        outcome = await self._run.converse(asked, brief)
        self._states[seat.name] = folded(brief, self._run.log.of(asked.span))
        return outcome

    def _fail(self, seat: TeamSeat, cycle: int, reason: str) -> None:
        asked = self._inv.child(self._run, seat.agent, seat.cause, self._broker.span(seat.name, cycle))
        text = f"member {seat.agent.id} failed and is no longer in the team. Reason: {reason}"
        broadcast = replace(
            self._broadcast(seat, cycle, text), kind="failure", terminal=True, outcome="failure"
        )
        self._run.log.once(asked.place, broadcast)
        self._run.log.once(asked.place, TeamMemberFailed(member_id=seat.agent.id, reason=reason))

    def _broadcast(self, seat: TeamSeat, cycle: int, message: str) -> TeamBroadcast:
        order = self._broker.order(seat.name, cycle)
        return TeamBroadcast("update", seat.agent.id, message, self._turns(seat), order)

    def _turns(self, seat: TeamSeat) -> int:
        state = self._states.get(seat.name)
        return state.turn if state else 0

    async def _end(self, cycle: int, asked: Invocation, outcome: Outcome) -> Outcome:
        """A lead from another file has a route and a handoff of its own, which come before those of the team.

        A team within a team keeps its members for its next part, unless its lead failed."""
        ended = "failed" if outcome.failed else "has reported"
        if outcome.failed or self._span == self._inv.span:
            self._let_go(cycle, f"the lead {self._lead.agent.id} {ended}", "lead")
        if self._lead.agent.file != self._inv.agent.file:
            own = self._request
            first = replace(asked, original=own.original, blocks=self._inv.blocks, parts=own.parts)
            outcome = await follow_route_and_handoff(self._run, first, outcome)
        self._run.log.once(self._inv.place, TeamCompleted(outcome=outcome))
        return outcome

    def _let_go(self, cycle: int, reason: str, by: Literal["run", "lead"]) -> None:
        members = tuple(self._members[name].agent.id for name in self._broker.present(cycle + 1))
        if members:
            self._run.log.once(self._inv.place, TeamCancelled(members, reason, by))
