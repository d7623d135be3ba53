"""The tree of a run: sessions, their turns, what was done in each, and the sessions that came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.report import BROADCAST
from folkmoot.domain.spans import conversation
from folkmoot.domain.team_events import (
    TeamBroadcast,
    TeamCancelled,
    TeamCompleted,
    TeamStarted,
)
from folkmoot.views.accounting import Spent, Totals, account, total
from folkmoot.views.run_nodes import Step
from folkmoot.views.run_tree import RunTree

_MISSION = re.compile(r"/turn:(\d+)/call:\d+/(?:mission|to):[^/]+")
"""One of several agents that a call started at once."""


class Op(msgspec.Struct, rename="camel"):
    kind: Literal["llm", "tool", "session"]
    name: str
    op_id: str = ""
    """`turn-op`, with the ops above it before: `1-2.3-1`."""
    status: Literal["open", "ok", "failed", "in_doubt"] = "open"
    request: Any = None
    response: Any = None
    child_session: SessionNode | None = None


class Turn(msgspec.Struct, rename="camel"):
    index: int
    """From 1; 0 holds what ran around the session: advisors, route, handoff."""
    ops: list[Op] = []


class SessionNode(msgspec.Struct, rename="camel"):
    id: str
    agent_id: str
    call_path: str
    cause: str = ""
    session_title: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    success: bool | None = None
    error: str | None = None
    totals: Totals = Totals()
    """Of this session and everything below it."""
    turns: list[Turn] = []


def op_tree(tree: RunTree, drafts: Sequence[Draft]) -> SessionNode | None:
    """`drafts` are all events of the run, of which the tree was made."""
    if not tree.sessions:
        return None
    root = _session(tree, drafts, next(iter(tree.sessions.values())), "")
    _sum(root, account(drafts))
    return root


def _session(tree: RunTree, drafts: Sequence[Draft], step: Step, above: str) -> SessionNode:
    """`above` is the place of the operation that it came of."""
    node = SessionNode(step.session, step.agent, step.span)
    if step.opened and isinstance(event := drafts[step.opened - 1].event, SessionStarted | TeamStarted):
        node.started_at, node.cause = drafts[step.opened - 1].ts, event.cause
        node.session_title = event.title
    if step.closed:
        node.ended_at = drafts[step.closed - 1].ts
        node.success, node.error = _ended(drafts[step.closed - 1].event)
    by_turn: dict[int, list[Step]] = {}
    for each in tree.ops.get(step.session, ()):
        by_turn.setdefault(_turn(each, step, drafts[each.seq - 1].event), []).append(each)
    for index, steps in sorted(by_turn.items()):
        places = ((each, f"{above}{index}-{number}") for number, each in enumerate(steps, start=1))
        node.turns.append(Turn(index, [_op(tree, drafts, each, place) for each, place in places]))
    return node


def _ended(event: Event) -> tuple[bool, str | None]:
    if isinstance(event, SessionCompleted | SessionFailed | TeamCompleted):
        return not event.outcome.failed, event.outcome.error or None
    return False, event.reason if isinstance(event, SessionCancelled | TeamCancelled) else None


def _turn(step: Step, session: Step, event: Event) -> int:
    if isinstance(event, TeamBroadcast):
        return event.turn_count
    if step.kind in ("model", "tool"):
        return step.turn
    mission = _MISSION.fullmatch(step.span.removeprefix(session.span))
    return int(mission[1]) if mission else 0


def _op(tree: RunTree, drafts: Sequence[Draft], step: Step, place: str) -> Op:
    op = _request(step, drafts[step.seq - 1].event)
    op.op_id = place
    if step.kind in ("model", "tool"):
        op.status = "in_doubt" if step.doubted else "open"
        match drafts[step.last - 1].event if step.last else None:
            case LlmResponse() | LlmFailed() as answer:
                op.response, op.status = answer, "failed" if isinstance(answer, LlmFailed) else "ok"
            case ToolFinished() | ToolFailed() as result:
                op.response, op.status = result.text, "failed" if isinstance(result, ToolFailed) else "ok"
    if came := step if op.kind == "session" else step.came:
        child = op.child_session = _session(tree, drafts, came, f"{place}.")
        op.status = "open" if child.success is None else "ok" if child.success else "failed"
    return op


def _request(step: Step, event: Event) -> Op:
    match event:
        case LlmRequest():
            return Op("llm", event.model, request=event)
        case ToolStarted():
            return Op("tool", event.tool, request=event.arguments)
        case ToolFinished() | ToolFailed():
            return Op("tool", event.tool)
        case TeamBroadcast():
            return Op("tool", BROADCAST, status="ok", request={"message": event.message})
        case _:
            return Op("session", step.agent)


def sessions(node: SessionNode) -> Iterator[SessionNode]:
    """A node and all below it, depth first."""
    yield node
    for child in _children(node):
        yield from sessions(child)


def _children(node: SessionNode) -> Iterator[SessionNode]:
    for turn in node.turns:
        for op in turn.ops:
            if op.child_session:
                yield op.child_session


def _sum(root: SessionNode, spent: list[Spent]) -> None:
    for node in sessions(root):
        below = {inner.id: conversation(inner.call_path) for inner in sessions(node)}
        agents = len({*below.values()})
        node.totals = total((entry for entry in spent if entry.session_id in below), agents)
