"""The calls of a run that may or may not have been made: they were under way when their process died."""

from __future__ import annotations

from collections.abc import Iterable

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFailed, ToolFinished, ToolInDoubt, ToolStarted
from folkmoot.domain.value import Value


class Doubt(Value):
    agent_id: str
    tool: str
    turn: int
    call: int
    key: str
    """As in what the run waits for."""


def doubts(drafts: Iterable[Draft]) -> list[Doubt]:
    keys: dict[tuple[str, int, int], str] = {}
    found: dict[tuple[str, int, int], Doubt] = {}
    for draft in drafts:
        match draft.event:
            case ToolStarted(turn=turn, call=call, key=key):
                keys[draft.session_id, turn, call] = key
            case ToolInDoubt(turn=turn, call=call, tool=tool):
                place = (draft.session_id, turn, call)
                found[place] = Doubt(draft.agent_id, tool, turn, call, keys[place])
            case ToolFinished(turn=turn, call=call) | ToolFailed(turn=turn, call=call):
                found.pop((draft.session_id, turn, call), None)
    return list(found.values())
