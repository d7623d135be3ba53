"""How the agents of a project stand."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.agent import MemberRole
from folkmoot.domain.value import Value

MemberStatus = Literal["active", "idle", "interrupted"]


class Member(Value):
    """One agent. Times are as the journal has them; what is not known is empty."""

    agent_id: str
    role: MemberRole
    status: MemberStatus
    current_task_id: str = ""
    last_heartbeat: str = ""
    """When one of its sessions last gave a sign of life."""
    consecutive_failures: int = 0
    last_failure_reason: str = ""
    """Its kind."""
    last_failure: str = ""
    """What was said about it."""
    backoff_until: str = ""
