"""The tools with which agents decide together. Who votes is the agent of the call, never an argument."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from folkmoot.coordination.author import calling
from folkmoot.coordination.decisions.committing import Choice
from folkmoot.coordination.decisions.desk import Decisions
from folkmoot.coordination.decisions.proposing import read_rule
from folkmoot.coordination.moot import Moot
from folkmoot.domain.decision import WINDOW, Decision, Option, Proposal, Voter
from folkmoot.domain.message import ToolResult
from folkmoot.ports import Site
from folkmoot.tools.functions import FunctionTool


class DecisionTools:
    def __init__(self, moot: Callable[[], Moot]) -> None:
        self._moot = moot

    @property
    def _decisions(self) -> Decisions:
        return self._moot().decisions

    async def _told(self, change: Awaitable[Decision]) -> ToolResult:
        decision = await change
        return ToolResult(
            self._decisions.brief(decision), sources=await self._decisions.sources([decision.id])
        )

    async def _meant(self, site: Site, decision: str) -> str:
        return await self._decisions.meant(decision, site.work_session)

    async def decision_propose(  # noqa: PLR0913  # because a model gives each as an argument
        self,
        site: Site,
        topic: str,
        options: tuple[Option, ...],
        participants: tuple[Voter, ...],
        evidence: tuple[str, ...] = (),
        rule: str = "majority",
        window: float = WINDOW,
    ) -> ToolResult:
        """Put a choice to the vote. Participants are agents by id, or people by name, each with a weight from 1.
        The rule is `majority`, `unanimous`, `quorum:2` or `quorum:50%`; the window is in seconds, 0 without end."""
        proposal = Proposal(topic, options, participants, read_rule(rule), window, evidence)
        return await self._told(self._decisions.propose(calling(site), proposal, ""))

    async def decision_comment(
        self,
        site: Site,
        decision: str,
        text: str,
        references: tuple[str, ...] = (),
    ) -> ToolResult:
        """Say something about a decision before it is made; `references` are ids or addresses of what you mean."""
        return await self._told(self._decisions.comment(decision, calling(site), text, references))

    async def decision_vote(
        self, site: Site, option: str, decision: str = "", reason: str = ""
    ) -> ToolResult:
        """Vote for an option by its id, or `abstain`; without `decision`, on the one that is open here.

        You may vote again until it is decided: the last vote counts.
        """
        return await self._told(
            self._decisions.vote(await self._meant(site, decision), calling(site), option, reason)
        )

    async def decision_commit(
        self, site: Site, option: str = "", decision: str = "", rationale: str = ""
    ) -> ToolResult:
        """Make a decision that the votes have decided. Where they do not, the lead names the option."""
        choice = Choice(option, rationale)
        return await self._told(
            self._decisions.commit(await self._meant(site, decision), calling(site), choice)
        )


def decision_tools(moot: Callable[[], Moot]) -> dict[str, FunctionTool]:
    tools = DecisionTools(moot)
    functions = (tools.decision_propose, tools.decision_comment, tools.decision_vote, tools.decision_commit)
    return {function.__name__: FunctionTool(function, "keyed", "read") for function in functions}
