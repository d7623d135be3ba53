"""An agent is called as a tool: the one way, whichever tool it was called with."""

from __future__ import annotations

import msgspec

from folkmoot.domain.call_events import SubAgentExecuting, SubAgentSpawned
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import conversation
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.transfer import transfer
from folkmoot.session.schema import unfit_input

_SHOWN = 2000
"""Characters of a schema that the caller reads."""


def refuse(run: Run, child: Invocation) -> tuple[str, str]:
    """Why an agent that was called is not begun, and the type of this error; empty if it may begin."""
    if not run.log.of(child.span) and (wrong := unfit_input(child.agent, child.original)):
        schema = msgspec.json.encode(child.agent.input.schema or {}, order="deterministic").decode()
        fitting = f" that fits {schema[:_SHOWN]}" if child.agent.input.schema else ""
        return f"{wrong}; ask again with JSON{fitting}", "InvalidInput"
    if limit := run.ledger.admit(child.span):
        return f"not allowed: {limit}", "LimitExceeded"
    return "", ""


async def spawn(
    run: Run, inv: Invocation, child: Invocation, start: Start, *, custom: bool = False
) -> Outcome:
    """`child` was not refused. `custom`: its caller made it up."""
    spawned = SubAgentSpawned(
        parent=inv.session,
        session=child.session,
        specialist=child.agent.id,
        mission_length=len(child.original),
        has_custom_definition=custom,
        hierarchy_level=inv.session.count(":") + 1,
    )
    run.log.once(child.place, spawned)
    executing = SubAgentExecuting(session=child.session, max_steps=child.agent.tuning.max_turns)
    run.log.once(child.place, executing)
    return await transfer(run, inv, "delegate", child, start)


def steps_taken(run: Run, child: Invocation) -> int:
    """The turns of the called agent's own session, or of all its parts."""
    if not child.agent.in_parts:
        return max(
            (event.turn for event in run.log.of(child.span) if isinstance(event, LlmRequest)), default=0
        )
    asked = ((draft.span, draft.event) for draft in run.log.drafts if isinstance(draft.event, LlmRequest))
    return len({(span, event.turn) for span, event in asked if conversation(span) == child.span})
