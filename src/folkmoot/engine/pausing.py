"""A paused work session: its runs ask no model and begin nothing, whichever process holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS, LlmRequest, RunParked, ToolStarted
from folkmoot.domain.spans import ROOT
from folkmoot.domain.work_session_events import WorkSessionPaused, WorkSessionResumed
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.log import Place
from folkmoot.ports import Claim, Journal, Query
from folkmoot.views.result import Result

LOOK = "work_session"
"""The kind of a post that says: look whether your work session is paused, or goes on."""
_ENDS = tuple(end.type for end in RUN_ENDS)


async def is_paused(journal: Journal, work_session: str) -> bool:
    types = (WorkSessionPaused.type, WorkSessionResumed.type)
    async for entry in journal.read(Query(stream=work_session, types=types, newest_first=True, limit=1)):
        return isinstance(entry.event, WorkSessionPaused)
    return False


async def rested(journal: Journal, run: Run, claim: Claim) -> Result:
    """Of a run that was taken over while its work session is paused: it waits until that goes on."""
    log = run.log
    parked = RunParked(waiting=(log.work_session, *run.inbox.open_ids))
    if log.drafts[-1].event != parked:
        log.note(Place(ROOT, run.id, log.drafts[0].agent_id), parked)
        await log.settle()
    await journal.release(claim)
    return Result(run.id, log.drafts)


async def open_runs(journal: Journal, work_session: str) -> list[str]:
    """The runs of a work session that have not ended."""
    runs: dict[str, None] = {}
    async for entry in journal.read(Query(types=("run.started", *_ENDS))):
        if isinstance(entry.event, RUN_ENDS):
            runs.pop(entry.stream, None)
        elif entry.draft.work_session_id == work_session:
            runs[entry.stream] = None
    return list(runs)


class Rest(NamedTuple):
    """Where in the record of a run its work session was paused: it began nothing between two entries."""

    began: int
    """The last entry with which something began, or before which the run was parked."""
    parked: int
    work_session: str


def rests(drafts: Sequence[Draft]) -> Iterator[Rest]:
    began = -1
    for place, draft in enumerate(drafts):
        match draft.event:
            case RunParked(waiting=(str(id), *_)) if id.startswith("ws_"):
                yield Rest(began, place, id)
                began = place
            case LlmRequest() | ToolStarted() | RunParked():
                began = place
