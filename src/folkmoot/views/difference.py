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


class _Deed(Value):
    """One telling thing with its place in its span, which is the same whoever was quicker."""

    place: tuple[int, int, int]
    """Turn, kind, number of the attempt or the call."""
    event: Event
    at: int
    """Position in the run."""


def difference(a: Sequence[Draft], b: Sequence[Draft]) -> Difference:
    first = _first(a, b)
    changes = tuple(_changes(a, b))
    return Difference(equal=first is None and not changes, first=first, changes=changes)


def _first(a: Sequence[Draft], b: Sequence[Draft]) -> Divergence | None:
    """Of the first divergence in every span, the one that came earliest in its run."""
    ours, theirs = _deeds(a), _deeds(b)
    found = []
    for span in {**ours, **theirs}:
        mine, other = ours.get(span, {}), theirs.get(span, {})
        for place in sorted({*mine, *other}):
            one, two = mine.get(place), other.get(place)
            if _told(one, a) != _told(two, b):
                at = min(deed.at for deed in (one, two) if deed)
                found.append((at, Divergence(span, place[0], _shown(one), _shown(two))))
                break
    return min(found, key=lambda each: each[0])[1] if found else None


def _deeds(drafts: Sequence[Draft]) -> dict[str, dict[tuple[int, int, int], _Deed]]:
    spans: dict[str, dict[tuple[int, int, int], _Deed]] = {}
    turns: dict[str, int] = {}
    for at, draft in enumerate(drafts):
        event, span = draft.event, draft.span
        if isinstance(event, LlmRequest):
            turns[span] = event.turn
        elif event.type in _TELLING:
            deeds = spans.setdefault(span, {})
            number = getattr(event, "attempt", getattr(event, "call", len(deeds)))
            place = (turns.get(span, 0), _TELLING[event.type], number)
            deeds[place] = _Deed(place, event, at)
    return spans


def _told(deed_of: _Deed | None, drafts: Sequence[Draft]) -> str:
    """In full, without the names that every run draws anew."""
    if deed_of is None:
        return ""
    return re.sub(
        re.escape(drafts[0].session_id) + r"[\w:.-]*", "it", describe_event(deed_of.event, "", content=True)
    )


def _shown(deed_of: _Deed | None) -> str:
    return describe_event(deed_of.event, "", content=True, width=_WIDTH) if deed_of else "does nothing there"


def _changes(a: Sequence[Draft], b: Sequence[Draft]) -> Iterator[Change]:
    for name, ours, theirs in zip(_NAMES, _outcome(a), _outcome(b), strict=True):
        if ours != theirs:
            yield Change(name, ours, theirs)


_NAMES = ("request", "files", "status", "error", "route", "answered by", "report", "tokens", "cost", "calls")


def _outcome(drafts: Sequence[Draft]) -> tuple[str, ...]:
    """What one compares first, in the order of `_NAMES`."""
    result, started = Result(drafts[0].session_id, drafts), drafts[0].event
    assert isinstance(started, RunStarted)
    totals, report = result.totals, result.final_report
    route = [draft.event.agent for draft in drafts if isinstance(draft.event, RouterSelected)]
    return (
        started.request,
        started.graph[:12],
        result.status,
        result.error or "",
        " -> ".join(route),
        result.final_agent_id or "",
        report.content if report else "",
        f"{totals.tokens_in} in, {totals.tokens_out} out",
        f"{totals.cost_usd:.6f} USD",
        f"{totals.model_requests} to models, {totals.tool_calls} to tools",
    )
