"""Every operation there is."""

from __future__ import annotations

from folkmoot.http.api import runs, status
from folkmoot.http.operation import Operation

OPERATIONS: tuple[Operation, ...] = (*status.OPERATIONS, *runs.OPERATIONS)
