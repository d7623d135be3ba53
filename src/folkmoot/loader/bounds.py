"""The greatest number of model requests that an agent can cause, known before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.domain.agent import Agent, Graph, Team

COUNTLESS = 1_000_000_000
"""Where counting stops: nobody pays for more."""


def worst_case(graph: Graph, file: str) -> int:
    """Model requests, failed attempts included as in `budget.requests`, if `file` is run as the root.

    An agent itself makes at most `maxTurns × maxRetries`. To these come all its advisors, its costliest
    destination, its handoff, all members of its team and the lead, if that is another; and its costliest agent of
    `agents`, as often as it can be called: `maxToolCallsPerTurn` times in every turn but the last, and at most
    `limits.childrenPerParent` times. A `budget.requests` caps what is below it. Depth, time and money may end
    a run earlier.
    """
    worst: dict[str, int] = {}
    waiting = [file]
    while waiting:
        agent = graph.agents[waiting[-1]]
        unknown = [to for _, to in agent.edges if to not in worst]
        if unknown:
            waiting += unknown
        else:
            worst[agent.file] = _capped(_of(agent, graph, worst), agent.budget.requests)
            waiting.pop()
    return _capped(worst[file], graph.settings.budget.requests)


def _of(agent: Agent, graph: Graph, worst: dict[str, int], max_turns: int | None = None) -> int:
    tuning, team = agent.tuning, agent.team
    turns = max_turns or tuning.max_turns
    if team:
        turns = 0 if team.supervisor else team.supervisor_max_turns or turns
    calls = min(max(0, turns - 1) * tuning.max_tool_calls_per_turn, graph.settings.limits.children_per_parent)
    once = [worst[to] for pattern, to in agent.edges if pattern in ("advisor", "handoff")]
    return (
        turns * tuning.max_retries
        + sum(once)
        + sum(_seated(graph, worst, file, turns) for file, turns in _seats(team))
        + max((worst[to] for to in agent.destinations), default=0)
        + calls * max((worst[to] for to in agent.agents), default=0)
    )


def _seats(team: Team | None) -> Iterator[tuple[str, int | None]]:
    if team is None:
        return
    for member in team.members:
        yield member, team.member_max_turns
    if team.supervisor:
        yield team.supervisor, team.supervisor_max_turns


def _seated(graph: Graph, worst: dict[str, int], file: str, max_turns: int | None) -> int:
    agent = graph.agents[file]
    return _capped(_of(agent, graph, worst, max_turns), agent.budget.requests)


def _capped(count: int, limit: int | None) -> int:
    return min(count, COUNTLESS if limit is None else limit)
