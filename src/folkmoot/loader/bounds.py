"""The greatest number of model requests that an agent can cause, known before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from folkmoot.domain.agent import Agent, Graph, Team, Tuning
from folkmoot.domain.naming import writes
from folkmoot.domain.plan import PLAN_STEPS, PLAN_TRIES, SPAR_ROUNDS, TURNS_PER_TRY

COUNTLESS = 1_000_000_000
"""Where counting stops: nobody pays for more."""


def worst_case(graph: Graph, file: str) -> int:
    """Model requests, failed attempts included as in `budget.requests`, if `file` is run as the root.

    An agent itself makes at most `maxTurns × maxRetries`; one that works by a plan makes so many in each part of its
    work, of which there are at most `PLAN_STEPS` and a few for planning. To these come all its advisors, its costliest
    destination, its handoff, all members of its team and the lead, if that is another; and its costliest agent of
    `agents`, as often as it can be called: `maxToolCallsPerTurn` times in every turn but the last, and at most
    `limits.childrenPerParent` times. With `orchestration.enable_agent_tool` the costliest agent of the project
    may be called so often instead, down to `limits.callDepth`; an agent that writes `messages` may call it too, and
    `limits.a2aHops` come to that depth. A member of a team may route in every turn. A `budget.requests` caps what is
    below it. Time and money may end a run earlier.
    """
    called = dict.fromkeys(graph.agents, 0)
    writing = any(writes(agent.tools) for agent in graph.agents.values())
    limits = graph.settings.limits
    if writing or graph.settings.orchestration.enable_agent_tool:
        for _ in range(limits.call_depth - 1 + (limits.a2a_hops if writing else 0)):
            called = {other: _worst(graph, other, called) for other in graph.agents}
    return _capped(_worst(graph, file, called), graph.settings.budget.requests)


def _worst(graph: Graph, file: str, called: Mapping[str, int]) -> int:
    """`called` is the most that a call of each agent of the project costs."""
    worst: dict[str, int] = {}
    waiting = [file]
    while waiting:
        agent = graph.agents[waiting[-1]]
        unknown = [to for _, to in agent.edges if to not in worst]
        if unknown:
            waiting += unknown
        else:
            worst[agent.file] = _capped(_of(agent, graph, worst, called), agent.budget.requests)
            waiting.pop()
    return worst[file]


def _of(
    agent: Agent,
    graph: Graph,
    worst: dict[str, int],
    called: Mapping[str, int],
    max_turns: int | None = None,
    member: bool = False,
) -> int:
    """`member`: of a team, or the lead of a team that is one: it ends its part in every cycle anew."""
    tuning, team, orchestration = agent.tuning, agent.team, graph.settings.orchestration
    turns = max_turns or tuning.max_turns
    if team is None:
        turns = _turns_by_plan(agent, turns)
    else:  # those of the team's own file; a lead from another file is counted on its own
        turns = 0 if team.supervisor else team.supervisor_max_turns or turns
    most = graph.settings.limits.children_per_parent
    # One call of call_agents_parallel, or one broadcast, may start any number of agents.
    calls_any = orchestration.enable_agent_tool or writes(agent.tools)
    per_turn = most if calls_any else tuning.max_tool_calls_per_turn
    calls = min(max(0, turns - 1) * per_turn, most)
    anyone = _costliest(called, agent, made_up=orchestration.enable_agent_tool) if calls_any else 0
    summary = Tuning().max_retries if orchestration.summarize_results and anyone else 0
    passed_on = max((worst[to] for to in agent.destinations), default=0)
    passed_on += sum(worst[to] for pattern, to in agent.edges if pattern == "handoff")
    return (
        turns * tuning.max_retries
        + sum(worst[to] for pattern, to in agent.edges if pattern == "advisor")
        + sum(
            _capped(_of(seated, graph, worst, called, most_turns, in_team), seated.budget.requests)
            for seated, most_turns, in_team in _seats(graph, team, member)
        )
        + passed_on * (turns if member else 1)
        + calls * max([anyone + summary, *(worst[to] for to in agent.agents)])
    )


def _costliest(called: Mapping[str, int], agent: Agent, *, made_up: bool) -> int:
    """Nobody writes to itself, but an agent may make up one like itself."""
    return max((cost for file, cost in called.items() if made_up or file != agent.file), default=0)


def _turns_by_plan(agent: Agent, turns: int) -> int:
    planning = PLAN_TRIES * min(TURNS_PER_TRY, turns)
    if agent.split != "never":
        return planning + turns
    match agent.tuning.planning_strategy:
        case "native_react":
            return turns
        case "plan_and_execute":
            return planning + (PLAN_STEPS + 1) * turns
        case "plan_and_react":
            return planning + turns
        case "spar":
            return SPAR_ROUNDS * (planning + 3 * turns)


def _seats(graph: Graph, team: Team | None, member: bool) -> Iterator[tuple[Agent, int | None, bool]]:
    if team is None:
        return
    for file in team.members:
        yield graph.agents[file], team.member_max_turns, True
    if team.supervisor:
        yield graph.agents[team.supervisor], team.supervisor_max_turns, member


def _capped(count: int, limit: int | None) -> int:
    return min(count, COUNTLESS if limit is None else limit)
