"""A collaboration as people follow it: one line for each move that they want to know of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from folkmoot.coordination.collaboration import moves
from folkmoot.coordination.collaboration.moves import Move

_PURPOSES = {
    "plan": "{agent} plans",
    "review": "{agent} looks the plan over",
    "decide": "{agent} decides on the plan",
    "step": "{agent} works on step {of}",
    "accept": "{agent} is asked to take over step {of}",
    "vote": "{agent} votes on {of}",
    "tie-break": "{agent} decides {of}, because the votes do not",
    "check": "{agent} holds what was done against what was agreed",
    "summary": "{agent} sums up",
}
_LINES: Mapping[type[Move], Callable[[Any], str]] = {
    moves.Become: lambda move: f"{move.state}: {move.reason}".rstrip(": "),
    moves.CommitPlanMove: lambda _: "the plan is committed",
    moves.Propose: lambda move: f"step {move.step} is blocked: {move.reason}",
    moves.ReassignStepMove: lambda move: f"step {move.step} passes on to {move.to}: {move.reason}",
    moves.ResumeStepMove: lambda move: f"step {move.step} goes on: {move.reason}",
    moves.CompleteStepMove: lambda move: (
        f"step {move.step} is {'skipped' if move.skipped else 'done'}: {move.note}"
    ),
    moves.Abstain: lambda move: f"{move.voter} abstains: {move.reason}",
    moves.ReviewStepMove: lambda move: (
        f"step {move.step} is {'accepted' if move.verdict == 'accept' else 'reopened: ' + move.text}"
    ),
}


def line(move: Move) -> str:
    """Empty for what nobody needs to see."""
    if isinstance(move, moves.AskMove):
        kind, _, of = move.purpose.partition("/")
        return _PURPOSES[kind].format(agent=move.agent, of=of.partition("/")[0])
    said = _LINES.get(type(move))
    return said(move).partition("\n")[0] if said else ""
