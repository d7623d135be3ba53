"""The shape of a run: its waterfall in miniature, in four lanes. People know their runs by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from folkmoot.views.activity import Interval
from folkmoot.views.waterfall import WIDTH, axis

_LANES = 4
_CELLS = 64
"""How fine a shape is drawn at most."""
_MOST = 2_000
_LOUD = {"transfer": 1, "tool": 2, "advisor": 3, "model": 4, "wait": 5, "fail": 6}
"""Where two would stand in the same place, the louder one does."""
_Key = tuple[str, int, int]


@dataclass(frozen=True)
class Mark:
    kind: str
    lane: int
    left: float
    width: float


@dataclass
class _Piece:
    kind: str
    lane: int
    start: float
    end: float | None = None


class Shape:
    """While it grows; of a very long run the first pieces."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._open: dict[_Key, _Piece] = {}
        self._lanes: dict[str, int] = {}
        self._advisors: set[str] = set()

    def session(self, id: str, *, advises: bool) -> None:
        self._lanes.setdefault(id, len(self._lanes) % _LANES)
        if advises:
            self._advisors.add(id)

    def begin(self, key: _Key, kind: str, at: float, session: str = "") -> None:
        if len(self._pieces) >= _MOST:
            return
        id = session or key[0]
        piece = _Piece("advisor" if id in self._advisors else kind, self._lanes.get(id, 0), at)
        self._pieces.append(piece)
        self._open[key] = piece

    def end(self, key: _Key, at: float, *, failed: bool = False) -> None:
        if piece := self._open.pop(key, None):
            piece.end = at
            piece.kind = "fail" if failed else piece.kind

    def marks(self, until: float, active: Sequence[Interval]) -> tuple[Mark, ...]:
        """On an axis that folds what is not `active`; in cells, so that 5,000 steps take no more room than fifty."""
        scale = axis(active, max(until, 0.001))
        cells: dict[tuple[int, int], str] = {}
        for piece in self._pieces:
            end = until if piece.end is None else piece.end
            first, last = (int(scale.x(at) / WIDTH * (_CELLS - 1)) for at in (piece.start, end))
            for cell in range(first, max(first + 1, last)):
                there = cells.get((piece.lane, cell), "")
                if _LOUD[piece.kind] > _LOUD.get(there, 0):
                    cells[piece.lane, cell] = piece.kind
        return tuple(_merged(cells))


def _merged(cells: dict[tuple[int, int], str]) -> list[Mark]:
    marks: list[tuple[int, int, int, str]] = []
    for (lane, cell), kind in sorted(cells.items()):
        if marks and marks[-1][0] == lane and marks[-1][2] == cell and marks[-1][3] == kind:
            marks[-1] = (lane, marks[-1][1], cell + 1, kind)
        else:
            marks.append((lane, cell, cell + 1, kind))
    unit = 100 / _CELLS
    return [
        Mark(kind, lane, round(first * unit, 1), round((last - first) * unit - 0.4, 1))
        for lane, first, last, kind in marks
    ]
