"""`folkmoot collaborate`: a goal, a team, and everything from the plan to the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, Quiet, call_of, finished
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.coordination.collaboration.scene import Scene
    from folkmoot.coordination.work_sessions.forming import Seat
    from folkmoot.domain.errand import Errand
    from folkmoot.engine.collaboration import Stopped
    from folkmoot.views.result import Result


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
    --resume. The summary stands alone on stdout. The exit code is 6 if it waits for a person.

    \b
    Examples:
      folkmoot collaborate "Add a health check to the shop"
      folkmoot collaborate "Write the release notes" --member lead --member writer --member editor=reviewer
      folkmoot collaborate --resume last
    """
    from folkmoot.cli.output import say, write, write_json

    if bool(goal.strip()) == bool(resume):
        raise WrongUse("name a goal, or a work session to go on with: folkmoot collaborate --resume ID")
    wanted = _Wanted(goal, tuple(constraint or ()), tuple(members or ()), resume)
    stopped, scene = finished(_carried_on(call_of(context), wanted, quiet=quiet or as_json))
    work = scene.work
    if as_json:
        write_json({**_document(scene), "waiting": stopped.why})
    elif work.state == "Completed":
        write(work.summary)
    for why in () if as_json else stopped.why:
        say(f"{work.id} waits: {why}", "magenta")
    if stopped.why and not as_json:
        say(f"go on with: folkmoot collaborate --resume {work.id}")
    if not as_json and work.state == "Error":
        say(f"{work.id} failed: {work.history[-1].reason}", "bold red")
    return 6 if stopped.why else 0 if work.state == "Completed" else 1


class _Wanted:
    def __init__(
        self, goal: str, constraints: tuple[str, ...], members: tuple[str, ...], resume: str
    ) -> None:
        self.goal = goal
        self.constraints = constraints
        self.members = members
        self.resume = resume


async def _carried_on(call: Call, wanted: _Wanted, *, quiet: bool) -> tuple[Stopped, Scene]:
    import os

    from folkmoot.app import Folkmoot
    from folkmoot.cli.output import say
    from folkmoot.coordination.collaboration.moves import Move
    from folkmoot.engine.collaboration import Collaboration, gathered
    from folkmoot.views.collaboration import line

    def tell(move: Move) -> None:
        if not quiet and (said := line(move)):
            say(said)

    async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
        desk = moot.moot.work_sessions
        if wanted.resume:
            known = await desk.all()
            id = next(reversed(known), "") if wanted.resume == "last" else wanted.resume
        else:
            seats = _seats(wanted.members, moot)
            id = await gathered(moot.moot, wanted.goal, seats, wanted.constraints, os.urandom(8).hex())
            if not quiet:
                say(f"{id}: {wanted.goal}")

        async def start(agent: str, request: str, errand: Errand) -> Result:
            return await moot.run(agent, request, errand=errand)

        collaboration = Collaboration(moot.moot, id, start, tell)
        return await collaboration.carry_on(), await collaboration.scene()


def _seats(members: tuple[str, ...], moot: object) -> list[Seat]:
    from typing import get_args

    from folkmoot.app import Folkmoot
    from folkmoot.coordination.work_sessions.forming import Seat
    from folkmoot.domain.agent import MemberRole

    assert isinstance(moot, Folkmoot)
    if not members:
        return [Seat(agent.role, agent=agent.id) for agent in moot.graph.agents.values()]
    seats = []
    for each in members:
        name, _, role = each.partition("=")
        if role and role not in get_args(MemberRole):
            raise WrongUse(f"there is no role {role!r}; there are {', '.join(get_args(MemberRole))}")
        agent = moot.agent(name)
        seats.append(Seat(role or agent.role, agent=agent.id))  # type: ignore[arg-type]
    return seats


def _document(scene: Scene) -> dict[str, object]:
    work = scene.work
    return {
        "workSessionId": work.id,
        "goal": work.goal,
        "state": work.state,
        "summary": work.summary,
        "team": work.team,
        "plan": scene.plan,
        "decisions": [each.id for each in scene.decisions],
        "history": work.history,
    }
