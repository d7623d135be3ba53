"""Which tools bring text of others into a session, and whether earlier parts of an agent's work have used one."""

from __future__ import annotations

from collections.abc import Iterable

from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SessionStarted, ToolFinished
from folkmoot.domain.naming import MEMORY_READ, MESSAGES, wire_name
from folkmoot.orchestration.chats import ASK_CLARIFICATION
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL

ASKING_AGENTS = frozenset((CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_CLARIFICATION, *MESSAGES))
_WRITTEN_BY_OTHERS = frozenset(("task_status", "task_list", "task_pick_backlog", MEMORY_READ))
"""They show what other agents may have written."""


def outside(graph: Graph, kit: Kit) -> frozenset[str]:
    """Tools that reach another machine, a server that is no part of the project, another agent, the caller of the run,
    or what one noted in an earlier run. What else is read inside the project is no more foreign than the agent's own
    file."""
    servers = tuple(
        wire_name(f"{name}.") for name, source in graph.settings.tools.items() if source.kind == "mcp"
    )
    brought = (spec.name for spec in kit.tools if spec.access == "egress" or spec.name.startswith(servers))
    return frozenset(brought) | ASKING_AGENTS | _WRITTEN_BY_OTHERS | {*kit.agents} | kit.brought


def heard_before(drafts: Iterable[Draft], above: str, span: str, tools: frozenset[str]) -> str:
    """What one of these tools gave below a span before another began there: the same in a resumed run."""
    inside = f"{above}/"
    for draft in drafts:
        if draft.span == span and isinstance(draft.event, SessionStarted):
            return ""
        if (
            draft.span.startswith(inside)
            and isinstance(draft.event, ToolFinished)
            and draft.event.tool in tools
        ):
            return f"what {draft.event.tool} gave in turn {draft.event.turn}"
    return ""
