"""Operations that look at agents: which there are, what each is and may call, how it stands, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph, Member, MemberRole, find_agent
from folkmoot.domain.duration import moment
from folkmoot.domain.message import ToolCall
from folkmoot.domain.naming import wire_name
from folkmoot.domain.run_row import SpendSum
from folkmoot.engine.admission import build_agent_document, build_agent_summary, to_full_dict
from folkmoot.errors import BAD_VALUE, NotFound, WrongUse
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling, Text
from folkmoot.operations.project import OpenProject
from folkmoot.orchestration.briefs import Explanation, explain
from folkmoot.ports import SpendQuery
from folkmoot.views.costs import By, Cost, Totals, costs, totals
from folkmoot.views.team import team_document

AgentName = Annotated[str, Spelling(terminal="AGENT", http=False, help="Its file, or its id.")]
_OF_FIRST, _OF_THIS = "$response.body#/0/id", "$response.body#/id"


class AgentSummary(msgspec.Struct):
    id: str
    type: str
    capabilities: list[str]
    tools: list[str]
    status: str
    file: str
    description: str
    terminal: bool


@dataclass(frozen=True)
class AgentOfGraph:
    graph: Graph
    agent: Agent


class ListAgents(Operation[list[AgentOfGraph]]):
    """List the agents of the project."""

    command = "list"
    examples = ("folkmoot agents list", "folkmoot agents list --json")
    http = Http(
        method="GET",
        path="/agents",
        answer=list[AgentSummary],
        links=dict.fromkeys(("showAgent", "agentTasks", "currentTask"), _OF_FIRST),
    )
    reads = True
    of_files = True

    async def run(self, project: OpenProject, actor: Actor) -> list[AgentOfGraph]:
        return [AgentOfGraph(project.graph, agent) for agent in project.graph.agents.values()]

    def document(self, output: list[AgentOfGraph]) -> list[dict[str, Any]]:
        return [build_agent_summary(each.graph, each.agent) for each in output]


class ShowAgent(Operation[AgentOfGraph]):
    """Show one agent: whom it works with, its tools and models, its limits, and what it can cost at most."""

    command = "show"
    examples = ("folkmoot agents show front-desk", "folkmoot agents show legal/counsel.ai --json")
    http = Http(
        method="GET",
        path="/agents/{id}",
        links=dict.fromkeys(("agentTasks", "taskHistory", "agentPlans"), _OF_THIS),
    )
    subject = "agent"
    reads = True
    of_files = True
    agent: AgentName

    async def run(self, project: OpenProject, actor: Actor) -> AgentOfGraph:
        return AgentOfGraph(project.graph, find_agent(project.graph, self.agent))

    def document(self, output: AgentOfGraph) -> dict[str, Any]:
        return build_agent_document(output.graph, output.agent)


class ShowAgentInfo(ShowAgent):
    """`showAgent` under its older name."""

    command = ""
    http = Http(method="GET", path="/agents/{id}/info", name="agentInfo")


class ExplainAgent(Operation[Explanation]):
    """Explain what an agent may call, and why: its tools, the rules about them, and when a call asks first."""

    command = "explain"
    examples = (
        "folkmoot explain front-desk",
        "folkmoot explain clerk till.refund",
        """folkmoot explain clerk files.write --args '{"path": ".env", "content": "x"}'""",
    )
    http = Http(method="GET", path="/agents/{id}/explain")
    subject = "agent"
    reads = True
    of_files = True
    agent: AgentName
    tool_name: Annotated[str, Spelling(terminal="[TOOL]")] = msgspec.field(default="", name="tool")
    """One of its tools, as agent files name it."""
    arguments: Annotated[dict[str, Any] | None, Spelling(terminal=None, http=False)] = None

    async def run(self, project: OpenProject, actor: Actor) -> Explanation:
        if self.arguments is not None and not self.tool_name:
            raise WrongUse("`--args` goes with TOOL: the call to judge", code=BAD_VALUE)
        agent = find_agent(project.graph, self.agent)
        call = None if self.arguments is None else ToolCall("", wire_name(self.tool_name), self.arguments)
        explained = explain(project.graph, project.host.tools(), agent, self.tool_name, call)
        if self.tool_name and not explained.tools:
            remedy = f"`folkmoot explain {self.agent}` lists what it has"
            raise NotFound(f"{agent.file} has no tool {self.tool_name!r}; {remedy}", code="tool_not_found")
        return explained

    def exit_code(self, output: Explanation) -> int:
        return {"ask": 6, "refuse": 1}.get(output.decision or "", 0)


class JudgeCall(Operation[Explanation]):
    """What the gate would say to a call.

    The `decision` on that very call, in a session that has read nothing yet. Nothing is called, nor recorded.
    """

    http = Http(method="POST", path="/agents/{id}/explain", by=False)
    subject = "agent"
    reads = True
    agent: AgentName
    tool_name: Text = msgspec.field(name="tool")
    """As agent files name it."""
    arguments: dict[str, Any] = {}

    async def run(self, project: OpenProject, actor: Actor) -> Explanation:
        wanted = ExplainAgent(agent=self.agent, tool_name=self.tool_name, arguments=self.arguments)
        return await wanted.run(project, actor)


class AgentState(msgspec.Struct, rename="camel"):
    id: str
    status: str
    """`active` while it takes part in a run that goes on; `interrupted` if that stopped in the middle."""
    role: MemberRole
    current_task_id: str | None
    last_heartbeat: str | None
    """When it last did something."""


class TeamState(msgspec.Struct, rename="camel"):
    agents: list[AgentState]


class ShowTeam(Operation[list[Member]]):
    """Show how each agent stands: its role, its current task, when it last gave a sign of life, what went wrong.

    An agent is active while somebody goes on with a run in which it works; interrupted if its run was cut off, or its
    last task was given up; otherwise idle.
    """

    command = "team"
    examples = ("folkmoot team", "folkmoot team --json", "folkmoot team --live")
    http = Http(method="GET", path="/team-state", name="teamState", pages="", answer=TeamState)
    reads = True
    reads_files = True

    async def run(self, project: OpenProject, actor: Actor) -> list[Member]:
        tasks, _ = await project.tasks.readable()
        return await project.team.members(tasks)

    def document(self, output: list[Member]) -> TeamState:
        return TeamState(
            [
                AgentState(
                    each.agent_id,
                    each.status,
                    each.role,
                    each.current_task_id or None,
                    each.last_heartbeat or None,
                )
                for each in output
            ]
        )

    def terminal_document(self, output: list[Member]) -> dict[str, Any]:
        """As the file `team-state.json` has it."""
        return team_document(output)


class BudgetRow(msgspec.Struct):
    id: str
    """The agent."""
    budget: dict[str, Any]
    """Of one invocation and all it starts; what is null is not limited."""


class Costs(msgspec.Struct):
    by: By
    rows: list[Cost]
    totals: Totals
    budgets: list[BudgetRow]


class ShowCosts(Operation[Costs]):
    """What models have cost, and what agents may spend."""

    http = Http(method="GET", path="/costs")
    reads = True
    by: By = "agent"
    """What there is a row for."""
    since: str = ""
    """Not before this day or moment in UTC, or so long ago: `7d`."""
    until: str = ""
    """Before this."""

    async def run(self, project: OpenProject, actor: Actor) -> Costs:
        now, journal = project.clock.now(), project.journal
        period = SpendQuery(since=moment(self.since, now), until=moment(self.until, now))
        sums = await journal.spend(replace(period, by=self.by))
        whole_sum = await journal.spend(period) or [SpendSum("")]
        budgets = [BudgetRow(agent.id, to_full_dict(agent.budget)) for agent in project.graph.agents.values()]
        return Costs(self.by, costs(sums, self.by), totals(whole_sum[0]), budgets)


OPERATIONS: tuple[OperationType, ...] = (ListAgents, ShowAgent, ShowAgentInfo, ExplainAgent, JudgeCall)
TEAM: tuple[OperationType, ...] = (ShowTeam, ShowCosts)
