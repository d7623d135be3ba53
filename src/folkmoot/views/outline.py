"""The op tree of a run as lines of text: who asked whom, turn by turn, with tools, failures and costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from folkmoot.domain.event import pattern
from folkmoot.domain.events import LlmFailed, LlmResponse
from folkmoot.domain.sentences import missing_in
from folkmoot.views.figures import in_one_line, money
from folkmoot.views.optree import Op, SessionNode


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
    yield _session(node, depth, unended)
    for op in around:
        if op.child_session and op.child_session.cause == "advisor":
            yield from outline(op.child_session, depth + 1, unended=unended)
    for turn in node.turns:
        for op in turn.ops if turn.index else ():
            yield from _op(op, turn.index, depth + 1, unended)
    for op in around:
        if op.child_session and op.child_session.cause != "advisor":
            yield from outline(op.child_session, depth + 1, unended=unended)


def _session(node: SessionNode, depth: int, unended: str) -> Line:
    status = unended if node.success is None else "completed" if node.success else "failed"
    cause = f" ({pattern(node.cause)})" if node.cause else ""
    error = f": {node.error}" if node.error else ""
    return Line(depth, f"{node.agent_id}{cause} {status}{error}", status)


def _op(op: Op, turn: int, depth: int, unended: str) -> Iterator[Line]:
    status = {"ok": "", "failed": "failed"}.get(op.status, unended)
    if op.kind != "session":
        said = _model(op) if op.kind == "llm" else _tool(op)
        yield Line(depth, f"turn {turn}: {said}", status)
    if op.child_session:
        yield from outline(op.child_session, depth + 1, unended=unended)


def _model(op: Op) -> str:
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


def _tool(op: Op) -> str:
    answer = ": may or may not have happened" if op.status == "in_doubt" else _answer(op.response)
    return f"{_short(op.name)}({_arguments(op.request)}){answer}"


def _arguments(given: Any) -> str:
    items = given.items() if isinstance(given, dict) else ()
    return ", ".join(f"{key}={_short(msgspec.json.encode(value).decode())}" for key, value in items)


def _answer(text: Any) -> str:
    return f": {_short(text)}" if isinstance(text, str) else ""


def _short(text: str) -> str:
    return in_one_line(text, 60)
