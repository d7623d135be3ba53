"""Amounts as people read them."""

from __future__ import annotations

from datetime import datetime

from folkmoot.views.figures import counted as counted


def tokens(count: int) -> str:
    return counted(count, "token")


def dollars(amount: float) -> str:
    """Four digits for small bills, because most are."""
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def seconds(elapsed: float) -> str:
    if elapsed < 60:
        return f"{elapsed:.1f} s"
    minutes, rest = divmod(round(elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"


def between(start: str | None, end: str | None) -> str:
    """The time from one timestamp to another; empty if one is missing."""
    if not start or not end:
        return ""
    return seconds((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def moment(timestamp: str) -> str:
    """A timestamp in the time zone of this machine."""
    return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
