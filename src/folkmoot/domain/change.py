"""How much a call changes in a file: what escalation goes by before the call is made."""

from __future__ import annotations

from folkmoot.domain.value import Value


class Change(Value):
    path: str
    """In the working folder, without `.` and double slashes."""
    added: int = 0
    removed: int = 0

    @property
    def lines(self) -> int:
        return self.added + self.removed
