"""`folkmoot decisions`: what agents and people decide together."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished

if TYPE_CHECKING:
    from folkmoot.cli.deciding import Change
    from folkmoot.domain.decision import Decision

app = typer.Typer(help="What agents and people decide together.", no_args_is_help=True)

Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `list` shows it, its beginning, or `last`.", show_default=False),
]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are; no agent's name.")]


@app.command("list")
def list_decisions(
    context: typer.Context,
    status: Annotated[str, typer.Option(help="Only those that are so, such as `voting`.")] = "",
    work_session: Annotated[str, typer.Option(metavar="ID", help="Only those of this one.")] = "",
    as_json: AsJson = False,
) -> None:
    """List decisions, the oldest first.

    \b
    Examples:
      folkmoot decisions list
      folkmoot decisions list --status escalated --json
    """
    from folkmoot.cli.deciding import all_decisions, row
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.domain.decision import STATUSES
    from folkmoot.errors import WrongUse
    from folkmoot.views.decisions import document

    if status not in ("", *STATUSES):
        raise WrongUse(f"a decision is {', '.join(STATUSES)}, not {status!r}")
    found = [
        decision
        for decision in finished(all_decisions(call_of(context).folder))
        if status in ("", decision.status) and work_session in ("", decision.work_session)
    ]
    if as_json:
        write_json([document(decision) for decision in found])
    elif not found:
        say(
            "no decision is recorded; `folkmoot decisions propose --help` says how to put something to the vote"
        )
    else:
        write_table(("id", "status", "until", "rule", "votes", "topic"), map(row, found))


@app.command()
def show(
    context: typer.Context,
    id: Id,
    adr: Annotated[bool, typer.Option("--adr", help="Print the record as Markdown.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Stay, and follow it until it is decided.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one decision: its options, what was said, and how it stands.

    \b
    Examples:
      folkmoot decisions show last
      folkmoot decisions show last --adr > adr.md
      folkmoot decisions show last --live
    """
    from folkmoot.cli.deciding import one_decision, watched
    from folkmoot.cli.output import console, write
    from folkmoot.views.adr import record

    folder = call_of(context).folder
    decision = finished(watched(folder, id, console()) if live else one_decision(folder, id))
    if adr:
        write(record(decision).rstrip("\n"))
    elif as_json or not live:
        _write(decision, as_json=as_json)


@app.command()
def propose(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What is to be decided.", show_default=False)],
    option: Annotated[list[str], typer.Option(metavar="ID=TEXT", help="What can be chosen; twice at least.")],
    voter: Annotated[
        list[str], typer.Option(metavar="NAME[=WEIGHT]", help="An agent's id or a person; may be repeated.")
    ],
    rule: Annotated[str, typer.Option(help="majority, unanimous, quorum:2 or quorum:50%.")] = "majority",
    window: Annotated[str, typer.Option(help="How long it is voted on, such as 30s, 1d or off.")] = "2m",
    evidence: Annotated[
        list[str] | None, typer.Option(metavar="REF", help="What speaks to it; may be repeated.")
    ] = None,
    lead: Annotated[str, typer.Option(metavar="NAME", help="Who decides if the votes do not.")] = "",
    risk: Annotated[str, typer.Option(help="low, medium, or high: then a person decides, no lead.")] = "low",
    work_session: Annotated[str, typer.Option(metavar="ID", help="What it belongs to.")] = "",
    by: As = "user",
    as_json: AsJson = False,
) -> None:
    """Put something to the vote.

    \b
    Examples:
      folkmoot decisions propose "Which database?" --option sqlite="SQLite, embedded" --option postgres \\
          --voter coder --voter ann=2 --rule quorum:50% --window 1h
    """
    from folkmoot.cli.deciding import read_options, read_risk, read_voters, read_window
    from folkmoot.coordination.decisions.proposing import read_rule
    from folkmoot.domain.decision import Proposal
    from folkmoot.domain.text import storable

    proposal = Proposal(
        storable(topic),
        read_options(option),
        read_voters(voter),
        read_rule(rule),
        read_window(window),
        tuple(map(storable, evidence or ())),
        lead=storable(lead),
        risk=read_risk(risk),
        work_session=storable(work_session),
    )
    chance = secrets.token_hex(16)
    _change(context, "", by, lambda desk, _, me: desk.propose(me, proposal, chance), as_json)


@app.command()
def comment(
    context: typer.Context,
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you say to it.", show_default=False)],
    reference: Annotated[
        list[str] | None, typer.Option(metavar="REF", help="What you refer to; may be repeated.")
    ] = None,
    by: As = "user",
    as_json: AsJson = False,
) -> None:
    """Say something about a decision before it is made.

    \b
    Examples:
      folkmoot decisions comment last "We have no server." --reference docs/hosting.md
    """
    from folkmoot.domain.text import storable

    references = [*map(storable, reference or ())]
    _change(context, id, by, lambda desk, id, me: desk.comment(id, me, storable(text), references), as_json)


@app.command()
def vote(
    context: typer.Context,
    id: Id,
    option: Annotated[
        str, typer.Argument(metavar="OPTION", help="An option's id, or `abstain`.", show_default=False)
    ],
    reason: Annotated[str, typer.Option(help="Kept with the vote.")] = "",
    by: As = "user",
    as_json: AsJson = False,
) -> None:
    """Vote, if you are one of its participants. Until it is decided you may vote again: the last vote counts.

    \b
    Examples:
      folkmoot decisions vote last sqlite --as ann
      folkmoot decisions vote last abstain --reason "I wrote one of them."
    """
    from folkmoot.domain.text import storable

    _change(context, id, by, lambda desk, id, me: desk.vote(id, me, option, storable(reason)), as_json)


@app.command()
def commit(
    context: typer.Context,
    id: Id,
    option: Annotated[str, typer.Option(help="The option's id, where the votes do not decide.")] = "",
    rationale: Annotated[str, typer.Option(help="Why; kept in the record.")] = "",
    by: As = "user",
    as_json: AsJson = False,
) -> None:
    """Make a decision: as the votes say, or, where they do not decide, as you say.

    \b
    Examples:
      folkmoot decisions commit last --rationale "The simplest that works."
      folkmoot decisions commit last --option sqlite --rationale "Somebody must." --as ann
    """
    from folkmoot.coordination.decisions.committing import Choice
    from folkmoot.domain.text import storable

    choice = Choice(option, storable(rationale))
    _change(context, id, by, lambda desk, id, me: desk.commit(id, me, choice), as_json)


def _change(context: typer.Context, id: str, by: str, change: Change, as_json: bool) -> None:
    from folkmoot.cli.deciding import changed

    _write(finished(changed(call_of(context), id, by, change)), as_json=as_json)


def _write(decision: Decision, *, as_json: bool) -> None:
    from folkmoot.cli.output import write, write_json
    from folkmoot.coordination.decisions.brief import brief
    from folkmoot.engine.clock import SystemClock
    from folkmoot.views.decisions import document

    write_json(document(decision)) if as_json else write(brief(decision, SystemClock().now()))
