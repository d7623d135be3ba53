"""`folkmoot collaborate`: a goal, a team, and everything from the plan to the summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple, get_args

import typer

from folkmoot.app import Folkmoot
from folkmoot.cli.call import AsJson, GlobalOptions, Quiet, get_global_options, run_async
from folkmoot.cli.interrupt import on_stop_signals
from folkmoot.cli.output import write, write_json, write_stderr
from folkmoot.coordination.collaboration import Move, Scene
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.engine.claims import draw_id_seed
from folkmoot.engine.collaboration import (
    INTERRUPTED,
    Collaboration,
    CollaborationStop,
    build_seats,
    open_collaboration,
)
from folkmoot.errors import NotFound, WrongUse
from folkmoot.views.result import Result


class CollaborationRequest(NamedTuple):
    goal: str
    constraints: tuple[str, ...]
    members: tuple[str, ...]
    """`AGENT` or `AGENT=ROLE`."""
    resume: str
    """A work session to go on with, instead of all that."""


def collaborate(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    goal: Annotated[
        str, typer.Argument(metavar="[GOAL]", help="What the team shall reach.", show_default=False)
    ] = "",
    members: Annotated[
        list[str] | None,
        typer.Option(
            "--member",
            metavar="AGENT[=ROLE]",
            help="Who belongs to the team; may be repeated. Absent: every agent of the project.",
        ),
    ] = None,
    resume: Annotated[
        str, typer.Option("--resume", metavar="ID", help="Go on with this work session, or with `last`.")
    ] = "",
    constraint: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="What must hold on the way; may be repeated.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> int:
    """The agent with the role `lead` approves the plan and breaks ties; the `planner` plans; the `reviewer` holds
    what was done against what was agreed. Everything is recorded: after a crash, or when a person has answered, go
    on with --resume. The summary stands alone on stdout. The exit code is 6 if it waits for a person. Ctrl-C lets
    what is under way end, a second one does not; nothing is lost either way.

    \b
    Examples:
      folkmoot collaborate "Add a health check to the shop"
      folkmoot collaborate "Write the release notes" --member lead --member writer --member editor=reviewer
      folkmoot collaborate --resume last
    """

    if bool(goal.strip()) == bool(resume):
        which = "not both" if resume else "to go on with: folkmoot collaborate --resume ID"
        raise WrongUse(f"name a goal, or a work session {which}")
    wanted = CollaborationRequest(goal, tuple(constraint or ()), tuple(members or ()), resume)
    stopped, scene = run_async(
        _run_collaboration(get_global_options(context), wanted, quiet=quiet or as_json)
    )
    work = scene.work
    if as_json:
        write_json({"workSessionId": work.id, **scene.document(), "waiting": stopped.why})
    elif work.state == "Completed":
        write(work.summary.removesuffix("\n"))
    if not as_json:
        _write_status(stopped, scene)
    if stopped.why:
        return 130 if stopped.interrupted else 6
    return 0 if work.state == "Completed" else 1


def _write_status(stopped: CollaborationStop, scene: Scene) -> None:

    work = scene.work
    for why in dict.fromkeys(stopped.why):
        write_stderr(f"{work.id} {'' if why == INTERRUPTED else 'waits: '}{why}", "magenta")
    if stopped.why:
        write_stderr(f"go on with: folkmoot collaborate --resume {work.id}")
    if work.state == "Error":
        write_stderr(f"{work.id} failed: {work.history[-1].reason}", "bold red")


async def _run_collaboration(
    call: GlobalOptions, wanted: CollaborationRequest, *, quiet: bool
) -> tuple[CollaborationStop, Scene]:

    def tell(move: Move) -> None:
        if not quiet and move.line:
            write_stderr(move.line.partition("\n")[0])

    async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:

        async def start(agent: str, request: str, errand: Errand) -> Result:
            return await moot.run(agent, request, errand=errand)

        id = await _find_or_open_work_session(moot, wanted)
        if not quiet and wanted.goal:
            write_stderr(f"{id}: {wanted.goal}")
        collaboration = Collaboration(moot.moot, id, start, tell)
        _stop_on_signals(collaboration, moot.hand_over)
        return await collaboration.carry_on(), await collaboration.scene()


async def _find_or_open_work_session(moot: Folkmoot, wanted: CollaborationRequest) -> str:
    """The work session that is named, or a new one."""

    if not wanted.resume:
        opening = WorkSessionOpened(wanted.goal, constraints=wanted.constraints)
        team = build_seats(moot.graph, map(_parse_member, wanted.members))
        return (await open_collaboration(moot.moot, opening, team, draw_id_seed())).id
    return await moot.moot.work_sessions.find(wanted.resume)


def _stop_on_signals(collaboration: Collaboration, hand_over: Callable[..., None]) -> None:
    """The first lets what is under way end, the second does not; the runs are left for whoever goes on."""

    def leave() -> None:
        hand_over(at_once=collaboration.leaving)
        collaboration.leaving = True

    on_stop_signals(leave)


def _parse_member(written: str) -> tuple[str, MemberRole | None]:

    name, _, wanted = written.partition("=")
    roles: tuple[MemberRole, ...] = get_args(MemberRole)
    for role in roles:
        if role == wanted:
            return name, role
    if wanted:
        raise NotFound(f"there is no role {wanted!r}; there are {', '.join(roles)}", code="role_not_found")
    return name, None
