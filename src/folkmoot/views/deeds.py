"""What one event says was done, in the words of a person who compares two runs."""

from __future__ import annotations

from typing import Any

from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    BudgetExceeded,
    LlmFailed,
    LlmResponse,
    RouterSelected,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ClientAnswered,
    QuestionAnswered,
    ToolSettled,
)
from folkmoot.domain.message import Message, ToolCall
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE

LONGEST = 80


def deed(event: Event, longest: int = LONGEST) -> str:
    """What happened; `longest` characters of each text, 0 for all of it."""
    match event:
        case SessionStarted(agent=agent):
            return f"started {agent}"
        case LlmResponse(message=message):
            return _answer(message, longest)
        case LlmFailed(model=model, error=error):
            return f"got no answer from {model}: {_short(error, longest)}"
        case ToolStarted(tool=tool, arguments=arguments):
            return f"made the call {_call(tool, arguments, longest)}"
        case ToolFinished(tool=tool, text=text) | ToolFailed(tool=tool, text=text):
            return f"read from {tool}: {_quoted(text, longest)}"
        case RouterSelected(agent=agent):
            return f"routed to {agent}"
        case BudgetExceeded(limit=limit):
            return f"stopped at a limit: {limit}"
        case _:
            return _ended_or_decided(event, longest)


def _ended_or_decided(event: Event, longest: int) -> str:
    match event:
        case SessionCompleted():
            return "was done"
        case SessionFailed(outcome=outcome):
            return f"failed: {_short(outcome.error, longest)}"
        case SessionCancelled(reason=reason):
            return f"was cancelled: {reason}"
        case QuestionAnswered(text=text) | ClientAnswered(text=text):
            return f"was answered {_quoted(text, longest)}"
        case ApprovalApproved():
            return "was allowed the call"
        case ApprovalDenied(reason=reason):
            return f"was denied the call: {_short(reason, longest)}"
        case ToolSettled(decision=decision):
            return f"was told what became of its call: {decision}"
        case _:
            return f"noted {event.type}"


def _answer(message: Message, longest: int) -> str:
    if not message.calls:
        return f"said {_quoted(message.text, longest)}"
    return ", ".join(_wish(call, longest) for call in message.calls)


def _wish(call: ToolCall, longest: int) -> str:
    given = call.arguments
    if call.tool == FINAL_REPORT:
        return f"reported {_quoted(str(given.get('report_content', given.get('content_json', ''))), longest)}"
    if call.tool == ROUTE:
        return f"chose {given.get('agent')}"
    if call.tool == BROADCAST:
        return f"broadcast {_quoted(str(given.get('message')), longest)}"
    return f"called {_call(call.tool, given, longest)}"


def _call(tool: str, arguments: dict[str, Any], longest: int) -> str:
    given = ", ".join(f"{name}={_short(str(value), longest)}" for name, value in arguments.items())
    return f"{tool}({given})"


def _quoted(text: str, longest: int) -> str:
    return f'"{_short(text, longest)}"'


def _short(text: str, longest: int) -> str:
    line = " ".join(text.split()) if longest else text
    return line if not longest or len(line) <= longest else line[: longest - 1] + "…"
