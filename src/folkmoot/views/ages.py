"""How long ago something was, in the few letters that a row has room for."""

from __future__ import annotations

from folkmoot.domain.duration import seconds_between


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
