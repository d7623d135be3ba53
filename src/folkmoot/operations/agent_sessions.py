"""Operations on agent sessions: the tree of a run, those that can still be asked, and the tools taken from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from folkmoot.domain.inbox_events import GateChanged
from folkmoot.domain.naming import LAST, RUN, wire_name
from folkmoot.domain.spans import run_of
from folkmoot.engine.commands import CloseSession
from folkmoot.engine.runs import find_run_row, list_runs
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling, Text
from folkmoot.operations.project import OpenProject
from folkmoot.operations.runs import RunName, read_record
from folkmoot.operations.work_reading import ListWorkSessions
from folkmoot.ports import RunQuery
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import Branch, Gated, LiveChild, SessionRow, gates, live_children, session_rows

SessionName = Annotated[
    str, Spelling(terminal="SESSION", http=False, help="A session's id, as `sessions list` shows it.")
]
ToolNames = Annotated[
    tuple[Text, ...],
    Meta(min_length=1, max_length=100),
    Spelling(terminal="TOOL…", help="As agent files name them."),
]
_OF_FIRST = "$response.body#/0/id"


@dataclass(frozen=True)
class SessionTree:
    root: Branch | None
    """None: nothing has run, or the run was pruned."""
    unended: str = ""
    """What a session without an end is."""


class ListSessions(Operation[SessionTree]):
    """List the sessions of a run, children below their parents; a run that was pruned has none."""

    command = "list"
    examples = (
        "folkmoot sessions list",
        "folkmoot sessions list 20260101-101500 --json",
        "folkmoot sessions list --live last",
    )
    http = Http(
        method="GET",
        path="/runs/{id}/sessions",
        answer=list[SessionRow],
        links=dict.fromkeys(("gateSession", "destroySession"), _OF_FIRST),
    )
    subject = "id"
    reads = True
    needs_runs = False
    id: RunName = LAST

    async def run(self, project: OpenProject, actor: Actor) -> SessionTree:
        if self.id == LAST and not await list_runs(project.journal, RunQuery(limit=1)):
            return SessionTree(None)
        record = await read_record(project.journal, self.id)
        if record.row.status == "pruned":
            return SessionTree(None, "pruned")
        return SessionTree(RunTree(record.drafts).root, record.unended)

    def document(self, output: SessionTree) -> list[SessionRow]:
        return session_rows(output.root, output.unended) if output.root else []


class ListLiveSessions(Operation[list[LiveChild]]):
    """The finished sessions of a run that can still be asked."""

    http = Http(
        method="GET",
        path="/runs/{id}/sessions/live",
        name="liveSessions",
        pages="",
        links={"destroySession": _OF_FIRST},
    )
    subject = "id"
    reads = True
    id: RunName

    async def run(self, project: OpenProject, actor: Actor) -> list[LiveChild]:
        return live_children((await read_record(project.journal, self.id)).drafts)


class ListGates(Operation[list[Gated]]):
    """List the tools that were taken from sessions of a run."""

    command = "gates"
    examples = ("folkmoot sessions gates last",)
    http = Http(method="GET", path="/runs/{id}/gates", pages="")
    subject = "id"
    reads = True
    id: RunName = LAST

    async def run(self, project: OpenProject, actor: Actor) -> list[Gated]:
        return gates((await read_record(project.journal, self.id)).drafts)


class ChangedSession(msgspec.Struct, rename="camel", omit_defaults=True):
    id: str
    status: str
    session_id: str
    """The same."""
    gated: tuple[str, ...] = ()
    """Tools by their names on the wire."""
    freed: tuple[str, ...] = ()


class ChangeOfSession(Operation[ChangedSession]):
    subject = "id"
    reads_files = False
    needs_runs = True

    async def require_run(self, project: OpenProject, session: str) -> None:
        if not await find_run_row(project.journal, run_of(session)):
            raise RUN.missing(run_of(session))


class DestroySession(ChangeOfSession):
    """Let go of a finished session that is kept to be asked, whichever process runs its run.

    With it go all sessions that it kept itself. Returns when nobody can ask it any more.
    """

    command = "destroy"
    examples = ("folkmoot sessions destroy 20260101-101500-1a2b3c4d:sub_clerk_5e6f7a8b",)
    http = Http(method="POST", path="/agent-sessions/{id}/destroy", problems=(409,), by=False)
    id: SessionName
    reason: str = "destroyed by its user"
    """Kept with the run."""

    async def run(self, project: OpenProject, actor: Actor) -> ChangedSession:
        await self.require_run(project, self.id)
        await project.engine.send(self.id, CloseSession(self.id, self.reason))
        return ChangedSession(self.id, "destroyed", self.id)


class ChangeOfGate(ChangeOfSession):
    id: SessionName
    tools: ToolNames
    reason: str = ""
    """Kept with the run."""

    async def change(self, project: OpenProject, change: GateChanged, status: str) -> ChangedSession:
        await self.require_run(project, change.session)
        changed = await project.engine.gate(change)
        return ChangedSession(change.session, status, change.session, changed.gated, changed.freed)

    def terminal_document(self, output: ChangedSession) -> dict[str, Any]:
        changed = {"gated": output.gated, "freed": output.freed}
        return {"sessionId": output.id, "status": "recorded", **changed}


class GateSession(ChangeOfGate):
    """Take tools from a session: from here on it is not offered them, and its calls of them are refused.

    Other sessions keep them. Works on a run that goes on in any process, and on one that waits.
    """

    command = "gate"
    examples = ("folkmoot sessions gate 20260101-101500-1a2b3c4d files.write shell",)
    http = Http(method="POST", path="/agent-sessions/{id}/gate", problems=(409,))

    async def run(self, project: OpenProject, actor: Actor) -> ChangedSession:
        taken = tuple(map(wire_name, self.tools))
        change = GateChanged(self.id, gated=taken, by=actor.id, reason=self.reason)
        return await self.change(project, change, "gated")


class UngateSession(ChangeOfGate):
    """Give tools back that were taken from a session."""

    command = "ungate"
    examples = ("folkmoot sessions ungate 20260101-101500-1a2b3c4d files.write",)
    http = Http(method="POST", path="/agent-sessions/{id}/ungate", problems=(409,))

    async def run(self, project: OpenProject, actor: Actor) -> ChangedSession:
        back = tuple(map(wire_name, self.tools))
        change = GateChanged(self.id, freed=back, by=actor.id, reason=self.reason)
        return await self.change(project, change, "ungated")


class ListSessionsOfWork(ListWorkSessions):
    command = "work"
    http = None


ListSessionsOfWork.__doc__ = ListWorkSessions.__doc__

OPERATIONS: tuple[OperationType, ...] = (
    ListSessions,
    ListLiveSessions,
    DestroySession,
    GateSession,
    UngateSession,
    ListGates,
    ListSessionsOfWork,
)
