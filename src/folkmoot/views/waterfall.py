"""The geometry of a waterfall: where on its axis each step stands, with long idle times folded. In per cent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from folkmoot.views.activity import Interval
from folkmoot.views.figures import counted, length, moment, money, tokens
from folkmoot.views.run_nodes import State, Step
from folkmoot.views.run_tree import RunTree

WIDTH = 98.5
"""What the run takes of the axis."""
FOLDED = 5.0
"""What an idle time takes that is folded."""
HEADROOM = 1.15
"""How much further than now the axis of a live run goes, so that its bars can grow on it."""
_IDLE = 0.2
_MOST_FOLDS = 6
_TICKS = 7
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)
_LEAST = 0.3
"""The narrowest bar."""


@dataclass(frozen=True)
class Axis:
    end: float
    """Seconds since the run began."""
    folds: tuple[Interval, ...] = ()
    waits: tuple[Interval, ...] = ()
    """When somebody was asked: such a fold is no idle time."""

    def x(self, at: float) -> float:
        """Added up stretch by stretch: taking folds away from a long time would leave nothing exact."""
        stretches = [*_between(self.folds, self.end)]
        shown = sum(end - begin for begin, end in stretches)
        per_second = (WIDTH - FOLDED * len(self.folds)) / shown if shown > 1e-9 else 0.0
        place = sum(max(0.0, min(at, end) - begin) for begin, end in stretches) * per_second
        place += sum(
            FOLDED * min(at - start, end - start) / (end - start) for start, end in self.folds if at > start
        )
        return round(min(place, WIDTH), 2)

    def ticks(self) -> Iterator[tuple[float, str]]:
        shown = self.end - sum(end - start for start, end in self.folds)
        step = next((step for step in _STEPS if shown / step <= _TICKS), _STEPS[-1])
        last = -100.0
        for start, end in _between(self.folds, self.end):
            number = -(-start // step)
            while number * step <= end:
                x = self.x(number * step)
                if x - last >= FOLDED:
                    yield x, moment(number * step)
                    last = x
                number += 1

    def gaps(self) -> Iterator[tuple[float, float, str]]:
        """Where each fold begins, how wide it is drawn, and in words what it is and how long."""
        for start, end in self.folds:
            waits = sum(min(b, end) - max(a, start) for a, b in self.waits if a < end and b > start)
            word = "waiting" if waits > end - start - waits else "idle"
            yield self.x(start), FOLDED, f"{word} {length(end - start)}"


def axis(bursts: Sequence[Interval], end: float, waits: Sequence[Interval] = ()) -> Axis:
    """Idle for more than a fifth of what is shown, is folded; the longest first."""
    idle = sorted(_between(bursts, end), key=lambda gap: gap[0] - gap[1])
    shown, folds = end, list[Interval]()
    for start, stop in idle[:_MOST_FOLDS]:
        if stop - start > max(0.0, _IDLE * shown) and bursts:
            folds.append((start, stop))
            shown -= stop - start
    return Axis(max(end, 0.001), tuple(sorted(folds)), tuple(waits))


def axis_of(steps: RunTree, now: float, live: bool) -> Axis:
    end = now * HEADROOM + 0.5 if live else now
    bursts = [*steps.activity.active(now), *([(now, end)] if live else [])]
    return axis(bursts, end, steps.activity.waiting(now))


def _between(intervals: Sequence[Interval], end: float) -> Iterator[Interval]:
    """What lies before, between and after them; they begin in order, and may overlap."""
    at = 0.0
    for start, stop in (*intervals, (end, end)):
        if start >= at:
            yield at, start
        at = max(at, stop)


@dataclass(frozen=True)
class Row:
    """One step as it is drawn."""

    step: Step
    state: State
    later: bool
    """It had not begun at the chosen entry."""
    draw: Literal["bracket", "bar", "gem"]
    left: float
    right: float
    label: str
    """Where it stands, in words."""
    time: str
    tokens: str
    cost: str
    tag: str
    level: int
    place: int
    """Among its siblings, from 1."""
    siblings: int

    @property
    def width(self) -> float:
        return round(max(self.right - self.left, _LEAST), 2)

    @property
    def look(self) -> str:
        """The words of the style sheet."""
        words = {
            "failed": self.state == "failed",
            "waits": self.state in ("waiting", "doubt"),
            "runs": self.state == "open" and not self.later and self.draw == "bar",
            "later": self.later,
        }
        return " ".join([f"k-{self.step.kind}", *(word for word, fits in words.items() if fits)])

    @property
    def icon(self) -> str:
        return {"failed": "s-failed", "doubt": "doubt"}.get(self.state, f"k-{self.step.kind}")


@dataclass(frozen=True)
class Picture:
    """A run on its axis, now or as it was at an entry."""

    steps: RunTree
    axis: Axis
    now: float
    at: int = 0
    """The entry after which it is shown; 0: the last one."""

    def row(self, step: Step) -> Row:
        later = bool(self.at) and step.seq > self.at
        state, end = step.as_of(self.at), self._end(step, later)
        if step.contains and state == "done" and end is None:
            state = "open"  # it is over itself, but not what came of it
        end = max(self._now if end is None else end, step.start)
        siblings = step.parent.children if step.parent else self.steps.roots
        spent, cost = self._spent(step)
        took = length(end - step.start) if end > step.start else "<1 ms"
        starts = f"starts at {length(step.start)}"
        gave_up = state == "failed" and step.kind in ("model", "tool")
        return Row(
            step=step,
            state=state,
            later=later,
            draw="gem" if step.is_instant else "bracket" if step.contains else "bar",
            left=self.axis.x(step.start),
            right=self.axis.x(end),
            label=starts if step.is_instant else f"{starts}, {took}",
            time="" if step.is_instant else took,
            tokens=tokens(spent),
            cost=money(cost),
            tag=f"attempt {step.attempt}" if step.attempt > 1 or gave_up else "",
            level=step.level,
            place=bisect_left(siblings, step.seq, key=lambda each: each.seq) + 1,
            siblings=len(siblings),
        )

    @property
    def _now(self) -> float:
        return self.steps.times.get(self.at, self.now) if self.at else self.now

    def _end(self, step: Step, later: bool) -> float | None:
        """When it and all that came of it was over; None if it is not."""
        if not self.at or later:
            return None if step.under_way else step.reach if step.contains else step.end
        ends = [self._end(child, child.seq > self.at) for child in step.children if child.seq <= self.at]
        if None in ends or not 0 < step.last <= self.at or step.end is None:
            return None
        return max(step.end, *(end for end in ends if end is not None)) if ends else step.end

    def _spent(self, step: Step) -> tuple[int, float]:
        if not self.at:
            return step.tokens, step.cost
        if step.kind == "model":
            return (step.tokens, step.cost) if 0 < step.last <= self.at else (0, 0.0)
        below = [self._spent(child) for child in step.children]
        return sum(spent for spent, _ in below), sum(cost for _, cost in below)


def ticks_of(steps: RunTree, most: int = 160) -> list[tuple[float, str]]:
    """The steps along the replay slider, by kind; of a long run only the loud ones and every nth."""
    loud = ("fail", "wait", "transfer")
    every = sorted(steps.by_seq.values(), key=lambda step: step.seq)
    nth = max(1, len(every) // most)
    shown = [(step, "fail" if step.state == "failed" else step.kind) for step in every]
    kept = [(step, kind) for n, (step, kind) in enumerate(shown) if n % nth == 0 or kind in loud]
    last = max(steps.run_seq - 1, 1)
    return [(round((step.seq - 1) / last * 99.2, 1), kind) for step, kind in kept[: 3 * most]]


def folded_words(gaps: Sequence[tuple[float, float, str]]) -> str:
    if not gaps:
        return "Time"
    lengths = ", ".join(words for _, _, words in gaps)
    return f"Time, {counted(len(gaps), 'gap')} folded: {lengths}"
