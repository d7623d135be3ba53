"""Operations that change work sessions: the collaborations around goals, also those of plain runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from folkmoot.coordination import work_sessions as decide
from folkmoot.coordination.record_store import Decide
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.category import CategoryId
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.work_session import ArtifactKind, WorkSession, WorkSessionOpened, WorkState
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling, Text
from folkmoot.operations.project import OpenProject
from folkmoot.views.work_sessions import WorkRow

WorkName = Annotated[
    str,
    Spelling(terminal="WS", http=False, help="A work session's id, the beginning of one, or `last`."),
]
Reason = Annotated[str, Spelling(help="Kept with it.")]
_OF_WORK = "$response.body#/id"
_AFTER_OPENING = (
    "showWorkSession",
    "formTeam",
    "pauseWorkSession",
    "resumeWorkSession",
    "changeState",
    "cancelWorkSession",
)


def _post(verb: str) -> Http:
    links = dict.fromkeys(("showWorkSession", "changeState"), _OF_WORK)
    return Http(method="POST", path=f"/work-sessions/{{id}}/{verb}", problems=(409,), links=links)


class WorkRecord(WorkSession, kw_only=True, omit_defaults=False):
    """The record of a work session, with its activity."""

    status: str


class ControlledWork(msgspec.Struct):
    id: str
    status: str
    runs: list[str]
    """The runs that it concerns."""


def choose_row(rows: Sequence[WorkRow], name: str) -> WorkRow:
    """`rows` as they are listed, the newest first."""
    known = {row.id: row for row in reversed(rows)}
    return known[WORK_SESSION.resolve(known, name)]


async def find_row(project: OpenProject, name: str) -> WorkRow:
    return choose_row(await project.host.work_rows(), name)


def _with_status(record: WorkSession, status: str) -> WorkRecord:
    return WorkRecord(**msgspec.structs.asdict(record), status=status)


class ChangeOfWork(Operation[WorkRecord]):
    subject = "work"
    reads_files = False

    async def change(self, project: OpenProject, actor: Actor, decided: Decide[WorkSession]) -> WorkRecord:
        row = await find_row(project, getattr(self, "work", ""))
        changed = await project.work_sessions.change(row.id, decided, actor.author())
        return _with_status(changed, row.status)


class ControlOfWork(Operation[ControlledWork]):
    """Of a work session together with its runs."""

    subject = "work"
    form = True
    reads_files = False

    async def find_id(self, project: OpenProject) -> str:
        return (await find_row(project, getattr(self, "work", ""))).id


class OpenWorkSession(Operation[WorkRecord]):
    """Open a work session.

    The terminal prints its id.
    """

    command = "open"
    examples = (
        'folkmoot work open "Ship the parser" --constraint "by Friday"',
        'folkmoot run coder.ai "Write it." --work-session "$(folkmoot work open \'Ship the parser\')"',
    )
    http = Http(
        method="POST",
        path="/work-sessions",
        problems=(404,),
        links=dict.fromkeys(_AFTER_OPENING, _OF_WORK),
    )
    creates = True
    reads_files = False
    goal: Annotated[Text, Spelling(terminal="GOAL")]
    """What shall be reached."""
    label: str = ""
    """What it is called in lists."""
    constraints: Annotated[tuple[Text, ...], Spelling(terminal="--constraint")] = ()
    """What must hold on the way."""
    previous: Annotated[str, Spelling(metavar="WS")] = ""
    """The one that it goes on with."""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        previous = (await find_row(project, self.previous)).id if self.previous else ""
        opening = WorkSessionOpened(self.goal, self.label, self.constraints, previous)
        opened = await project.work_sessions.open(opening, actor.author(), chance=actor.id_seed)
        return _with_status(opened, "ACTIVE")

    def repeats(self, output: WorkRecord) -> bool:
        return output.goal == self.goal


class FormTeam(ChangeOfWork):
    """Put the team of a work session together, from the agents of the project, by role and capability.

    Refused if no agent fits a seat.
    """

    command = "team"
    examples = (
        "folkmoot work team last lead planner worker:python reviewer",
        "folkmoot work team last lead=ann worker=bob --may worker=execute,vote --tools worker=files.*",
    )
    http = _post("team")
    reads_files = True
    work: WorkName
    members: Annotated[tuple[Seat, ...], Meta(min_length=1, max_length=100), Spelling(terminal=None)]
    """What is wanted of each member: a role, capabilities, or an agent by its id; and what it may do."""
    name: str = ""
    """What the team is called."""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        row = await find_row(project, self.work)
        formed = await project.work_sessions.form(row.id, self.members, actor.author(), self.name)
        return _with_status(formed, row.status)


class ChangeState(ChangeOfWork):
    """Take a work session on to another state; a jump that makes no sense is refused."""

    command = "state"
    examples = (
        "folkmoot work state last Planning",
        'folkmoot work state last Executing --reason "step 2 is reopened"',
    )
    http = _post("state")
    work: WorkName
    state: Annotated[WorkState, Spelling(terminal=None)]
    """One that follows from where it is."""
    reason: Reason = ""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        return await self.change(project, actor, decide.becoming(self.state, self.reason))


class PauseWorkSession(ControlOfWork):
    """Pause a work session: its runs ask no model and begin nothing new, whichever process runs them.

    What is under way ends; then they wait. No run starts in it.
    """

    command = "pause"
    examples = ('folkmoot work pause last --reason "the budget is checked"',)
    http = _post("pause")
    work: WorkName
    reason: Reason = ""

    async def run(self, project: OpenProject, actor: Actor) -> ControlledWork:
        id = await self.find_id(project)
        return ControlledWork(id, "paused", await project.host.control.pause(id, self.reason, actor.author()))


class ResumeWorkSession(ControlOfWork):
    """Let a paused work session go on.

    With a server its runs go on there, unless others hold them.
    """

    command = "resume"
    examples = ("folkmoot work resume last",)
    http = _post("resume")
    work: WorkName
    reason: Annotated[str, Spelling(terminal=None)] = ""

    async def run(self, project: OpenProject, actor: Actor) -> ControlledWork:
        id = await self.find_id(project)
        runs = await project.host.control.resume(id, actor.author())
        for run in runs:
            project.host.go_on(run)
        return ControlledWork(id, "resumed", runs)


class CancelWorkSession(ControlOfWork):
    """Give a work session up and stop its runs, whichever process runs them."""

    command = "cancel"
    examples = ('folkmoot work cancel last --reason "no longer wanted"',)
    http = _post("cancel")
    work: WorkName
    reason: Reason = ""

    async def run(self, project: OpenProject, actor: Actor) -> ControlledWork:
        id = await self.find_id(project)
        return ControlledWork(
            id, "cancelled", await project.host.control.cancel(id, self.reason, actor.author())
        )


class CompleteWorkSession(ChangeOfWork):
    """Complete a work session that is in review, with a summary."""

    command = "complete"
    examples = ('folkmoot work complete last --summary "The parser ships."',)
    http = _post("complete")
    work: WorkName
    summary: Text
    """What came of it."""
    decisions: Annotated[tuple[str, ...], Spelling(terminal="--decision", metavar="ID")] = ()
    """Decisions to keep with it."""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        return await self.change(project, actor, decide.completed(self.summary, self.decisions))


class CategoriseWorkSession(Operation[dict[str, Any]]):
    """Say what a work session is about; that holds, whatever its words say."""

    command = "category"
    examples = ("folkmoot work category last legal_compliance",)
    http = Http(method="PATCH", path="/work-sessions/{id}/category", problems=(409,))
    subject = "work"
    form = True
    reads_files = False
    work: WorkName
    category: Annotated[CategoryId, Spelling(terminal="CATEGORY")]
    """Such as infra_ops; a wrong one lists all ten."""

    async def run(self, project: OpenProject, actor: Actor) -> dict[str, Any]:
        """Its record, and its row: what it is about depends on both."""
        id, decided = (await find_row(project, self.work)).id, decide.categorised(self.category)
        record = await project.work_sessions.change(id, decided, actor.author())
        return {**msgspec.to_builtins(record), **msgspec.to_builtins(await find_row(project, id))}

    def document(self, output: dict[str, Any]) -> dict[str, Any]:
        return output


class LabelWorkSession(ChangeOfWork):
    """Name a work session, for lists."""

    command = "label"
    examples = ('folkmoot work label last "The new parser"',)
    http = _post("label")
    form = True
    work: WorkName
    label: Annotated[str, Spelling(terminal="TEXT")]
    """One line; empty: it has no name of its own."""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        return await self.change(project, actor, decide.labelled(self.label))


class AddArtifact(ChangeOfWork):
    """Keep something that came of the work: a change, a document, a log, the result of tests."""

    command = "add"
    examples = ('git diff | folkmoot work add last code_diff - --title "The parser"',)
    http = _post("artifacts")
    work: WorkName
    kind: Annotated[ArtifactKind, Spelling(terminal="KIND")]
    """code_diff, doc, log or test_result."""
    title: Annotated[Text, Spelling(terminal=None)]
    """What it is called."""
    content: Annotated[str, Spelling(terminal=None)]
    """Its text."""

    async def run(self, project: OpenProject, actor: Actor) -> WorkRecord:
        row = await find_row(project, self.work)
        content = self.content.encode(errors="surrogateescape")  # files hold any bytes
        added = await project.work_sessions.add_artifact(
            row.id, self.kind, self.title, content, actor.author()
        )
        return _with_status(added, row.status)


OPERATIONS: tuple[OperationType, ...] = (
    OpenWorkSession,
    CategoriseWorkSession,
    FormTeam,
    ChangeState,
    CompleteWorkSession,
    LabelWorkSession,
    AddArtifact,
    PauseWorkSession,
    ResumeWorkSession,
    CancelWorkSession,
)
