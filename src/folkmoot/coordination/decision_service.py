"""The decisions of a project, and each in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from folkmoot.coordination.decisions import abstained_for, commented, committed, counted, due, proposed, voted
from folkmoot.coordination.record_store import RUNTIME, Author, RecordStore
from folkmoot.domain.agent import Graph
from folkmoot.domain.decision import STATUSES, Decision, Proposal
from folkmoot.domain.entry import Event
from folkmoot.domain.records import DECISION
from folkmoot.domain.text import one_line
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery


def brief(decision: Decision, now: str) -> str:
    """What it is about, what was said, and how it stands."""
    count = counted(decision)
    lines = [
        f"{decision.id} ({decision.status}): {one_line(decision.topic)}",
        "options, with the votes for each:",
    ]
    lines += [
        f"- {option.id} ({count.counts[option.id]}): {one_line(option.text)}".removesuffix(": ")
        for option in decision.options
    ]
    lines += [f"evidence: {one_line(each)}" for each in decision.evidence]
    lines += [f"{comment.by} says: {one_line(comment.text)}" for comment in decision.comments]
    apart = {"abstained": count.abstained, "not yet voted": count.missing}
    lines += [f"{name}: {', '.join(who)}" for name, who in apart.items() if who]
    return "\n".join([*lines, standing(decision, now)])


def standing(decision: Decision, now: str) -> str:
    """How far it is, in a sentence that says what can be done next."""
    count = counted(decision)
    if decision.status == "committed":
        by = {"vote": "by the votes", "tie_break": f"{decision.tie_break_by} broke the tie"}
        how = by.get(decision.how or "", f"{decision.committed_by} decided, because the votes did not")
        return f"decided: {decision.committed_option} ({how})"
    if count.winner:
        return f"the rule {decision.rule} is met: {count.winner} can be committed"
    if decision.status == "escalated" or count.is_complete or decision.is_over(now):
        return "the votes do not decide: the lead must, or a person"
    until = f" until {decision.until}" if decision.until else ""
    return f"the rule {decision.rule} is not met; votes are taken{until}"


_UNDECIDED = tuple(status for status in STATUSES if status != "committed")


class Decisions(RecordStore[Decision]):
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        super().__init__(DECISION, journal, clock)
        self._clock = clock
        self._agents = {agent.id for agent in graph.agents.values()}
        self._leads = {agent.id for agent in graph.agents.values() if agent.role == "lead"}

    def work_session_of(self, record: Decision) -> str:
        return record.work_session

    async def undecided(self) -> list[Decision]:
        return list((await self.select(RecordQuery(statuses=_UNDECIDED))).values())

    def brief(self, decision: Decision) -> str:
        """In words, as it stands now."""
        return brief(decision, self._clock.now())

    async def meant(self, work_session: str) -> str:
        """The one decision that is open in a work session."""
        undecided = [each.id for each in await self.undecided() if each.work_session == work_session]
        if len(undecided) != 1:
            raise WrongUse(f"name a decision; open here are {', '.join(undecided) or 'none'}")
        return undecided[0]

    async def propose(self, author: Author, proposal: Proposal, chance: str) -> Decision:
        """`chance` names a decision that no call of an agent proposes."""
        self._check(author)
        placed = replace(proposal, work_session=proposal.work_session or author.work_session)
        id = author.new_id(DECISION.prefix, chance)
        return await self.write(id, author, lambda record: proposed(record, id, placed), placed.work_session)

    async def comment(self, id: str, author: Author, text: str, references: Sequence[str] = ()) -> Decision:
        return await self._decide(id, author, lambda decision: commented(decision, text, tuple(references)))

    async def vote(self, id: str, author: Author, option: str, reason: str = "") -> Decision:
        """`option` is an option's id, or `abstain`."""
        return await self._decide(
            id, author, lambda decision: voted(decision, author.name, option, reason, self._clock.now())
        )

    async def abstain_for(self, id: str, voter: str, reason: str) -> Decision:
        """The runtime's word for somebody whose run failed, unless it has voted."""
        return await self.update(
            id, Author(RUNTIME), lambda decision: abstained_for(decision, voter, reason, self._clock.now())
        )

    async def commit(self, id: str, author: Author, option: str = "", rationale: str = "") -> Decision:
        def decide(decision: Decision) -> Sequence[Event]:
            return committed(decision, author, option, rationale, self._clock.now(), self._leads)

        return await self._decide(id, author, decide)

    async def settle(self, id: str) -> Decision:
        """Let happen what is due."""
        return await self.update(id, Author(RUNTIME), lambda decision: due(decision, self._clock.now()))

    async def settle_overdue(self) -> list[Decision]:
        """What became of all on which something was due."""
        now = self._clock.now()
        return [await self.settle(each.id) for each in await self.undecided() if due(each, now)]

    async def _decide(
        self, id: str, author: Author, decide: Callable[[Decision], Sequence[Event]]
    ) -> Decision:
        self._check(author)
        return await self.update(id, author, decide)

    def _check(self, author: Author) -> None:
        """Nobody speaks for an agent."""
        if not author.is_agent and author.name in self._agents:
            raise WrongUse(f"{author.name!r} is an agent, and speaks through its own calls; use another name")
