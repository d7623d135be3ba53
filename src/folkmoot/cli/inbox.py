"""`folkmoot inbox` and `folkmoot approvals`: what runs wait for someone to say, and how to say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, call_of, finished
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

    from folkmoot.domain.inbox import Item, Reply

app = typer.Typer(help="What runs wait for someone to say.", no_args_is_help=True)
approvals = typer.Typer(
    help="The calls that wait for someone's word: the inbox, filtered.", no_args_is_help=True
)

ItemId = Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.", show_default=False)]
Everything = Annotated[bool, typer.Option("--all", help="Also what is decided already.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run at once, in this process.")]


@app.command("list")
def list_items(context: typer.Context, everything: Everything = False, as_json: AsJson = False) -> None:
    """List what waits for someone, of all runs, the oldest first.

    \b
    Examples:
      folkmoot inbox list
      folkmoot inbox list --all --json
    """
    _write_list(call_of(context), everything=everything, as_json=as_json)


@app.command()
def show(context: typer.Context, id: ItemId, as_json: AsJson = False) -> None:
    """Show one item: who asks, and the whole call or question.

    \b
    Examples:
      folkmoot inbox show ap_1f0a2b3c4d5e
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.views.inbox import document

    shown = document(finished(_found(call_of(context).folder, id)))
    if as_json:
        write_json(shown)
        return
    for key, value in shown.items():
        if value not in (None, "", []):
            said = ", ".join(value) if isinstance(value, list) else value
            write(f"{key:10} {said}".replace("\n", "\n" + " " * 11))


@app.command()
def answer(
    context: typer.Context,
    id: ItemId,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What the agent will read.", show_default=False)
    ],
    resume: Resume = False,
    as_json: AsJson = False,
) -> int:
    """Answer a question of an agent, or say what a tool of its caller gave.

    \b
    Examples:
      folkmoot inbox answer q_1f0a2b3c4d5e "The blue one."
      folkmoot inbox answer q_1f0a2b3c4d5e "The blue one." --resume
    """

    def reply(item: Item, by: str) -> Reply:
        if item.kind == "question" and not text.strip():
            raise WrongUse(f"there is nothing in the answer to {item.id}; give it a text")
        return item.answer(text, by)

    return _say(call_of(context), id, reply, resume, as_json)


@app.command()
def settle(
    context: typer.Context,
    id: ItemId,
    decision: Annotated[
        str,
        typer.Argument(metavar="done|retry|fail", help="What became of the call.", show_default=False),
    ],
    text: Annotated[str, typer.Option(help="Its result, or why it failed; the agent reads it.")] = "",
    resume: Resume = False,
    as_json: AsJson = False,
) -> int:
    """Say what became of a call that was under way when its process died, or that a tool of the run's caller failed.

    `done`: it happened, and its result is TEXT. `retry`: it did not, make it again. `fail`: tell the agent
    that it failed.

    \b
    Examples:
      folkmoot inbox settle doubt_1f0a2b3c4d5e done --text "refund 4711"
      folkmoot inbox settle doubt_1f0a2b3c4d5e fail --resume
    """
    from folkmoot.domain.inbox_events import Settlement

    words: tuple[Settlement, ...] = ("done", "retry", "fail")
    if decision not in words:
        raise WrongUse(f"a call in doubt is settled with {', '.join(words)}, not {decision!r}")
    settled = words[words.index(decision)]
    return _say(call_of(context), id, lambda item, by: item.settle(settled, text, by), resume, as_json)


@approvals.command("list")
def list_approvals(context: typer.Context, everything: Everything = False, as_json: AsJson = False) -> None:
    """List the calls that wait for someone's word.

    \b
    Examples:
      folkmoot approvals list
    """
    _write_list(call_of(context), "approval", everything=everything, as_json=as_json)


@approvals.command()
def approve(
    context: typer.Context,
    id: ItemId,
    for_run: Annotated[
        bool, typer.Option("--for-run", help="Equal calls of this run need no further word.")
    ] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Nor do equal calls of later runs: adds a rule to folkmoot.yaml.")
    ] = False,
    resume: Resume = False,
    as_json: AsJson = False,
) -> int:
    """Let a call be made: exactly the one that is shown, once.

    Equal calls are those of the same tool with the same arguments.

    \b
    Examples:
      folkmoot approvals approve ap_1f0a2b3c4d5e --resume
      folkmoot approvals approve ap_1f0a2b3c4d5e --for-run
    """
    folder = call_of(context).folder

    def reply(item: Item, by: str) -> Reply:
        if always:
            from folkmoot.cli.asking import remember

            remember(folder, item, by)
        return item.approve(by, "run" if for_run or always else "once")

    return _say(call_of(context), id, reply, resume, as_json)


@approvals.command()
def deny(
    context: typer.Context,
    id: ItemId,
    reason: Annotated[str, typer.Option(help="The agent reads it.")] = "",
    resume: Resume = False,
    as_json: AsJson = False,
) -> int:
    """Refuse a call; the agent reads why and goes on without it.

    \b
    Examples:
      folkmoot approvals deny ap_1f0a2b3c4d5e --reason "too much money"
    """
    return _say(call_of(context), id, lambda item, by: item.deny(reason, by), resume, as_json)


@approvals.command()
def revoke(
    context: typer.Context,
    id: ItemId,
    reason: Annotated[str, typer.Option(help="The agent reads it.")] = "",
    resume: Resume = False,
    as_json: AsJson = False,
) -> int:
    """Take an approval back, as long as the call was not made; the agent reads it as a denial.

    \b
    Examples:
      folkmoot approvals revoke ap_1f0a2b3c4d5e --reason "wrong customer"
    """
    return _say(call_of(context), id, lambda item, by: item.revoke(reason, by), resume, as_json)


def _write_list(call: Call, kind: str = "", *, everything: bool, as_json: bool) -> None:
    from folkmoot.cli.amounts import moment
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.views.inbox import document, what

    items = [
        item
        for item in finished(_items(call.folder))
        if kind in ("", item.kind) and (everything or item.is_open)
    ]
    if as_json:
        write_json([document(item) for item in items])
    elif not items:
        say("nothing waits for anybody")
    else:
        head = ("id", "kind", "status", "risk", "since", "agent", "run", "what")
        write_table(
            head,
            (
                (i.id, i.kind, i.status, i.risk, moment(i.at), f"{i.agent} ({i.span})", i.run, what(i))
                for i in items
            ),
        )


def _say(call: Call, id: str, reply: Callable[[Item, str], Reply], resume: bool, as_json: bool) -> int:
    """Leave the answer; then whoever holds the run goes on with it, or this process if it is asked to."""
    from folkmoot.cli.output import say, write_json
    from folkmoot.cli.records import called
    from folkmoot.cli.runs import go_on
    from folkmoot.operations.actor import account_name

    item, owner, shared = finished(
        _left(call.folder, id, lambda item: reply(item, account_name()), wake=not resume)
    )
    if resume and not owner:
        return go_on(call, item.run, as_json=as_json, quiet=False, wait=False)
    if as_json:
        write_json({"id": item.id, "status": "recorded", "runId": item.run, "heldBy": owner or None})
    elif owner:
        say(f"recorded; {called(owner)} goes on with run {item.run}")
    elif shared:
        say(f"recorded; a worker goes on with run {item.run}; without one: folkmoot runs resume {item.run}")
    else:
        say(f"recorded; to go on: folkmoot runs resume {item.run}")
    return 0


async def _items(folder: Path) -> list[Item]:
    from folkmoot.cli.records import has_run, opened
    from folkmoot.engine.commands import read_inbox

    if not has_run(folder):
        return []
    async with opened(folder) as journal:
        return await read_inbox(journal)


async def _found(folder: Path, id: str) -> Item:
    from folkmoot.cli.records import opened
    from folkmoot.engine.commands import find_item

    async with opened(folder) as journal:
        return await find_item(journal, id)


async def _left(
    folder: Path, id: str, reply: Callable[[Item], Reply], *, wake: bool
) -> tuple[Item, str, bool]:
    """The item, and who holds its run after the answer was left: whoever lets go from then on finds it. And whether
    there may be workers."""
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.commands import find_item
    from folkmoot.engine.local import LocalEngine
    from folkmoot.engine.owner import holder

    async with opened(folder, readonly=False) as journal:
        said = reply(await find_item(journal, id))
        item = await LocalEngine(journal, SystemClock()).reply(said, wake=wake)
        return item, await holder(journal, item.run), journal.shared
