"""Durations and moments as people write them and as events have them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from folkmoot.errors import WrongUse

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
"""Seconds by unit."""
EXAMPLES = "200ms, 5s, 2m, 1h, 1d, 1500 (milliseconds) or off"

_MOST = 2**63
_WRITTEN = re.compile(rf"([0-9]{{1,20}}(?:\.[0-9]{{1,20}})?)({'|'.join(UNITS)})?", re.ASCII)


def seconds(written: object) -> float | None:
    """None if that is no duration. A number alone counts milliseconds; `off` is 0."""
    if written == "off":
        return 0.0
    if isinstance(written, int | float) and not isinstance(written, bool):
        return written / 1000 if 0 <= written <= _MOST else None
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    return float(found[1]) * UNITS[found[2] or "ms"] if found else None


def later(moment: str, seconds: float) -> str:
    """A moment as the clocks of `ports` write it, so much later."""
    at = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(earlier: str, later: str) -> float:
    """Not below 0: a clock may have been set back."""
    return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())


def written(seconds: float) -> str:
    """In the largest unit that gives a whole number."""
    if not seconds:
        return "off"
    for unit, size in reversed(UNITS.items()):
        if seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds * 1000:g}ms"


def moment(written: str, now: str) -> str:
    """A day or a moment in UTC, or how long ago. Empty stays empty; raises `WrongUse` for anything else."""
    if not written:
        return ""
    try:
        ago = seconds(written)
        if ago is not None:
            return later(now, -ago)
        at = datetime.fromisoformat(written)
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise WrongUse(f"{written!r} is no moment; write 2026-03-01, 2026-03-01T12:00 or 2h") from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
