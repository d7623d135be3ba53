"""Team state for people and programs: who stands how. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from folkmoot.domain.agent import Member

FILE = "team-state.json"


def team_document(members: Sequence[Member]) -> dict[str, Any]:
    """With the names that `team-state.json` has always had; what is not known is null."""
    updated = [ms for each in members if (ms := _milliseconds(each.last_heartbeat)) is not None]
    return {
        "version": 1,
        "agents": {each.agent_id: _document(each) for each in members},
        "lastUpdatedMs": max(updated, default=0),
    }


def projected(members: Sequence[Member]) -> dict[str, str]:
    """The file, by its name."""
    return {FILE: json.dumps(team_document(members), ensure_ascii=False, indent=2) + "\n"}


def _document(member: Member) -> dict[str, Any]:
    return {
        "agentId": member.agent_id,
        "role": member.role,
        "currentTaskId": member.current_task_id or None,
        "lastHeartbeatMs": _milliseconds(member.last_heartbeat),
        "status": member.status,
        "consecutiveFailures": member.consecutive_failures,
        "lastFailureReason": member.last_failure_reason or None,
        "backoffUntilMs": _milliseconds(member.backoff_until),
    }


def _milliseconds(written: str) -> int | None:
    return round(datetime.fromisoformat(written).timestamp() * 1000) if written else None
