"""`folkmoot work`: the collaborations around goals, with their teams, states and timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Target, call_of, finished

if TYPE_CHECKING:
    from folkmoot.coordination.keeping import Decide
    from folkmoot.domain.work_session import WorkSession

app = typer.Typer(help="Work sessions: the collaborations around goals.", no_args_is_help=True)

Work = Annotated[
    str,
    typer.Argument(
        metavar="WS", help="A work session's id, the beginning of one, or `last`.", show_default=False
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Kept with it.")]
Live = Annotated[bool, typer.Option("--live", help="Stay, and show what happens, until Ctrl-C.")]


@app.command("list")
def list_work(
    context: typer.Context,
    status: Annotated[
        str, typer.Option(metavar="STATUS", help="Only those that are ACTIVE, QUIET or ARCHIVED.")
    ] = "",
    category: Annotated[str, typer.Option(metavar="ID", help="Only of this category.")] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help="Only with events of this role.")] = "",
    live: Live = False,
    as_json: AsJson = False,
) -> None:
    """List all work sessions, where something happened last first; also those of plain runs.

    \b
    Examples:
      folkmoot work list
      folkmoot work list --status ACTIVE --category infra_ops
      folkmoot work list --live
    """
    from folkmoot.cli.working_shown import Wanted, show_rows

    show_rows(call_of(context).folder, Wanted.read(status, category, role), live=live, as_json=as_json)


@app.command()
def show(context: typer.Context, work: Work, as_json: AsJson = False) -> None:
    """Show one work session: goal, state, team, artifacts, snapshots and timeline.

    \b
    Examples:
      folkmoot work show last
      folkmoot work show ws_1f0a2b3c --json
    """
    from folkmoot.cli.output import write_json
    from folkmoot.cli.working import document
    from folkmoot.cli.working_shown import write_document

    shown = finished(document(call_of(context).folder, work))
    write_json(shown) if as_json else write_document(shown)


@app.command("open")
def open_work(
    context: typer.Context,
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What shall be reached.", show_default=False)],
    label: Annotated[str, typer.Option(metavar="TEXT", help="What it is called in lists.")] = "",
    constraint: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="What must be kept to; may be repeated.")
    ] = None,
    previous: Annotated[str, typer.Option(metavar="WS", help="The one that it goes on with.")] = "",
    as_json: AsJson = False,
) -> None:
    """Open a work session and print its id.

    \b
    Examples:
      folkmoot work open "Ship the parser" --constraint "by Friday"
      folkmoot run coder.ai "Write it." --work-session "$(folkmoot work open 'Ship the parser')"
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.cli.working import open_one
    from folkmoot.domain.work_session_events import WorkSessionOpened

    opening = WorkSessionOpened(goal, label, tuple(constraint or ()), previous=previous)
    record = finished(open_one(call_of(context).folder, opening))
    write_json(record) if as_json else write(record.id)


@app.command()
def team(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    work: Work,
    seats: Annotated[
        list[str],
        typer.Argument(
            metavar="SEAT…",
            help="`role`, `role:capability,capability`, or `role=agent`; one for each member.",
            show_default=False,
        ),
    ],
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the team is called.")] = "",
    may: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEAT=ACTIONS", help="All that seat may do: plan, vote, execute, review, decide."
        ),
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Option(metavar="SEAT=TOOLS", help="All tools that seat may use, `files.*`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put the team of a work session together, from the agents of the project, by role and capability.

    \b
    Examples:
      folkmoot work team last lead planner worker:python reviewer
      folkmoot work team last lead=ann worker=bob --may worker=execute,vote --tools worker=files.*
    """
    from folkmoot.cli.working import form
    from folkmoot.cli.working_shown import in_words, read_seats, report

    call = call_of(context)
    wanted = read_seats(seats, may or [], tools or [])
    graph = call.load(Target(folder=call.folder, agent="")).graph
    formed = finished(form(call.folder, work, graph, wanted, name))
    report(formed, f"has its team: {in_words(formed.team)}", as_json=as_json)


@app.command()
def state(
    context: typer.Context,
    work: Work,
    to: Annotated[
        str,
        typer.Argument(metavar="STATE", help="Planning, Executing, Reviewing, Cancelled or Error."),
    ],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Take a work session on to another state; a jump that makes no sense is refused.

    \b
    Examples:
      folkmoot work state last Planning
      folkmoot work state last Executing --reason "step 2 is reopened"
    """
    from typing import get_args

    from folkmoot.coordination.work_sessions.decide import becoming
    from folkmoot.domain.work_session import WorkState

    exact = {name.lower(): name for name in get_args(WorkState)}.get(to.lower(), to)
    _change(context, work, becoming(exact, reason), "is {record.state}", as_json=as_json)


@app.command()
def pause(context: typer.Context, work: Work, reason: Reason = "", as_json: AsJson = False) -> None:
    """Pause a work session: its runs ask no model and begin nothing new, whichever process runs them.

    What is under way ends; then they wait. No run starts in it.

    \b
    Examples:
      folkmoot work pause last --reason "the budget is checked"
    """
    _control(context, work, "pause", reason, as_json=as_json)


@app.command()
def resume(context: typer.Context, work: Work, as_json: AsJson = False) -> None:
    """Let a paused work session go on.

    \b
    Examples:
      folkmoot work resume last
    """
    _control(context, work, "resume", "", as_json=as_json)


@app.command()
def cancel(context: typer.Context, work: Work, reason: Reason = "", as_json: AsJson = False) -> None:
    """Give a work session up and stop its runs, whichever process runs them.

    \b
    Examples:
      folkmoot work cancel last --reason "no longer wanted"
    """
    _control(context, work, "cancel", reason, as_json=as_json)


@app.command()
def complete(
    context: typer.Context,
    work: Work,
    summary: Annotated[
        str, typer.Option(metavar="TEXT", help="What came of it.", show_default=False, prompt=False)
    ] = "",
    decision: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A decision to keep with it; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Complete a work session that is in review, with a summary.

    \b
    Examples:
      folkmoot work complete last --summary "The parser ships."
    """
    from folkmoot.coordination.work_sessions.decide import completed

    _change(context, work, completed(summary, tuple(decision or ())), "is {record.state}", as_json=as_json)


@app.command()
def category(
    context: typer.Context,
    work: Work,
    id: Annotated[
        str, typer.Argument(metavar="CATEGORY", help="Such as infra_ops; a wrong one lists all ten.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say what a work session is about; that holds, whatever its words say.

    \b
    Examples:
      folkmoot work category last legal_compliance
    """
    from folkmoot.coordination.work_sessions.decide import categorised, known_category

    _change(context, work, categorised(known_category(id)), "is about {record.category}", as_json=as_json)


@app.command()
def label(
    context: typer.Context,
    work: Work,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One line.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Name a work session, for lists.

    \b
    Examples:
      folkmoot work label last "The new parser"
    """
    from folkmoot.coordination.work_sessions.decide import labelled

    _change(context, work, labelled(text), "is called {record.label}", as_json=as_json)


@app.command()
def add(
    context: typer.Context,
    work: Work,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="code_diff, doc, log or test_result.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Its content; `-`: what comes on stdin.")],
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="What it is called; absent: the file's name.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Keep something that came of the work: a change, a document, a log, the result of tests.

    \b
    Examples:
      git diff | folkmoot work add last code_diff - --title "The parser"
    """
    from typing import get_args

    from folkmoot.cli import working
    from folkmoot.cli.working_shown import file_content, one_of, report
    from folkmoot.domain.work_session import ArtifactKind

    one_of("kind of artifact", kind, kinds := get_args(ArtifactKind))
    chosen = kinds[kinds.index(kind)]
    name, content = title or file, file_content(file)
    added = finished(working.add(call_of(context).folder, work, chosen, name, content))
    report(added, f"has a {kind} more: {name}", as_json=as_json)


@app.command()
def artifact(
    context: typer.Context,
    work: Work,
    name: Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its title, or the beginning of its hash.")],
) -> None:
    """Print the content of an artifact of a work session.

    \b
    Examples:
      folkmoot work artifact last "The parser" | git apply
    """
    from folkmoot.cli.working import content
    from folkmoot.cli.working_shown import write_content

    write_content(finished(content(call_of(context).folder, work, name)))


@app.command()
def timeline(context: typer.Context, work: Work, live: Live = False, as_json: AsJson = False) -> None:
    """Tell what happened in a work session, in order of time, one line each.

    With --live and --json, each line is one JSON document.

    \b
    Examples:
      folkmoot work timeline last
      folkmoot work timeline last --live
    """
    from folkmoot.cli.working_shown import show_timeline

    show_timeline(call_of(context).folder, work, live=live, as_json=as_json)


def _change(
    context: typer.Context, work: str, decided: Decide[WorkSession], said: str, *, as_json: bool
) -> None:
    from folkmoot.cli.working import change
    from folkmoot.cli.working_shown import report

    report(finished(change(call_of(context).folder, work, decided)), said, as_json=as_json)


def _control(context: typer.Context, work: str, what: str, reason: str, *, as_json: bool) -> None:
    from folkmoot.cli.working_shown import control

    control(call_of(context).folder, work, what, reason, as_json=as_json)
