"""All decisions of a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.decisions.brief import brief
from folkmoot.coordination.decisions.committing import Choice, committed, due, overdue
from folkmoot.coordination.decisions.proposing import proposed
from folkmoot.coordination.decisions.voting import abstained_for, commented, voted
from folkmoot.coordination.keeping import Keeper
from folkmoot.domain.agent import Graph
from folkmoot.domain.decision import STATUSES, Decision, Proposal
from folkmoot.domain.entry import Event
from folkmoot.domain.records import DECISION
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery

_UNDECIDED = tuple(status for status in STATUSES if status != "committed")


class Decisions:
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.keeper = Keeper(DECISION, journal, clock)
        self._clock = clock
        self._agents = {agent.id for agent in graph.agents.values()}
        self._leads = {agent.id for agent in graph.agents.values() if agent.role == "lead"}
        self.get = self.keeper.get

    async def all(self) -> list[Decision]:
        """The oldest first."""
        return list((await self.keeper.all()).values())

    async def undecided(self) -> list[Decision]:
        return list((await self.keeper.select(RecordQuery(statuses=_UNDECIDED))).values())

    def brief(self, decision: Decision) -> str:
        """In words, as it stands now."""
        return brief(decision, self._clock.now())

    async def meant(self, id: str, work_session: str) -> str:
        """The decision that is named; without a name, the one that is open in a work session."""
        if id:
            return id
        undecided = [each.id for each in await self.undecided() if each.work_session == work_session]
        if len(undecided) != 1:
            raise WrongUse(f"name a decision; open here are {', '.join(undecided) or 'none'}")
        return undecided[0]

    async def propose(self, author: Author, proposal: Proposal, chance: str) -> Decision:
        """`chance` names a decision that no call of an agent proposes."""
        self._check(author)
        placed = replace(proposal, work_session=proposal.work_session or author.work_session)
        id = author.new_id(DECISION.prefix, chance)
        return await self.keeper.change(
            id, author, lambda record: proposed(record, id, placed), placed.work_session
        )

    async def comment(self, id: str, author: Author, text: str, references: Sequence[str] = ()) -> Decision:
        return await self._change(id, author, lambda decision: commented(decision, text, tuple(references)))

    async def vote(self, id: str, author: Author, option: str, reason: str = "") -> Decision:
        """`option` is an option's id, or `abstain`."""
        return await self._change(
            id, author, lambda decision: voted(decision, author.name, option, reason, self._clock.now())
        )

    async def abstain_for(self, id: str, voter: str, reason: str) -> Decision:
        """The runtime's word for somebody whose run failed, unless it has voted."""
        return await self._change(
            id,
            Author(RUNTIME),
            lambda decision: abstained_for(decision, voter, reason, self._clock.now()),
        )

    async def commit(self, id: str, author: Author, choice: Choice = Choice()) -> Decision:
        return await self._change(
            id, author, lambda decision: committed(decision, author, choice, self._clock.now(), self._leads)
        )

    async def settle(self, id: str) -> Decision:
        """Let happen what is due."""
        return await self._change(id, Author(RUNTIME), self._due)

    async def settle_overdue(self) -> list[Decision]:
        """What became of all on which something was due."""
        return [await self.settle(each.id) for each in overdue(await self.undecided(), self._clock.now())]

    def _due(self, decision: Decision) -> Sequence[Event]:
        event = due(decision, self._clock.now())
        return [event] if event else []

    async def _change(
        self, id: str, author: Author, decide: Callable[[Decision], Sequence[Event]]
    ) -> Decision:
        self._check(author)
        work_session = (await self.get(id)).work_session

        def decided(record: Decision | None) -> Sequence[Event]:
            assert record is not None, "records are never removed"
            return decide(record)

        return await self.keeper.change(id, author, decided, work_session)

    def _check(self, author: Author) -> None:
        """Nobody speaks for an agent."""
        if not author.is_agent and author.name in self._agents:
            raise WrongUse(f"{author.name!r} is an agent, and speaks through its own calls; use another name")
