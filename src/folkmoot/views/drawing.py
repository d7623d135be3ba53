"""Boxes and arrows as SVG: columns from left to right, every arrow labelled where it arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple, TypeAlias

_COLOURS = {
    "advisor": "#7c3aed",
    "agent": "#0f766e",
    "member": "#b45309",
    "lead": "#be123c",
    "route": "#1d4ed8",
    "handoff": "#15803d",
}
_MARGIN, _BETWEEN_COLUMNS, _BETWEEN_ROWS = 24, 130, 16
_ROW, _CHARACTER, _LABEL = 20, 7.3, 62


class Arrow(NamedTuple):
    start: str
    end: str
    label: str


class _Spot(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


_Stop: TypeAlias = "str | tuple[int, int]"
"""A box, or the place where an arrow, by its number, passes through a column."""
_Columns = list[list[_Stop]]


def draw(boxes: Mapping[str, bool], arrows: Sequence[Arrow], caption: str) -> str:
    """`boxes` by name, true for those to be stressed. The arrows make no circle."""
    level = _levels(boxes, arrows)
    paths: list[list[_Stop]] = [
        [
            arrow.start,
            *((number, column) for column in range(level[arrow.start] + 1, level[arrow.end])),
            arrow.end,
        ]
        for number, arrow in enumerate(arrows)
    ]
    columns = _ordered(level, paths)
    spots = _placed(columns, arrows)
    width = max((spot.x + spot.width for spot in spots.values()), default=0) + _MARGIN
    width = max(width, len(caption) * 6.1 + 2 * _MARGIN)
    bottom = max((spot.y + spot.height for spot in spots.values()), default=0)
    height = bottom + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="ui-monospace, Menlo, monospace" font-size="12">',
        "<title>Who calls whom</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *_arrows(arrows, paths, spots),
        *(_box(name, stressed, spots[name]) for name, stressed in boxes.items()),
        f'<text x="{_MARGIN}" y="{height - 12:.0f}" font-size="10" fill="#475569">{escape(caption)}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _levels(boxes: Mapping[str, bool], arrows: Sequence[Arrow]) -> dict[str, int]:
    """Each box one column to the right of the last box that points at it."""
    level = dict.fromkeys(boxes, 0)
    missing = Counter(arrow.end for arrow in arrows)
    after: dict[str, list[str]] = {name: [] for name in boxes}
    for arrow in arrows:
        after[arrow.start].append(arrow.end)
    ready = [name for name in boxes if not missing[name]]
    while ready:
        name = ready.pop()
        for end in after[name]:
            level[end] = max(level[end], level[name] + 1)
            missing[end] -= 1
            if not missing[end]:
                ready.append(end)
    return level


def _ordered(level: Mapping[str, int], paths: Sequence[list[_Stop]]) -> _Columns:
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


def _placed(columns: _Columns, arrows: Sequence[Arrow]) -> dict[_Stop, _Spot]:
    """A box is as high as its arriving arrows need."""
    arriving = Counter(arrow.end for arrow in arrows)
    rows = [
        [_ROW * max(1, arriving[stop]) + 12 if isinstance(stop, str) else _ROW for stop in column]
        for column in columns
    ]
    heights = [sum(column) + _BETWEEN_ROWS * (len(column) - 1) for column in rows]
    spots: dict[_Stop, _Spot] = {}
    x = float(_MARGIN)
    for column, height, sizes in zip(columns, heights, rows, strict=True):
        width = max(len(stop) for stop in column if isinstance(stop, str)) * _CHARACTER + 24
        y = _MARGIN + (max(heights) - height) / 2
        for stop, size in zip(column, sizes, strict=True):
            spots[stop] = _Spot(x, y, width, size)
            y += size + _BETWEEN_ROWS
        x += width + _BETWEEN_COLUMNS
    return spots


def _arrows(
    arrows: Sequence[Arrow], paths: Sequence[list[_Stop]], spots: Mapping[_Stop, _Spot]
) -> Iterator[str]:
    """Those that arrive at one box are spread over its height, in the order from which they come."""
    arriving: dict[str, list[int]] = {}
    for number in sorted(range(len(arrows)), key=lambda number: spots[paths[number][-2]].middle):
        arriving.setdefault(arrows[number].end, []).append(number)
    for end, numbers in arriving.items():
        for rank, number in enumerate(numbers):
            arrival = spots[end].y + (rank + 0.5) * spots[end].height / len(numbers)
            yield _arrow(arrows[number].label, [spots[stop] for stop in paths[number]], arrival)


def _arrow(label: str, path: list[_Spot], arrival: float) -> str:
    start, *between, end = path
    x, y = start.x + start.width, start.middle
    line = f"M{x:.1f},{y:.1f}"
    for spot in between:
        line += _bend(x, y, spot.x, spot.middle) + f" H{spot.x + spot.width:.1f}"
        x, y = spot.x + spot.width, spot.middle
    line += _bend(x, y, end.x - _LABEL, arrival) + f" H{end.x - 6:.1f}"
    colour = _COLOURS.get(label, "#444444")
    return (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        f'<path d="M{end.x:.1f},{arrival:.1f} l-8,-4 v8 z" fill="{colour}"/>'
        f'<text x="{end.x - 11:.1f}" y="{arrival - 4:.1f}" font-size="10" text-anchor="end" '
        f'fill="{colour}">{escape(label)}</text>'
    )


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (x + to_x) / 2
    return f" C{half:.1f},{y:.1f} {half:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"


def _box(name: str, stressed: bool, spot: _Spot) -> str:
    fill, border = ("#ecfdf5", 2) if stressed else ("#f8fafc", 1)
    x, y = spot.x + spot.width / 2, spot.middle + 4
    return (
        f'<rect x="{spot.x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="6" '
        f'fill="{fill}" stroke="#334155" stroke-width="{border}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="#0f172a">{escape(name)}</text>'
    )
