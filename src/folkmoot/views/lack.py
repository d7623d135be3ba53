"""What an answer of a model lacks, though it came: people take one that was cut off for a whole one."""

from __future__ import annotations

from folkmoot.domain.events import LlmResponse

_CUT = ("length", "max_tokens", "model_context_window_exceeded")
"""How providers say that a model reached the most output that it was allowed, or that it has room for."""


def lacking(answer: LlmResponse) -> str:
    """Empty if nothing is known to be missing."""
    if answer.stop in _CUT:
        return "cut off"
    return "" if answer.message.text.strip() or answer.message.calls else "empty"
