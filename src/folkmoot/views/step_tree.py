"""The tree that the steps of a run make: which stands below which, and which have ended."""

from __future__ import annotations

from folkmoot.views.step import State, Step

_WORK = ("model", "tool")
"""What spends time; the rest contains it, or waits."""


class StepTree:
    """Grows by one step after the other; `now` and `run_seq` say when, and by which entry."""

    def __init__(self) -> None:
        self.roots: list[Step] = []
        self.by_seq: dict[int, Step] = {}
        self.run_seq = self.failures = 0
        self.now = 0.0

    def flat(self, folded: frozenset[int] = frozenset()) -> list[Step]:
        """In the order of the page: children below their parents."""
        rows: list[Step] = []
        stack = self.roots[::-1]
        while stack:
            step = stack.pop()
            rows.append(step)
            if step.seq not in folded:
                stack += step.children[::-1]
        return rows

    def _add(self, step: Step, parent: Step | None) -> Step:
        """It has happened; it takes time only if it begins too."""
        self.by_seq[step.seq] = step
        step.parent = parent
        (parent.children if parent else self.roots).append(step)
        return step

    def _begin(self, step: Step) -> None:
        _count_open(step, 1)

    def _end(self, step: Step, state: State) -> Step:
        if not step.is_gem:
            _count_open(step, -1 if step.end is None and step.under_way else 0)
        step.end, step.last, step.state = self.now, self.run_seq, state
        self.failures += state == "failed" and step.kind in _WORK
        return step


def _count_open(step: Step, change: int) -> None:
    for each in (step, *step.above()):
        each.under_way += change
