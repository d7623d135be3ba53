"""Let go of one kept child, on behalf of a person or a program, whoever holds its run."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunParked
from folkmoot.errors import NotFound
from folkmoot.orchestration.chats import Chats
from folkmoot.orchestration.freeze import destroy
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.views.live import live_children

DESTROY = "destroy"
"""The kind of a post that asks for it."""


def is_kept(past: Sequence[Draft], session: str) -> bool:
    return any(child.id == session for child in live_children(past))


def require_kept(past: Sequence[Draft], session: str) -> None:
    if not is_kept(past, session):
        raise NotFound(
            f"there is no kept session {session!r}; `folkmoot sessions list --live` shows those that are",
            code="session_not_found",
        )


def destroy_kept(log: RunLog, chats: Chats, session: str, reason: str) -> None:
    chat = chats.get(session)
    require_kept(log.drafts, session)
    assert chat is not None, "the registry and the view fold the same events"
    destroy(log, chats, chat, reason, by="user")


def destroy_post(session: str, reason: str) -> str:
    """The wish to let go of a session, as it lies in the inbox of a run that another process holds."""
    return f"{session} {reason}"


def take_in(run: Run, post: str) -> None:
    """As another process wishes; the session may have been let go meanwhile."""
    session, _, reason = post.partition(" ")
    if is_kept(run.log.drafts, session):
        destroy_kept(run.log, run.chats, session, reason)
        run.log.flush()


async def destroy_unheld(log: RunLog, session: str, reason: str) -> None:
    """In a run that nobody runs now; one that waits goes on waiting for the same."""
    chats = Chats()
    for draft in log.drafts:
        chats.fold(draft.span, draft.event)
    log.watch(chats)
    last = log.drafts[-1]
    destroy_kept(log, chats, session, reason)
    park_again(log, last)
    await log.settle()


def park_again(log: RunLog, last: Draft) -> None:
    """After something was noted in a run that nobody runs: if it waited, it still does."""
    if isinstance(last.event, RunParked):
        log.note(Place(span=last.span, session=last.session_id, agent=last.agent_id), last.event)
