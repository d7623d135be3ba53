"""The desk for work sessions: opens them, and performs what is decided about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.keeping import Decide, Keeper
from folkmoot.coordination.work_sessions import decide
from folkmoot.coordination.work_sessions.forming import Seat, compose, narrowed, refusal
from folkmoot.coordination.work_sessions.joining import constraints_of, continued, is_archived, require_going
from folkmoot.domain.agent import Graph
from folkmoot.domain.errand import Errand, own_work_session
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import (
    Action,
    ArtifactKind,
    Policy,
    Roster,
    SnapshotCreated,
    SnapshotReason,
    WorkSession,
    WorkSessionArtifactAdded,
    WorkSessionOpened,
    WorkSessionRefused,
)
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal


class Milestone(Value):
    """What a snapshot is taken for."""

    reason: SnapshotReason
    plan: str = ""
    step: str = ""
    state: Mapping[str, Any] = {}
    """Whatever else shall be kept with it; a different one is another snapshot."""
    runs: tuple[str, ...] = ()
    """Those that led to it; their op trees are in the journal."""
    validation: str = ""
    """What a check of it said."""


class WorkSessions:
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self._journal = journal
        self._clock = clock
        self._graph = graph
        self.keeper: Keeper[WorkSession] = Keeper(WORK_SESSION, journal, clock)
        self.get = self.keeper.get
        """Refuses also one that began with a plain run and of which nobody said anything yet."""
        self.find = self.keeper.look_up
        self.all = self.keeper.all

    async def open(
        self,
        opening: WorkSessionOpened,
        author: Author = Author(),
        *,
        chance: str = "",
        team: Roster | None = None,
    ) -> WorkSession:
        """`chance` is drawn by whoever makes no call."""
        if not author.is_agent and not chance:
            raise WrongUse("a work session that no call opens needs a `chance`, from which its id is made")
        id = own_work_session(author.new_id("", chance))
        return await self.change(id, decide.opened(opening, team), author)

    async def change(self, id: str, decided: Decide[WorkSession], author: Author = Author()) -> WorkSession:
        """`decided` is one of `work_sessions.decide`: `becoming("Planning")`, `paused()`, `completed("…")`, …"""
        if not id.startswith(WORK_SESSION.prefix):
            raise WrongUse(f"{id!r} is no id of a work session: they begin with {WORK_SESSION.prefix}")
        return await self.keeper.change(id, author, decided, work_session=id)

    async def form(
        self, id: str, wanted: Sequence[Seat], author: Author = Author(), name: str = ""
    ) -> WorkSession:
        """Put a team together from the agents of the project. Raises `WrongUse` if nobody fits a seat."""
        team = compose([self._canonical(seat) for seat in wanted], self._graph.agents.values(), name)
        return await self.change(id, decide.formed(replace(team, id=f"team_{id}")), author)

    def _canonical(self, seat: Seat) -> Seat:
        """With tools of ours by their own names."""
        if seat.policy.tools is None:
            return seat
        tools = tuple(map(self._graph.tool_name, seat.policy.tools))
        return replace(seat, policy=replace(seat.policy, tools=tools))

    async def add_artifact(
        self, id: str, kind: ArtifactKind, title: str, content: bytes, author: Author = Author()
    ) -> WorkSession:
        """The same one counts once."""
        added = WorkSessionArtifactAdded(self._journal.keep(content), kind, title)
        return await self.change(id, decide.added(added), author)

    async def snapshot(self, id: str, milestone: Milestone) -> WorkSession:
        """Keep how things stand, for good; the same milestone in the same state counts once."""
        record = await self.get(id)
        about = msgspec.to_builtins(milestone)
        name = "snap_" + sha256(msgspec.json.encode((id, about), order="deterministic")).hexdigest()[:20]
        kept = {
            "snapshotId": name,
            "workSessionId": id,
            **about,
            "workSession": replace(record, snapshots=()),
        }
        taken = SnapshotCreated(
            name,
            self._journal.keep(msgspec.json.encode(kept)),
            agent_role="",
            plan=milestone.plan,
            reason=milestone.reason,
            step=milestone.step,
        )
        return await self.change(id, decide.taken(taken), Author(RUNTIME))

    async def require(self, id: str, agent: str, action: Action, author: Author = Author(RUNTIME)) -> None:
        """Raises `WrongUse` if the team of this work session does not let an agent do this; that is recorded."""
        record = await self.find(id)
        if record and (why := refusal(record, agent, action)):
            refused = WorkSessionRefused(agent, action, why)
            await self.change(id, lambda _: (refused,), author)
            raise WrongUse(why)

    async def join(self, errand: Errand, agent: str, request: str) -> Errand:
        """The errand of a run that is about to start, for the work session that takes it: one that is archived is gone
        on with in another, always the same.

        Raises `WrongUse` for one that is paused or over, and if the team does not let the agent do it.
        """
        id = errand.work_session
        record = await self.find(id)
        while await is_archived(self._journal, id, self._clock.now()):
            team = record.team if record else None
            record = await self.open(continued(id, record, request), chance=f"after {id}", team=team)
            id = record.id
        if record is None:
            return errand
        require_going(record)
        if errand.step or errand.task:
            await self.require(record.id, agent, "execute")
        policy = narrowed(errand.policy, await self.policy(record.id, agent))
        blocks = (*constraints_of(record), *errand.blocks)
        return replace(errand, work_session=record.id, policy=policy, blocks=blocks)

    async def policy(self, id: str, agent: str) -> Policy:
        """What its team lets an agent do in a work session."""
        record = await self.find(id)
        member = record.team.member(agent) if record and record.team else None
        return member.policy if member else Policy()
