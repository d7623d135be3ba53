"""Taking over a run that nobody holds, to end it for good."""

from __future__ import annotations

from folkmoot.domain.events import SESSION_ENDS, RunCancelled, SessionCancelled, SessionStarted
from folkmoot.orchestration.log import Place, RunLog


def bury(log: RunLog, reason: str) -> None:
    """Every session that began gets its end, then the run."""
    end_sessions(log, reason)
    root = log.drafts[0]
    log.note(Place(root.span, root.session_id, root.agent_id), RunCancelled(reason=reason))


def end_sessions(log: RunLog, reason: str) -> None:
    """Those too that began in an earlier activation, and that this one had not come back to."""
    ended = {draft.session_id for draft in log.drafts if isinstance(draft.event, SESSION_ENDS)}
    for draft in tuple(log.drafts):
        if isinstance(draft.event, SessionStarted) and draft.session_id not in ended:
            log.note(Place(draft.span, draft.session_id, draft.agent_id), SessionCancelled(reason=reason))
