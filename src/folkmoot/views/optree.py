"""The tree of a run: sessions, their turns, what was done in each, and the sessions that came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    ToolInDoubt,
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

_CALLED = re.compile(r"/(?:turn:|clarify:|ask:)(\d+)(?:/call:|\.)(\d+)$")
"""The call that a session came of, as turn and position: an agent called as a tool, asked again, or by its child."""

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

    def turn(self, index: int) -> Turn:
        for turn in self.turns:
            if turn.index == index:
                return turn
        self.turns.append(Turn(index))
        return self.turns[-1]


def op_tree(drafts: Iterable[Draft]) -> SessionNode | None:
    every = [draft for draft in drafts if draft.session_id]
    if not every:
        return None
    grown = _Growth()
    for draft in every:
        grown.take(draft)
    root = next(iter(grown.nodes.values()))
    _number(root, "")
    _sum(root, account(every))
    return root


class _Growth:
    """The tree while it grows, event by event."""

    def __init__(self) -> None:
        self.nodes: dict[str, SessionNode] = {}
        self._open: dict[tuple[str, int, int], Op] = {}
        """Calls by session, turn and position; model requests at position 0."""

    def take(self, draft: Draft) -> None:
        new = SessionNode(draft.session_id, draft.agent_id, draft.span)
        node = self.nodes.setdefault(draft.session_id, new)
        match draft.event:
            case SessionStarted() | TeamStarted() as event:
                node.started_at, node.cause, node.session_title = draft.ts, event.cause, event.title
                self._attach(node, event.parent)
            case SessionCompleted() | SessionFailed() | TeamCompleted() as event:
                node.ended_at, node.success = draft.ts, not event.outcome.failed
                node.error = event.outcome.error or None
            case SessionCancelled() | TeamCancelled() as event:
                node.ended_at, node.success, node.error = draft.ts, False, event.reason
            case event:
                self._work(node, event)

    def _work(self, node: SessionNode, event: Event) -> None:
        match event:
            case LlmRequest():
                self._begin(node, event.turn, 0, Op("llm", event.model, request=event))
            case LlmResponse() | LlmFailed():
                self._end(node, event.turn, 0, event, failed=isinstance(event, LlmFailed))
            case ToolStarted():
                self._begin(node, event.turn, event.call, Op("tool", event.tool, request=event.arguments))
            case ToolFinished() | ToolFailed():
                if (node.id, event.turn, event.call) not in self._open:
                    self._begin(node, event.turn, event.call, Op("tool", event.tool))
                self._end(node, event.turn, event.call, event.text, failed=isinstance(event, ToolFailed))
            case ToolInDoubt():
                self._open[node.id, event.turn, event.call].status = "in_doubt"
            case TeamBroadcast(kind="update"):
                said = Op("tool", BROADCAST, status="ok", request={"message": event.message})
                node.turn(event.turn_count).ops.append(said)

    def _begin(self, node: SessionNode, turn: int, position: int, op: Op) -> None:
        node.turn(turn).ops.append(op)
        self._open[node.id, turn, position] = op

    def _end(self, node: SessionNode, turn: int, position: int, response: Any, *, failed: bool) -> None:
        op = self._open[node.id, turn, position]
        op.response, op.status = response, "failed" if failed else "ok"

    def _attach(self, node: SessionNode, parent_id: str) -> None:
        parent = self.nodes.get(parent_id)
        if parent is None:
            return
        below = node.call_path.removeprefix(parent.call_path)
        if called := _CALLED.search(node.call_path):
            self._open[parent.id, int(called[1]), int(called[2])].child_session = node
        elif mission := _MISSION.fullmatch(below):
            parent.turn(int(mission[1])).ops.append(Op("session", node.agent_id, child_session=node))
        else:
            parent.turn(0).ops.append(Op("session", node.agent_id, child_session=node))


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


def _number(node: SessionNode, above: str) -> None:
    node.turns.sort(key=lambda turn: turn.index)
    for turn in node.turns:
        for position, op in enumerate(turn.ops, start=1):
            op.op_id = f"{above}{turn.index}-{position}"
            if child := op.child_session:
                op.status = "open" if child.success is None else "ok" if child.success else "failed"
                _number(child, f"{op.op_id}.")


def _sum(root: SessionNode, spent: list[Spent]) -> None:
    for node in sessions(root):
        below = {inner.id: conversation(inner.call_path) for inner in sessions(node)}
        agents = len({*below.values()})
        node.totals = total((entry for entry in spent if entry.session_id in below), agents)
