"""What a caller reads when an agent that it called as a tool has ended: its own words, and the runtime's below them."""

from __future__ import annotations

from folkmoot.domain.call_events import SubAgentCompleted, SubAgentFailed
from folkmoot.domain.message import ToolResult
from folkmoot.domain.report import Outcome
from folkmoot.orchestration.ask_parent import exchanged, reminder
from folkmoot.orchestration.freeze import footer
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.spawn import steps_taken
from folkmoot.orchestration.stamp import stamp_of, stamped, unstamped
from folkmoot.orchestration.transfer import staged


def returned(run: Run, child: Invocation, outcome: Outcome) -> ToolResult:
    log, place = run.log, child.place
    if outcome.failed:
        error = staged(run, outcome, child)
        log.once(place, SubAgentFailed(session=child.session, error=error, error_type=outcome.stop_reason))
        return ToolResult(text=f"{child.agent.id}: {error}", failed=True, child=child.session)
    steps = steps_taken(run, child)
    stamp = stamp_of(log, child.span)
    log.once(place, SubAgentCompleted(child.session, True, steps, stamp.tool_calls, stamp.not_returned))
    asked = unstamped(reminder(exchanged(run, child)))
    below = asked + footer(run.chats, child.session) + stamped(stamp, outcome.report.claims)
    return ToolResult(text=unstamped(outcome.report.content), child=child.session, footer=below)
