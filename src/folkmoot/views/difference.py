"""How two runs differ: the first thing that they did otherwise, by span and position, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import LlmRequest, RunStarted
from folkmoot.domain.sentences import describe_event
from folkmoot.domain.value import Value
from folkmoot.views.result import Result

_WIDTH = 120
_TELLING = {
    **dict.fromkeys(("llm.response", "llm.failed"), 0),
    **dict.fromkeys(("question.answered", "client.answered", "approval.approved", "approval.denied"), 1),
    "tool.settled": 2,
    **dict.fromkeys(("tool.finished", "tool.failed"), 3),
    **dict.fromkeys(("session.started", "session.failed", "session.cancelled", "budget.exceeded"), 4),
}
"""What tells two runs apart, in its order within a turn; everything else follows from these."""


class Divergence(Value, omit_defaults=False):
    """The first place at which two runs did not do the same."""

    span: str
    turn: int
    """0 before the first."""
    a: str
    """What the first run did there; `nothing` if it never came there."""
    b: str

    def __str__(self) -> str:
        turn = f" turn {self.turn}" if self.turn else ""
        return f"at {self.span}{turn}: A {self.a}, B {self.b}"


class Change(Value, omit_defaults=False):
    name: str
    a: str
    b: str


class Difference(Value, omit_defaults=False):
    equal: bool
    first: Divergence | None
    changes: tuple[Change, ...]
    """What is not the same in the end: outcome, route, report, tokens, cost."""


_Place = tuple[int, int, int]
"""Of a telling event in its span, the same whoever was quicker: turn, kind, number of the attempt or the call."""
_Told = dict[str, dict[_Place, tuple[int, Event]]]
"""By span and place: position in the run, and what happened."""


def difference(a: Sequence[Draft], b: Sequence[Draft]) -> Difference:
    first = _first(a, b)
    changes = tuple(_changes(a, b))
    return Difference(equal=first is None and not changes, first=first, changes=changes)


def _first(a: Sequence[Draft], b: Sequence[Draft]) -> Divergence | None:
    """Of the first divergence in every span, the one that came earliest in its run."""
    ours, theirs = _telling(a), _telling(b)
    found: list[tuple[int, Divergence]] = []
    for span in {**ours, **theirs}:
        mine, other = ours.get(span, {}), theirs.get(span, {})
        for place in sorted({*mine, *other}):
            one, two = mine.get(place), other.get(place)
            if _compared(one, a) != _compared(two, b):
                at = min(each[0] for each in (one, two) if each)
                found.append((at, Divergence(span, place[0], _shown(one), _shown(two))))
                break
    return min(found, key=lambda each: each[0])[1] if found else None


def _telling(drafts: Sequence[Draft]) -> _Told:
    spans: _Told = {}
    turns: dict[str, int] = {}
    for at, draft in enumerate(drafts):
        event, span = draft.event, draft.span
        if isinstance(event, LlmRequest):
            turns[span] = event.turn
        elif event.type in _TELLING:
            here = spans.setdefault(span, {})
            number = getattr(event, "attempt", getattr(event, "call", len(here)))
            here[turns.get(span, 0), _TELLING[event.type], number] = at, event
    return spans


def _compared(told: tuple[int, Event] | None, drafts: Sequence[Draft]) -> str:
    """In full, without the names that every run draws anew."""
    names = re.escape(drafts[0].session_id) + r"[\w:.-]*"
    return re.sub(names, "it", describe_event(told[1], "", content=True)) if told else ""


def _shown(told: tuple[int, Event] | None) -> str:
    return describe_event(told[1], "", content=True, width=_WIDTH) if told else "does nothing there"


def _changes(a: Sequence[Draft], b: Sequence[Draft]) -> Iterator[Change]:
    ours, theirs = _outcome(a), _outcome(b)
    return (Change(name, ours[name], theirs[name]) for name in ours if ours[name] != theirs[name])


def _outcome(drafts: Sequence[Draft]) -> dict[str, str]:
    """What one compares first."""
    result, started = Result(drafts[0].session_id, drafts), drafts[0].event
    assert isinstance(started, RunStarted)
    totals, report = result.totals, result.final_report
    route = [draft.event.agent for draft in drafts if isinstance(draft.event, RouterSelected)]
    return {
        "request": started.request,
        "files": started.graph[:12],
        "status": result.status,
        "error": result.error or "",
        "route": " -> ".join(route),
        "answered by": result.final_agent_id or "",
        "report": report.content if report else "",
        "tokens": f"{totals.tokens_in} in, {totals.tokens_out} out",
        "cost": f"{totals.cost_usd:.6f} USD",
        "calls": f"{totals.model_requests} to models, {totals.tool_calls} to tools",
    }
