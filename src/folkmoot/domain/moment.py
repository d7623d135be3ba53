"""When something happened, as people write it and as events have it."""

from __future__ import annotations

from datetime import UTC, datetime

from folkmoot.domain.duration import later, seconds
from folkmoot.errors import BAD_VALUE, WrongUse

EXAMPLES = "2026-03-01, 2026-03-01T12:00 or 2h"


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
        raise WrongUse(f"{written!r} is no moment; write {EXAMPLES}", code=BAD_VALUE) from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
