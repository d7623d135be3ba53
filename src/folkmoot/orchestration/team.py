"""A team: its members work in parallel and broadcast; the lead reads all of it, and sends them on or reports.

A cycle is one part of every member still present, then one of the lead. A part is a session of its own that goes
on with the conversation so far, and ends with a broadcast. The lead's report, or its failure, ends the team.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from folkmoot.domain.errand import Block
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.report import BROADCAST, Outcome
from folkmoot.domain.team_events import (
    TeamBroadcast,
    TeamCancelled,
    TeamCompleted,
    TeamMemberExited,
    TeamMemberFailed,
    TeamStarted,
)
from folkmoot.domain.text import estimated_tokens
from folkmoot.orchestration.advisors import consult
from folkmoot.orchestration.broker import Broker
from folkmoot.orchestration.invocation import Converse, Invocation, Run, Start
from folkmoot.orchestration.seats import Seat, brief_of, lead_of, members_of
from folkmoot.orchestration.transfer import carry_on
from folkmoot.session.ask import fits
from folkmoot.session.state import Brief, State, folded


async def run_team(run: Run, inv: Invocation, start: Start, converse: Converse) -> Outcome:
    """The team in place of its file's own session; `inv` is what everyone in it is asked."""
    return await _Team(run, inv, start, converse).to_its_end()


class _Team:
    """Holds only what can be rebuilt by running it again over the same journal."""

    def __init__(self, run: Run, inv: Invocation, start: Start, converse: Converse) -> None:
        self._run = run
        self._inv = inv
        self._start = start
        self._converse = converse
        self._lead = lead_of(run, inv.agent, inv.reach)
        self._members = {seat.name: seat for seat in members_of(run, inv.agent, inv.reach)}
        self._broker = Broker(run.log, inv.span, list(self._members))
        self._openings: dict[str, tuple[Block, ...]] = {}
        """What each seat reads beside the request in its first part."""
        self._states: dict[str, State] = {}
        """Where each seat's conversation stands."""

    async def to_its_end(self) -> Outcome:
        inv, members = self._inv, tuple(seat.agent.id for seat in self._members.values())
        self._run.log.once(
            inv.place, TeamStarted(self._lead.agent.id, members, inv.parent, inv.cause, inv.title)
        )
        cycle = 1
        self._run.leads[inv.session] = self._leads_state
        try:
            await self._assemble()
            while (led := await self._cycle(cycle))[1].exit == BROADCAST:
                cycle += 1
        except asyncio.CancelledError:
            self._let_go(cycle, "the run was cancelled")
            raise
        finally:
            del self._run.leads[inv.session]
        return await self._end(cycle, *led)

    async def _assemble(self) -> None:
        """Admit the members, and let each seat's own advisors speak before its first part."""
        for seat in self._members.values():
            place = f"{self._inv.span}/{seat.name}"
            if not self._broker.called(seat.name, 1) and (limit := self._run.ledger.admit(place)):
                self._fail(seat, 1, f"budget exceeded: {limit}")
            self._run.open_budget(place, seat.agent.budget, repr(seat.agent.id))
        if self._lead.agent.file != self._inv.agent.file:
            place, lead = f"{self._inv.span}/{self._lead.name}", self._lead.agent
            self._run.open_budget(place, lead.budget, repr(lead.id))
        seats = [*(self._members[name] for name in self._able(1)), self._lead]
        openings = await self._run.log.together(map(self._consult, seats))
        self._openings = {seat.name: blocks for seat, blocks in zip(seats, openings, strict=True)}

    async def _consult(self, seat: Seat) -> tuple[Block, ...]:
        """The advisors of the team's own file have spoken to everybody already."""
        inv = self._inv
        if seat.agent.file == inv.agent.file:
            return inv.blocks
        asking = replace(inv, agent=seat.agent, span=f"{inv.span}/{seat.name}")
        return (await consult(self._run, asking, self._start)).blocks

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

    async def _member_speaks(self, cycle: int, seat: Seat, asked: Invocation, brief: Brief) -> None:
        outcome = await self._speak(seat, asked, brief)
        said = outcome.broadcast
        if outcome.failed or said is None:
            self._fail(seat, cycle, outcome.error)
        elif said.outcome == "failure":
            self._fail(seat, cycle, said.message)
        else:
            broadcast = self._broadcast(seat, cycle, said.message)
            broadcast = replace(broadcast, terminal=said.final, outcome=said.outcome)
            self._broker.publish(asked.place, broadcast)
            if said.final:
                self._run.log.once(asked.place, TeamMemberExited(member_id=seat.agent.id))

    async def _leads_part(self, cycle: int) -> tuple[Invocation, Outcome]:
        asked, brief = self._call(self._lead, cycle)
        if why := self._why_last(cycle):
            once = replace(brief, max_turns=brief.turns_before + 1)
            brief = brief.closed if self._run.behavior > 1 else once
            notice = Block("broadcast", f"### The team ends\n\n{why} Give your final report now.")
            asked = replace(asked, blocks=(*asked.blocks, notice))
        outcome = await self._speak(self._lead, asked, brief)
        if outcome.broadcast:
            self._broker.publish(asked.place, self._broadcast(self._lead, cycle, outcome.broadcast.message))
        return asked, outcome

    def _leads_state(self) -> State:
        """Where its conversation stands between its parts; before the first it has heard nothing."""
        lead = self._lead
        asked = self._inv.child(self._run, lead.agent, lead.cause, self._broker.span(lead.name, 1))
        return self._states.get(lead.name) or State(brief_of(self._run, lead, asked, None))

    def _why_last(self, cycle: int) -> str:
        """Why the lead must report in this cycle, if it must."""
        if self._broker.overflowed(cycle):
            return "A broadcast was too long for the context of somebody in the team."
        if not self._broker.present(cycle + 1):
            return "No member is left."
        return ""

    def _call(self, seat: Seat, cycle: int) -> tuple[Invocation, Brief]:
        """Where the conversation stands, and what comes to it now: the request at first, then only what is new."""
        run, inv = self._run, self._inv
        asked = inv.child(run, seat.agent, seat.cause, self._broker.span(seat.name, cycle))
        asked = replace(
            asked,
            original=inv.original if cycle == 1 else "",
            blocks=self._openings.get(seat.name, ()) if cycle == 1 else (),
            parts=inv.parts if cycle == 1 else (),
            title=f"cycle {cycle} of {inv.agent.id}",
        )
        brief = brief_of(run, seat, asked, self._states.get(seat.name))
        opened = folded(brief, [SessionStarted(seat.agent.file, asked.prompt(run), parts=asked.parts)])
        unread = self._broker.consume(
            asked.place, seat.name, cycle, lambda text: fits(opened, estimated_tokens(text))
        )
        asked = replace(asked, blocks=(*asked.blocks, *unread))
        policy = replace(brief.policy, taint=asked.taint or brief.policy.taint)
        return asked, replace(brief, policy=policy)

    async def _speak(self, seat: Seat, asked: Invocation, brief: Brief) -> Outcome:
        outcome = await self._converse(asked, brief)
        self._states[seat.name] = folded(brief, self._run.log.of(asked.span))
        return outcome

    def _fail(self, seat: Seat, cycle: int, reason: str) -> None:
        asked = self._inv.child(self._run, seat.agent, seat.cause, self._broker.span(seat.name, cycle))
        text = f"member {seat.agent.id} failed and is no longer in the team. Reason: {reason}"
        broadcast = replace(
            self._broadcast(seat, cycle, text), kind="failure", terminal=True, outcome="failure"
        )
        self._broker.publish(asked.place, broadcast)
        self._run.log.once(asked.place, TeamMemberFailed(member_id=seat.agent.id, reason=reason))

    def _broadcast(self, seat: Seat, cycle: int, message: str) -> TeamBroadcast:
        order = self._broker.order(seat.name, cycle)
        return TeamBroadcast("update", seat.agent.id, message, self._turns(seat), order)

    def _turns(self, seat: Seat) -> int:
        state = self._states.get(seat.name)
        return state.turn if state else 0

    async def _end(self, cycle: int, asked: Invocation, outcome: Outcome) -> Outcome:
        """A lead from another file has a route and a handoff of its own, which come before those of the team."""
        ended = "failed" if outcome.failed else "has reported"
        self._let_go(cycle, f"the lead {self._lead.agent.id} {ended}")
        if self._lead.agent.file != self._inv.agent.file:
            own = self._inv
            first = replace(asked, original=own.original, blocks=own.blocks, parts=own.parts)
            outcome = await carry_on(self._run, first, outcome, self._start)
        self._run.log.once(self._inv.place, TeamCompleted(outcome=outcome))
        return outcome

    def _let_go(self, cycle: int, reason: str) -> None:
        members = tuple(self._members[name].agent.id for name in self._broker.present(cycle + 1))
        if members:
            self._run.log.once(self._inv.place, TeamCancelled(members=members, reason=reason))
