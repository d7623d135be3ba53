"""`folkmoot collaborate`: a goal, a team, and everything from the plan to the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from folkmoot.cli.call import AsJson, Call, Quiet, call_of, finished
from folkmoot.errors import NotFound, WrongUse

if TYPE_CHECKING:
    from collections.abc import Callable

    from folkmoot.app import Folkmoot
    from folkmoot.coordination.collaboration import Scene
    from folkmoot.domain.agent import MemberRole
    from folkmoot.domain.errand import Errand
    from folkmoot.engine.collaboration import Collaboration, Stopped
    from folkmoot.views.result import Result


class Wanted(NamedTuple):
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
    """Let a team of agents reach a goal: plan, review, carry out step by step, decide what blocks, review, sum up.

    The agent with the role `lead` approves the plan and breaks ties; the `planner` plans; the `reviewer` holds what was
    done against what was agreed. Everything is recorded: after a crash, or when a person has answered, go on with
    --resume. The summary stands alone on stdout. The exit code is 6 if it waits for a person. Ctrl-C lets what is under
    way end, a second one does not; nothing is lost either way.

    \b
    Examples:
      folkmoot collaborate "Add a health check to the shop"
      folkmoot collaborate "Write the release notes" --member lead --member writer --member editor=reviewer
      folkmoot collaborate --resume last
    """
    from folkmoot.cli.output import write, write_json

    if bool(goal.strip()) == bool(resume):
        which = "not both" if resume else "to go on with: folkmoot collaborate --resume ID"
        raise WrongUse(f"name a goal, or a work session {which}")
    wanted = Wanted(goal, tuple(constraint or ()), tuple(members or ()), resume)
    stopped, scene = finished(_carried_on(call_of(context), wanted, quiet=quiet or as_json))
    work = scene.work
    if as_json:
        write_json({"workSessionId": work.id, **scene.document(), "waiting": stopped.why})
    elif work.state == "Completed":
        write(work.summary.removesuffix("\n"))
    if not as_json:
        _tell_how_it_stands(stopped, scene)
    if stopped.why:
        return 130 if stopped.interrupted else 6
    return 0 if work.state == "Completed" else 1


def _tell_how_it_stands(stopped: Stopped, scene: Scene) -> None:
    from folkmoot.cli.output import say
    from folkmoot.engine.collaboration import INTERRUPTED

    work = scene.work
    for why in dict.fromkeys(stopped.why):
        say(f"{work.id} {'' if why == INTERRUPTED else 'waits: '}{why}", "magenta")
    if stopped.why:
        say(f"go on with: folkmoot collaborate --resume {work.id}")
    if work.state == "Error":
        say(f"{work.id} failed: {work.history[-1].reason}", "bold red")


async def _carried_on(call: Call, wanted: Wanted, *, quiet: bool) -> tuple[Stopped, Scene]:
    from folkmoot.app import Folkmoot
    from folkmoot.cli.output import say
    from folkmoot.coordination.collaboration import Move
    from folkmoot.engine.collaboration import Collaboration

    def tell(move: Move) -> None:
        if not quiet and move.line:
            say(move.line.partition("\n")[0])

    async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:

        async def start(agent: str, request: str, errand: Errand) -> Result:
            return await moot.run(agent, request, errand=errand)

        id = await _meant(moot, wanted)
        if not quiet and wanted.goal:
            say(f"{id}: {wanted.goal}")
        collaboration = Collaboration(moot.moot, id, start, tell)
        _leave_on_signals(collaboration, moot.hand_over)
        return await collaboration.carry_on(), await collaboration.scene()


async def _meant(moot: Folkmoot, wanted: Wanted) -> str:
    """The work session that is named, or a new one."""
    from folkmoot.domain.work_session import WorkSessionOpened
    from folkmoot.engine.collaboration import gathered, seats
    from folkmoot.engine.owner import chance

    if not wanted.resume:
        opening = WorkSessionOpened(wanted.goal, constraints=wanted.constraints)
        team = seats(moot.graph, map(_member, wanted.members))
        return (await gathered(moot.moot, opening, team, chance())).id
    return await moot.moot.work_sessions.find(wanted.resume)


def _leave_on_signals(collaboration: Collaboration, hand_over: Callable[..., None]) -> None:
    """The first lets what is under way end, the second does not; the runs are left for whoever goes on."""
    from folkmoot.cli.interrupt import on_stop_signals

    def leave() -> None:
        hand_over(at_once=collaboration.leaving)
        collaboration.leaving = True

    on_stop_signals(leave)


def _member(written: str) -> tuple[str, MemberRole | None]:
    from typing import get_args

    from folkmoot.domain.agent import MemberRole

    name, _, wanted = written.partition("=")
    roles: tuple[MemberRole, ...] = get_args(MemberRole)
    for role in roles:
        if role == wanted:
            return name, role
    if wanted:
        raise NotFound(f"there is no role {wanted!r}; there are {', '.join(roles)}", code="role_not_found")
    return name, None
