"""Amounts and times as the page shows them, always with as many digits so that columns compare; and sparklines."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.duration import seconds_between


def money(amount: float) -> str:
    """Four digits for small bills, because most are; empty for nothing."""
    if not amount:
        return ""
    if amount < 0.00005:
        return "<$0.0001"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def tokens(count: int) -> str:
    """Empty for none."""
    if count < 1000:
        return str(count) if count else ""
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def length(seconds: float) -> str:
    """How long something took."""
    if 0 < seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02} h"
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"


def spent(active: float, waiting: float, idle: float) -> str:
    """How a time was spent; what rounds to nothing is left out."""
    others = ((waiting, "waiting"), (idle, "idle"))
    parts = [f"{length(active)} active", *(f"{length(time)} {word}" for time, word in others if time >= 0.05)]
    return ", ".join(parts)


def moment(at: float) -> str:
    """A whole time, in as few words as it takes."""
    if at < 60:
        return f"{at:g} s"
    minutes, rest = divmod(round(at), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} m" if minutes else f"{hours} h"
    return f"{minutes} m {rest:02} s" if rest else f"{minutes} m"


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def age(at: str, now: str) -> str:
    """`41 m`, `3 h`, `2 d`; below a minute, `now`."""
    passed = seconds_between(at, now) if at else 0.0
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if count := int(passed // size):
            return f"{count} {unit}"
    return "now"


def clock_time(at: str) -> str:
    """`07:46:55`, in UTC."""
    return at[11:19]


_HIGH = 36.0
_TOP = 4.0


def spark_bars(series: Sequence[float], last: str) -> list[tuple[float, float, float, float, str]]:
    """Each as x, y, width (per cent) and height, with its class: `last` for the hour under way."""
    most = max(series, default=0) or 1
    step = 100 / max(len(series), 1)
    drawn = []
    for place, value in enumerate(series):
        height = round(max(2.0, value / most * (_HIGH - _TOP)), 1)
        look = last if place >= len(series) - 1 and value else ""
        drawn.append((round(place * step, 2), round(_HIGH - height, 1), round(step * 0.68, 2), height, look))
    return drawn


def spark_line(series: Sequence[float]) -> str:
    """The points of a polyline over a width of 100."""
    most = max(series, default=0) or 1
    step = 100 / max(len(series) - 1, 1)
    return " ".join(
        f"{place * step:.1f},{_HIGH - value / most * (_HIGH - _TOP):.1f}"
        for place, value in enumerate(series)
    )
