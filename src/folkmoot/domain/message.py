"""What models, tools and the runtime say to each other, and a call as people and hashes see it."""

from __future__ import annotations

import unicodedata
from hashlib import sha256
from typing import Any, Literal

import msgspec

from folkmoot.domain.part import Part
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value

Effect = Literal["pure", "keyed", "once"]
"""What a repetition would do: nothing, nothing under the same key, or harm."""
Access = Literal["read", "egress", "write", "exec"]
Risk = Literal["", "low", "medium", "high", "fork"]
"""Of a call that needs a person's word before it is made; empty: it needs none; `fork`: it may repeat what another
run did."""


class ToolCall(Value):
    """A model's wish to use a tool. Its name in the journal is its position in the answer, not this id."""

    id: str
    """The provider's id; only data: providers leave it empty, double it, or put a `/` into it."""
    tool: str
    """The name on the wire, such as `files__read`."""
    arguments: dict[str, Any] = {}
    malformed: str = ""
    """The raw arguments when they were no JSON object; the call is then refused with the reason."""


class Thought(Value):
    """What a model thought before it spoke. It is no part of an answer; some providers demand it back as it was."""

    kind: Literal["thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_details"]
    """The provider's own word for it."""
    text: str = ""
    """What can be read of it."""
    sealed: str = ""
    """What only the provider can read: a signature, what it hides, or the whole as JSON."""
    at: int = 0
    """How many pieces of its message, the text and each call, stand before it."""


class Message(Value):
    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """The id of the tool call that this message answers."""
    parts: tuple[Part, ...] = ()
    """Images and documents that go with the text."""
    thoughts: tuple[Thought, ...] = ()
    thinker: str = ""
    """The `provider/model` that had the thoughts: no other can use what is sealed."""


class Origin(Value):
    """What the caller of a run calls a tool of its own, where a model knows it by another name or in another form."""

    name: str
    namespace: str = ""
    """The group of tools that it belongs to there."""
    freeform: bool = False
    """It takes one text, which a model gives as the argument `input`."""


class ToolSpec(Value):
    """A tool as offered to a model and known to the registry."""

    name: str
    """The name on the wire."""
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    effect: Effect = "once"
    access: Access = "exec"
    asks: Risk = ""
    patient: bool = False
    """Bounded by limits of its own, such as an agent's, and not by `toolTimeout`."""
    strict: bool = False
    """Its arguments must fit their schema: providers that can hold a model to it are asked to."""
    origin: Origin | None = None
    untrusted: bool = False
    """Its results are text that nobody vouches for."""


class Attachment(Value):
    """Something in a tool's result that is no text: a model reads only where it is kept."""

    what: str
    """Such as `image image/png`."""
    content: bytes


Grounds = Literal["", "allowed", "granted", "approved", "retried"]
"""Why a call was let through: by the gate, or by what somebody said for the run, to this call, or after a doubt."""
Code = Literal[
    "",
    "too_many_calls",
    "not_offered",
    "schema",
    "gated",
    "no_task",
    "policy",
    "loop",
    "rate_limited",
    "budget",
    "denied",
    "approval_denied",
    "approval_expired",
    "unattended",
]
"""Which stage of the gate refused a call; `unattended`: a question for which nobody was there."""


class RecordState(Value):
    """How a task or a plan stands after a call."""

    id: str
    status: str
    agent: str
    """Whose it is."""


Records = tuple[RecordState, ...]


class ToolResult(Value):
    text: str
    failed: bool = False
    child: str = ""
    """The session that produced it, when the tool is an agent."""
    footer: str = ""
    """What the model reads after the text, however much of that is left out."""
    plain: bool = False
    """The model reads the text as it is, also when the call failed: it says so itself."""
    attachments: tuple[Attachment, ...] = ()
    parts: tuple[Part, ...] = ()
    """Those of them, kept, that a model may see."""
    sources: Sources = ()
    """What whoever wrote the text had read."""
    records: Records | None = None
    """What the tools for tasks and plans tell the runtime."""
    code: Code = ""
    """Why it failed, where that matters to the runtime."""
    recorded: bool = False
    """The text is what a model read then: nothing is put around or below it."""


class Usage(Value):
    """Tokens of one model request, as the provider reported them."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cache_read: int = 0
    tokens_cache_write: int = 0


class Answer(Value):
    """What one attempt at a model gave."""

    message: Message
    usage: Usage = Usage()
    stop: str = ""
    """The provider's own word for why it stopped."""
    cost_usd: float | None = None
    """What the provider says it cost; beats the price table."""


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
