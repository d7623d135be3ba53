"""A tool call in its one written form: what a person is shown, and what their word is bound to."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

import msgspec

from folkmoot.domain.message import ToolCall

MISSION_LENGTH = 150
_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
"""Categories of characters that show nothing, or change how others are shown."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for codes in (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
    for code in codes
}
"""Letters and marks that show nothing all the same."""


def canonical(tool: str, arguments: dict[str, object]) -> str:
    """The whole call as JSON in one line; the same call gives the same text."""
    call = {"tool": tool, "arguments": arguments}
    return msgspec.json.encode(call, order="deterministic").decode()


def fingerprint(call: ToolCall) -> str:
    return sha256(canonical(call.tool, call.arguments).encode()).hexdigest()


def visible(text: str) -> str:
    """Every character that could hide something from its reader is spelled as JSON does it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(char) if _hides(char) else char for char in text)


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN or char in _BLANK


def title(call: ToolCall) -> str:
    """What a person reads first. It is cut, so nobody decides on it alone; no part of it can pass for another."""
    if "mission" not in call.arguments:
        return f"TOOL EXECUTION\nTool: {call.tool}"
    specialist = str(call.arguments.get("specialist") or "unknown")
    mission = str(call.arguments["mission"])
    if len(mission) > MISSION_LENGTH:
        mission = mission[:MISSION_LENGTH] + "..."
    parts = (f"Tool: {call.tool}", f"Specialist: {specialist}", f"Mission: {mission}")
    return "\n".join(("SUB-AGENT EXECUTION", *map(visible, parts)))


def _spelled(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
