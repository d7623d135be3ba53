"""What a session has read by a call: whether anybody vouches for it, and whether it may get out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join
from typing import Any

from folkmoot.domain.gate import Policy
from folkmoot.domain.message import ToolCall
from folkmoot.domain.naming import wire_name
from folkmoot.domain.sources import Source, Sources, is_trusted, joined, secret_paths
from folkmoot.session.state import Brief, State

_FILE_READERS = frozenset(map(wire_name, ("files.read", "files.list", "files.search")))
"""Which text they give follows from the path."""
_SHORTEST = 6
"""Characters of a value that is told apart from words that stand everywhere."""


def sources_of(state: State, turn: int, call: ToolCall) -> Sources:
    """Of a call that was made."""
    brief = state.brief
    if brief.policy.recorded_first:
        return ()
    return joined(_untrusted(brief, turn, call), secret_paths(call.arguments, brief.policy.secret))


def foreign_values(state: State, call: ToolCall, sources: Sources) -> tuple[str, ...]:
    """The arguments, by their paths, whose values stand in what tools gave and not in what the session was asked."""
    if not sources:
        return ()
    asked = "\n".join(message.text for message in state.messages if message.role in ("system", "user"))
    given = "\n".join(message.text for message in state.messages if message.role == "tool")
    texts = _texts("", call.arguments)
    return tuple(
        dict.fromkeys(
            path for path, text in texts if len(text) >= _SHORTEST and text in given and text not in asked
        )
    )


def _untrusted(brief: Brief, turn: int, call: ToolCall) -> Iterator[Source]:
    if call.tool in brief.policy.untrusted and not _vouched_for(brief.policy, brief.work_dir, call):
        yield Source(f"what {call.tool} gave {brief.agent.id} in turn {turn}")


def _vouched_for(policy: Policy, work_dir: str, call: ToolCall) -> bool:
    path = call.arguments.get("path", ".")
    return (
        call.tool in _FILE_READERS
        and isinstance(path, str)
        and is_trusted(join(work_dir, path), policy.trusted)
    )


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(path, inner)
