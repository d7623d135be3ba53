"""What comes back from a mission, as its caller reads it."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from folkmoot.domain.call_events import CacheHit
from folkmoot.domain.report import Claim
from folkmoot.domain.value import Value
from folkmoot.orchestration.ask_parent import Exchange
from folkmoot.orchestration.stamp import Stamp


class Returned(Value, rename=None, omit_defaults=False):
    success: bool
    result: str | UnsetType
    session_id: str
    steps_taken: int = 0
    tool_calls: int | UnsetType = UNSET
    """Made by the agent and everyone below it, counted by the runtime; absent if it never began."""
    not_returned: tuple[str, ...] | UnsetType = UNSET
    """The agents below it that gave no result, if there are any."""
    claims: tuple[Claim, ...] | UnsetType = UNSET
    error: str | None = None
    error_type: str | UnsetType = UNSET
    artifact: str | UnsetType = UNSET
    """Holds the whole result, if `result` is a summary or was cut."""
    cached: bool | UnsetType = UNSET
    """The result of an equal call before; nothing ran."""
    asked_you: tuple[Exchange, ...] | UnsetType = UNSET
    """What the agent asked its caller meanwhile, and was told."""

    def counted(self, work: Stamp | CacheHit) -> Returned:
        """With what was really done for it."""
        return replace(self, tool_calls=work.tool_calls, not_returned=work.not_returned or UNSET)
