"""The greatest number of model requests that an agent can cause, known before it runs."""

from __future__ import annotations

from folkmoot.domain.agent import Agent, Graph

COUNTLESS = 1_000_000_000
"""Where counting stops: nobody pays for more."""


def worst_case(graph: Graph, file: str) -> int:
    """Model requests, failed attempts included as in `budget.requests`, if `file` is run as the root.

    An agent itself makes at most `maxTurns × maxRetries`. To these come all its advisors, its costliest
    destination, its handoff, all members and the lead of its team; and its costliest agent of `agents`, as
    often as it can be called: `maxToolCallsPerTurn` times in every turn but the last, and at most
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


def _of(agent: Agent, graph: Graph, worst: dict[str, int]) -> int:
    tuning = agent.tuning
    calls = min(
        (tuning.max_turns - 1) * tuning.max_tool_calls_per_turn, graph.settings.limits.children_per_parent
    )
    once = [worst[to] for pattern, to in agent.edges if pattern not in ("agent", "route")]
    return (
        tuning.max_turns * tuning.max_retries
        + sum(once)
        + max((worst[to] for to in agent.destinations), default=0)
        + calls * max((worst[to] for to in agent.agents), default=0)
    )


def _capped(count: int, limit: int | None) -> int:
    return min(count, COUNTLESS if limit is None else limit)
