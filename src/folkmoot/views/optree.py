"""The tree of a run as programs read it, sessions with their turns and what was done in each; and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from folkmoot.domain.entry import Draft, Event, pattern
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.report import BROADCAST, Outcome
from folkmoot.domain.sentences import missing_in
from folkmoot.domain.spans import call_place, conversation
from folkmoot.domain.team_events import TeamBroadcast, TeamStarted
from folkmoot.domain.text import one_line
from folkmoot.views.costs import Spent, Totals, account, total
from folkmoot.views.figures import money
from folkmoot.views.run_nodes import Step
from folkmoot.views.run_tree import RunTree


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
        ended = drafts[step.closed - 1]
        outcome: Outcome | None = getattr(ended.event, "outcome", None)  # none if it was cancelled
        node.ended_at, node.success = ended.ts, bool(outcome and not outcome.failed)
        node.error = (outcome.error or None) if outcome else getattr(ended.event, "reason", None)
    by_turn: dict[int, list[Step]] = {}
    for each in tree.ops.get(step.session, ()):
        by_turn.setdefault(_turn(each, drafts[each.seq - 1].event), []).append(each)
    for index, steps in sorted(by_turn.items()):
        places = ((each, f"{above}{index}-{number}") for number, each in enumerate(steps, start=1))
        node.turns.append(Turn(index, [_op(tree, drafts, each, place) for each, place in places]))
    return node


def _turn(step: Step, event: Event) -> int:
    if isinstance(event, TeamBroadcast):
        return event.turn_count
    if step.kind in ("model", "tool"):
        return step.turn
    called = call_place(step.span)
    return called.turn if called and called.is_part else 0


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


class Line(msgspec.Struct, frozen=True):
    depth: int
    text: str
    status: str = ""
    """`completed`, `failed` or what is not over yet is said to be; empty for what is not worth stressing."""


def outline(node: SessionNode, depth: int = 0, *, unended: str = "running") -> Iterator[Line]:
    """Advisors stand before the turns of the agent that consults them; route and handoff after.

    `unended` says what a session without an end is: running, waiting or interrupted.
    """
    around = [op for turn in node.turns if turn.index == 0 for op in turn.ops if op.child_session]
    yield _session_line(node, depth, unended)
    for op in around:
        if op.child_session and op.child_session.cause == "advisor":
            yield from outline(op.child_session, depth + 1, unended=unended)
    for turn in node.turns:
        for op in turn.ops if turn.index else ():
            yield from _op_lines(op, turn.index, depth + 1, unended)
    for op in around:
        if op.child_session and op.child_session.cause != "advisor":
            yield from outline(op.child_session, depth + 1, unended=unended)


def _session_line(node: SessionNode, depth: int, unended: str) -> Line:
    status = unended if node.success is None else "completed" if node.success else "failed"
    cause = f" ({pattern(node.cause)})" if node.cause else ""
    error = f": {node.error}" if node.error else ""
    return Line(depth, f"{node.agent_id}{cause} {status}{error}", status)


def _op_lines(op: Op, turn: int, depth: int, unended: str) -> Iterator[Line]:
    status = {"ok": "", "failed": "failed"}.get(op.status, unended)
    if op.kind != "session":
        said = _model_words(op) if op.kind == "llm" else _tool_words(op)
        yield Line(depth, f"turn {turn}: {said}", status)
    if op.child_session:
        yield from outline(op.child_session, depth + 1, unended=unended)


def _model_words(op: Op) -> str:
    match op.response:
        case LlmResponse(usage=usage, cost_usd=cost, latency_ms=took, stop=stop) as answer:
            bill = f", {money(cost)}" if cost else ""
            said = f"{op.name}, {usage.tokens_in} tokens in, {usage.tokens_out} out{bill}, {took} ms"
            lack = missing_in(answer)
            return f"{said}, {lack} ({stop})" if lack and stop else f"{said}, {lack}" if lack else said
        case LlmFailed(error=error):
            return f"{op.name} gave no answer: {error}"
        case _:
            return f"{op.name}, no answer yet"


def _tool_words(op: Op) -> str:
    answer = ": may or may not have happened" if op.status == "in_doubt" else _answer(op.response)
    return f"{_short(op.name)}({_arguments(op.request)}){answer}"


def _arguments(given: Any) -> str:
    items = given.items() if isinstance(given, dict) else ()
    return ", ".join(f"{key}={_short(msgspec.json.encode(value).decode())}" for key, value in items)


def _answer(text: Any) -> str:
    return f": {_short(text)}" if isinstance(text, str) else ""


def _short(text: str) -> str:
    return one_line(text, 60)
