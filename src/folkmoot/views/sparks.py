"""Sparklines: a series of numbers as bars or as a line, 36 units high."""

from __future__ import annotations

from collections.abc import Sequence

_HIGH = 36.0
_TOP = 4.0


def bars(series: Sequence[float], last: str) -> list[tuple[float, float, float, float, str]]:
    """Each as x, y, width (per cent) and height, with its class: `last` for the hour under way."""
    most = max(series, default=0) or 1
    step = 100 / max(len(series), 1)
    drawn = []
    for place, value in enumerate(series):
        height = round(max(2.0, value / most * (_HIGH - _TOP)), 1)
        look = last if place >= len(series) - 1 and value else ""
        drawn.append((round(place * step, 2), round(_HIGH - height, 1), round(step * 0.68, 2), height, look))
    return drawn


def line(series: Sequence[float]) -> str:
    """The points of a polyline over a width of 100."""
    most = max(series, default=0) or 1
    step = 100 / max(len(series) - 1, 1)
    return " ".join(
        f"{place * step:.1f},{_HIGH - value / most * (_HIGH - _TOP):.1f}"
        for place, value in enumerate(series)
    )
