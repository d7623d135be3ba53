"""Where boxes and arrows lie: columns from left to right, arrows that go back below them. Pure geometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import NamedTuple, TypeAlias

_MARGIN, _BETWEEN_ROWS, _PASSING = 24, 16, 20
_SAG = 34.0
"""How far an arrow that goes back hangs below its boxes."""


class Arrow(NamedTuple):
    start: str
    end: str
    label: str


class Size(NamedTuple):
    width: float
    height: float


class Spot(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


class Way(NamedTuple):
    """An arrow as it is drawn."""

    arrow: Arrow
    line: str
    """The `d` of an SVG path, from the border of one box to that of another."""
    x: float
    y: float
    """Where it arrives."""
    back: bool
    """Whether it closes a circle."""


class Layout(NamedTuple):
    width: float
    height: float
    spots: Mapping[str, Spot]
    ways: tuple[Way, ...]


_Stop: TypeAlias = "str | tuple[int, int]"
"""A box, or the place where an arrow, by its number, passes through a column."""
_Path = list[_Stop]
_Columns = list[list[_Stop]]


def lay_out(boxes: Mapping[str, Size], arrows: Sequence[Arrow], *, between: float, run_in: float) -> Layout:
    """`between` columns is that much room; the last `run_in` of it every arrow is straight, for its label."""
    closing = closers(list(boxes), arrows)
    onward = [arrow for arrow in arrows if arrow not in closing]
    level = _levels(boxes, onward)
    paths = [_path(number, arrow, level) for number, arrow in enumerate(onward)]
    spots = _placed(_ordered(level, paths), boxes, between)
    ways = [*_forward(onward, paths, spots, run_in), *(_backward(arrow, spots) for arrow in closing)]
    sag = _SAG if closing else 0.0
    return Layout(
        width=max((spot.x + spot.width for spot in spots.values()), default=0.0) + _MARGIN,
        height=max((spot.y + spot.height for spot in spots.values()), default=0.0) + sag + _MARGIN,
        spots={name: spots[name] for name in boxes},
        ways=tuple(ways),
    )


def closers(names: Sequence[str], arrows: Sequence[Arrow]) -> list[Arrow]:
    """Those without which there is no circle: each leads to a box from which one came."""
    after: dict[str, list[Arrow]] = {name: [] for name in names}
    for arrow in arrows:
        after[arrow.start].append(arrow)
    done: set[str] = set()
    found: list[Arrow] = []
    for start in names:
        path = {} if start in done else {start: iter(after[start])}
        while path:
            name, rest = next(reversed(path.items()))
            step = next(rest, None)
            if step is None:
                path.popitem()
                done.add(name)
            elif step.end in path:
                found.append(step)
            elif step.end not in done:
                path[step.end] = iter(after[step.end])
    return found


def _levels(boxes: Mapping[str, Size], arrows: Sequence[Arrow]) -> dict[str, int]:
    """Each box one column to the right of the last box that points at it."""
    before: dict[str, list[str]] = {name: [] for name in boxes}
    for arrow in arrows:
        before[arrow.end].append(arrow.start)
    level = dict.fromkeys(boxes, 0)
    for name in TopologicalSorter(before).static_order():
        level[name] = max((level[start] + 1 for start in before[name]), default=0)
    return level


def _path(number: int, arrow: Arrow, level: Mapping[str, int]) -> _Path:
    passed = range(level[arrow.start] + 1, level[arrow.end])
    return [arrow.start, *((number, column) for column in passed), arrow.end]


def _ordered(level: Mapping[str, int], paths: Sequence[_Path]) -> _Columns:
    """Sweep to and fro, each time moving every stop towards the middle of its neighbours: fewer crossings."""
    columns: _Columns = [[] for _ in range(max(level.values(), default=-1) + 1)]
    neighbours: dict[_Stop, list[_Stop]] = {}
    for stop in dict.fromkeys([*level, *(stop for path in paths for stop in path)]):
        columns[level[stop] if isinstance(stop, str) else stop[1]].append(stop)
        neighbours[stop] = []
    for path in paths:
        for left, right in pairwise(path):
            neighbours[left].append(right)
            neighbours[right].append(left)
    for sweep in range(6):
        order = columns if sweep % 2 == 0 else columns[::-1]
        for fixed, moving in pairwise(order):
            rank = {stop: number for number, stop in enumerate(fixed)}
            ranks = {stop: [rank[other] for other in neighbours[stop] if other in rank] for stop in moving}
            rest = {stop: float(number) for number, stop in enumerate(moving)}
            moving.sort(key=lambda stop: sum(r) / len(r) if (r := ranks[stop]) else rest[stop])
    return columns


def _placed(columns: _Columns, boxes: Mapping[str, Size], between: float) -> dict[_Stop, Spot]:
    rows = [
        [boxes[stop].height if isinstance(stop, str) else _PASSING for stop in column] for column in columns
    ]
    heights = [sum(column) + _BETWEEN_ROWS * (len(column) - 1) for column in rows]
    spots: dict[_Stop, Spot] = {}
    x = float(_MARGIN)
    for column, height, sizes in zip(columns, heights, rows, strict=True):
        width = max(boxes[stop].width for stop in column if isinstance(stop, str))
        y = _MARGIN + (max(heights) - height) / 2
        for stop, size in zip(column, sizes, strict=True):
            spots[stop] = Spot(x, y, width, size)
            y += size + _BETWEEN_ROWS
        x += width + between
    return spots


def _forward(
    arrows: Sequence[Arrow], paths: Sequence[_Path], spots: Mapping[_Stop, Spot], run_in: float
) -> list[Way]:
    """Those that arrive at one box are spread over its height, in the order from which they come."""
    arriving: dict[str, list[int]] = {}
    for number in sorted(range(len(arrows)), key=lambda number: spots[paths[number][-2]].middle):
        arriving.setdefault(arrows[number].end, []).append(number)
    ways: list[Way] = []
    for end, numbers in arriving.items():
        for rank, number in enumerate(numbers):
            y = spots[end].y + (rank + 0.5) * spots[end].height / len(numbers)
            line = _line([spots[stop] for stop in paths[number]], y, run_in)
            ways.append(Way(arrows[number], line, spots[end].x, y, back=False))
    return ways


def _line(path: list[Spot], arrival: float, run_in: float) -> str:
    start, *between, end = path
    x, y = start.x + start.width, start.middle
    line = f"M{x:.1f},{y:.1f}"
    for spot in between:
        line += _bend(x, y, spot.x, spot.middle) + f" H{spot.x + spot.width:.1f}"
        x, y = spot.x + spot.width, spot.middle
    return line + _bend(x, y, end.x - run_in, arrival) + f" H{end.x - 6:.1f}"


def _backward(arrow: Arrow, spots: Mapping[_Stop, Spot]) -> Way:
    start, end = spots[arrow.start], spots[arrow.end]
    x, y = start.x + start.width * 0.4, start.y + start.height
    to_x, to_y = end.x + end.width * 0.6, end.y + end.height
    low = max(y, to_y) + _SAG
    line = f"M{x:.1f},{y:.1f} C{x:.1f},{low:.1f} {to_x:.1f},{low:.1f} {to_x:.1f},{to_y + 6:.1f}"
    return Way(arrow, line, to_x, to_y, back=True)


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (x + to_x) / 2
    return f" C{half:.1f},{y:.1f} {half:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
