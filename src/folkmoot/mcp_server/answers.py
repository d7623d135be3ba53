"""What a client is told of a run: its report, or what went wrong, or what it waits for; and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from mcp_types import CallToolResult, ElicitRequest, InputRequiredResult, TextContent

from folkmoot.domain.item import Item
from folkmoot.mcp_server.asking import form
from folkmoot.mcp_server.offers import RESUME
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result

ABOUT = "folkmoot/run"
"""Where in `_meta` it stands which run this was, how it ended and what it cost."""


def answer(result: Result) -> CallToolResult:
    """Everything but a report is an error to the client: the tool has not done what it is there for."""
    report = result.final_report
    if not result.success or report is None:
        return CallToolResult(content=[_text(_wrong(result))], is_error=True, _meta=about(result))
    structured = report.content_json if isinstance(report.content_json, dict) else None
    return CallToolResult(content=[_text(report.content)], structured_content=structured, _meta=about(result))


def question(result: Result, items: Sequence[Item]) -> InputRequiredResult:
    """What the run waits for, as forms; the client calls again with what was filled in, and with the run's id."""
    forms = {item.id: ElicitRequest(params=form(item)) for item in items}
    return InputRequiredResult(input_requests=dict(forms), request_state=result.run_id, _meta=about(result))


def refusal(words: str) -> CallToolResult:
    """Nothing was run."""
    return CallToolResult(content=[_text(words)], is_error=True)


def about(result: Result) -> dict[str, Any]:
    report = result.final_report
    facts = {
        "runId": result.run_id,
        "status": result.status,
        "stopReason": result.stop_reason,
        "error": result.error,
        "finalAgentId": result.final_agent_id,
        "waiting": result.waiting,
        "claims": report.claims if report else (),
        "totals": result.totals,
    }
    return {ABOUT: msgspec.to_builtins(facts)}


def _wrong(result: Result) -> str:
    needs = [*what_it_needs(result)]
    if needs:
        needs[0] = f"The run {result.run_id} is {result.status}.\n{needs[0]}"
        return "\n".join((*needs, f"or call the tool {RESUME} with the run's id"))
    where = f" at {result.final_agent_id}" if result.final_agent_id else ""
    return f"{result.status}{where}: {result.error or 'without a report'} (run {result.run_id})"


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
