"""The tools that end a session: what they look like, and whether a call of one is acceptable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Format
from folkmoot.domain.message import Access, Code, ToolCall, ToolSpec
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE, Broadcast, Claim, Report, Selection
from folkmoot.domain.value import Value
from folkmoot.session.schema import violation

T = TypeVar("T")


class Refusal(Value):
    """Why an exit was not taken; the model reads it and may try again."""

    reason: str
    schema: bool = False
    """The answer broke the schema that its agent declares."""
    code: Code = ""
    """Which stage of the gate refused a call."""


class Toolset(Value):
    """What a session is offered: its tools, and those that end it."""

    tools: tuple[ToolSpec, ...] = ()
    """All but the exits; on the last turn they are not offered."""
    exits: tuple[ToolSpec, ...] = ()
    """Tools whose call ends the session; orchestration gives them their meaning."""
    offered: tuple[ToolSpec, ...] = ()
    """Both together, the same object every turn."""
    schema_tokens: int = 0
    """What the description of all of them takes of the context."""
    hidden: tuple[ToolSpec, ...] = ()
    """Tools that are not offered, and whose calls nevertheless get an answer of their own."""
    last_exits: tuple[ToolSpec, ...] = ()
    """What is left of `exits` in the last turn; absent: all of them."""

    def leaving(self, final: bool) -> tuple[ToolSpec, ...]:
        """The exits that are open in this turn."""
        return (self.last_exits or self.exits) if final else self.exits

    @property
    def reports(self) -> bool:
        """Whether this session ends with a report; a member of a team only broadcasts."""
        return not self.exits or any(spec.name == FINAL_REPORT for spec in self.exits)


class _Claim(Value):
    """As a model writes it; what it says of the status is only said."""

    text: str
    evidence: tuple[str, ...] = ()
    status: str = ""


class _ReportArguments(Value, rename=None, forbid_unknown_fields=True):
    report_format: str = ""
    report_content: str = ""
    content_json: Any = None
    claims: Any = ()
    metadata: dict[str, Any] = {}


class _RouteArguments(Value, forbid_unknown_fields=True):
    agent: str
    message: str | None = None


_CLAIMS: dict[str, Any] = {
    "type": "array",
    "description": "What you found, each with the ids of the tool results that bear it out: the ev_… in the last "
    "line of a result. A claim without evidence is shown as unverified.",
    "items": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "evidence": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["text", "evidence"],
    },
}


def runtime_tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    required: Sequence[str] = (),
    access: Access = "read",
    **more: Any,
) -> ToolSpec:
    """A tool of the runtime itself: calling it again does no harm."""
    needed = {"required": [*required]} if required else {}
    parameters = {"type": "object", "properties": properties, **needed, "additionalProperties": False}
    return ToolSpec(name, description, parameters, effect="pure", access=access, **more)


def final_report(agent: Agent) -> ToolSpec:
    form = agent.output.format
    body = "content_json" if form == "json" else "report_content"
    schema = (
        (agent.output.schema or {"type": "object"}) if form == "json" else {"type": "string", "minLength": 1}
    )
    return runtime_tool(
        FINAL_REPORT,
        f"Give your final answer as {form}. Call it once, when the work is done: it ends your session.",
        {
            "report_format": {"type": "string", "const": form},
            body: schema,
            **({"claims": _CLAIMS} if agent.output.claims else {}),
            "metadata": {"type": "object"},
        },
        ["report_format", body],
        strict=form == "json" and agent.output.schema is not None,
    )


def route(destinations: tuple[tuple[str, str], ...]) -> ToolSpec:
    """The exit of a router; `destinations` are pairs of id and description."""
    lines = "\n".join(f"- {id}: {description}".rstrip(": ") for id, description in destinations)
    more = {"type": "string", "description": "What the agent should know beyond the request."}
    return runtime_tool(
        ROUTE,
        f"Pass the request on to another agent, who then answers instead of you.\n{lines}",
        {"agent": {"type": "string", "enum": [id for id, _ in destinations]}, "message": more},
        ["agent"],
    )


def judge_report(agent: Agent, call: ToolCall) -> Report | Refusal:
    arguments = read_arguments(call, _ReportArguments)
    if isinstance(arguments, Refusal):
        return arguments
    form = agent.output.format
    if arguments.report_format not in ("", form):
        return Refusal(reason=f"report_format must be {form!r}, not {arguments.report_format!r}")
    if form == "json":
        content = arguments.content_json
        if content is None:
            return _json_report(agent, arguments.report_content, arguments)
        return _checked(agent, content, arguments)
    if not arguments.report_content.strip():
        return Refusal(reason="report_content is empty")
    return _report(form, arguments.report_content, arguments)


def judge_text(agent: Agent, text: str) -> Report | Refusal:
    """Plain text without tool calls is adopted as the final report."""
    if not text.strip():
        return Refusal(reason="your answer was empty: give it in plain words, or call a tool")
    if agent.output.format == "json":
        return _json_report(agent, text, _ReportArguments())
    return Report(format=agent.output.format, content=text)


def judge_route(spec: ToolSpec, call: ToolCall) -> Selection | Refusal:
    arguments = read_arguments(call, _RouteArguments)
    if isinstance(arguments, Refusal):
        return arguments
    allowed = spec.parameters["properties"]["agent"]["enum"]
    if arguments.agent not in allowed:
        return Refusal(
            reason=f"there is no destination {arguments.agent!r}; choose one of {', '.join(allowed)}"
        )
    return Selection(agent=arguments.agent, message=(arguments.message or "").strip())


def _json_report(agent: Agent, text: str, arguments: _ReportArguments) -> Report | Refusal:
    try:
        content = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return Refusal(
            reason="the report must be JSON: give it as content_json of agent__final_report", schema=True
        )
    return _checked(agent, content, arguments)


def _checked(agent: Agent, content: Any, arguments: _ReportArguments) -> Report | Refusal:
    if agent.output.schema and (wrong := violation(content, agent.output.schema)):
        return Refusal(reason=f"content_json does not fit its schema: {wrong}", schema=True)
    return replace(_report("json", msgspec.json.encode(content).decode(), arguments), content_json=content)


def _report(form: Format, content: str, arguments: _ReportArguments) -> Report:
    """With its claims as they were made; nobody has looked at their evidence yet."""
    said = arguments.claims
    claims = map(_claim, said if isinstance(said, list) else [said] if said else [])
    return Report(format=form, content=content, claims=tuple(claims), metadata=arguments.metadata)


def _claim(said: Any) -> Claim:
    """What has another form is kept for what it says: no report is lost because of it."""
    if isinstance(said, str):
        return Claim(said)
    try:
        claim = msgspec.convert(said, _Claim)
    except msgspec.ValidationError as error:
        return Claim(msgspec.json.encode(said).decode(), reason=f"it has not the form of a claim: {error}")
    return Claim(claim.text, claim.evidence, "verified" if claim.status == "verified" else "unverified")


def read_arguments(call: ToolCall, form: type[T]) -> T | Refusal:
    if call.malformed:
        return Refusal(reason="the arguments are not a JSON object")
    try:
        return msgspec.convert(call.arguments, form)
    except msgspec.ValidationError as error:
        return Refusal(reason=str(error))


SENT = "Sent. The others read it before their next turn."
NOT_SENT = "(not sent: one broadcast ends your part of the cycle; say the rest in your next one)"


class _Arguments(Value, forbid_unknown_fields=True):
    message: str
    final: bool = False
    outcome: Literal["", "success", "failure"] = ""


def members_broadcast(others: str) -> ToolSpec:
    """`others` names who will read it."""
    return _broadcast(
        f"Tell your team what you have found or done: {others}. It ends your part of this cycle; what the others "
        "say reaches you before your next turn. With `final` you leave the team for good.",
        {
            "final": {"type": "boolean", "description": "True when you have nothing more to do."},
            "outcome": {
                "type": "string",
                "enum": ["success", "failure"],
                "description": "Only with `final`: whether you did your part.",
            },
        },
    )


def leads_broadcast(members: str) -> ToolSpec:
    return _broadcast(
        f"Tell the members of your team what to do next: {members}. Each that is still there then takes its next "
        "part, and you read what they say. When the work is done, give your final report instead.",
        {},
    )


def judge_broadcast(spec: ToolSpec, call: ToolCall, position: int) -> Broadcast | Refusal:
    said = read_arguments(call, _Arguments)
    if isinstance(said, Refusal):
        return said
    if not said.message.strip():
        return Refusal(reason="message is empty")
    if said.final and "final" not in spec.parameters["properties"]:
        return Refusal(reason="a lead ends its team with agent__final_report, not with a final broadcast")
    if said.outcome and not said.final:
        return Refusal(reason="outcome belongs to a final broadcast; set final to true, or leave it out")
    outcome = said.outcome or ("success" if said.final else "")
    return Broadcast(message=said.message, final=said.final, outcome=outcome, call=position)


def judge_said(text: str) -> Broadcast | Refusal:
    """Plain text without tool calls is adopted as a broadcast."""
    if not text.strip():
        return Refusal(reason=f"your answer was empty: call a tool, or tell your team with {BROADCAST}")
    return Broadcast(message=text)


def _broadcast(description: str, more: dict[str, Any]) -> ToolSpec:
    message = {"message": {"type": "string", "minLength": 1}}
    return runtime_tool(BROADCAST, description, {**message, **more}, ["message"])
