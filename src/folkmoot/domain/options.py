"""How an agent is run: the part of its declaration that may also come from settings and flags."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from folkmoot.domain.budget import Duration
from folkmoot.domain.value import Value

Names = Annotated[tuple[str, ...], Meta(extra={"written": "names"})]
"""A YAML list, or one string with commas."""
Count = Annotated[int, Meta(ge=1)]
Reasoning = Literal["none", "minimal", "low", "medium", "high", "default", "inherit"]
Contract = Literal["open", "strict"]
Strategy = Literal["native_react", "plan_and_execute", "plan_and_react", "spar"]
"""How an agent goes about its work: step by step as it comes, or by a plan."""


class Options(Value, forbid_unknown_fields=True):
    """How an agent is run. Set in its file, in `agents.defaults`, by environment or by flag."""

    models: Names | UnsetType = UNSET
    """`provider/model` or aliases from `folkmoot.yaml`, tried in order."""
    max_turns: Count | UnsetType = UNSET
    """Model requests with their tools; in the last turn only the exits are offered. Default 10."""
    max_tool_calls_per_turn: Count | UnsetType = UNSET
    """More calls in one answer are refused. Default 10."""
    max_retries: Count | UnsetType = UNSET
    """Attempts per turn, over all `models` in turn. Default 3."""
    llm_timeout: Duration | UnsetType = UNSET
    """For one attempt at a model. Default 10m."""
    tool_timeout: Duration | UnsetType = UNSET
    """For one tool call. Default 5m."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | UnsetType = UNSET
    """Sent only if set."""
    top_p: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    """Sent only if set."""
    top_k: Count | UnsetType = UNSET
    """Sent only if set."""
    max_output_tokens: Count | UnsetType = UNSET
    """Default 4096."""
    repeat_penalty: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    """Sent only if set."""
    tool_response_max_bytes: Count | UnsetType = UNSET
    """Longer tool results are kept as an artifact and cut. Default 12288."""
    reasoning: Reasoning | UnsetType | None = UNSET
    """How hard a reasoning model thinks; `default`, `inherit` and null send nothing."""
    reasoning_tokens: Count | UnsetType = UNSET
    """Thinking budget, where a provider takes one in tokens."""
    planning_strategy: Strategy | UnsetType = UNSET
    """Work without a plan (`native_react`), do a plan step by step (`plan_and_execute`), keep one at hand
    (`plan_and_react`), or sense, plan, act and reflect in rounds (`spar`). Default native_react."""
    caching: Literal["none", "full"] | UnsetType = UNSET
    """Prompt caching where it must be asked for. Default full."""
