"""`folkmoot events`: what happened, by whom, when and in which work session; over all runs and records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.call import AsJson, call_of, finished

if TYPE_CHECKING:
    from pathlib import Path

    from folkmoot.domain.entry import Entry
    from folkmoot.ports import Filter


def events(  # noqa: PLR0913  # because every filter is a parameter
    context: typer.Context,
    run: Annotated[
        str, typer.Option(metavar="ID", help="Of a run, a task, a plan, a decision or a work session alone.")
    ] = "",
    work_session: Annotated[
        str, typer.Option(metavar="ID", help="Of everything in a work session: `ws_…`.")
    ] = "",
    agent: Annotated[str, typer.Option(metavar="ID", help="Of one agent, or of `user`.")] = "",
    session: Annotated[str, typer.Option(metavar="ID", help="Of one agent session.")] = "",
    step: Annotated[str, typer.Option(metavar="ID", help="Of one step of a plan, with its runs.")] = "",
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="Of one role: `orchestration.task`, or its beginning.")
    ] = "",
    type: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Of this type, or `task.*`; may be repeated."),
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="WHEN", help="Not before this: `2026-03-01`, `2026-03-01T12:00`, `2h`.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="WHEN", help="Before this.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 100,
    before: Annotated[int, typer.Option(min=0, help="Only those before this number: the next page.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Look for events, the newest last. Everything that is recorded can be found here.

    \b
    Examples:
      folkmoot events --agent coder --since 2h
      folkmoot events --role conversation.main
      folkmoot events --type 'task.*' --type zombie.abandoned --json
      folkmoot events --work-session ws_1f0a2b3c-… --step s2
    """
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.ports import Filter
    from folkmoot.views.timeline import event_row

    wanted = Filter(
        work_session=work_session,
        run=run,
        session=session,
        agent=agent,
        step=step,
        role=_role(role),
        types=tuple(type or ()),
        since=_moment(since),
        until=_moment(until),
        before=before,
        limit=limit,
    )
    found = finished(_found(call_of(context).folder, wanted))
    if as_json:
        write_json([_document(entry) for entry in found])
        return
    rows = [(str(row.seq), row.ts, row.type, row.agent, row.place, row.said) for row in map(event_row, found)]
    if not rows:
        say("there are no such events")
        return
    write_table(("seq", "time", "type", "agent", "in", "what"), rows)


async def _found(folder: Path, wanted: Filter) -> list[Entry]:
    from folkmoot.cli.records import opened
    from folkmoot.journal.index import Index

    async with opened(folder) as journal:
        index = Index.open(folder)
        try:
            return [*reversed(await index.find(journal, wanted))]
        finally:
            index.close()


def _role(given: str) -> str:
    from typing import get_args

    from folkmoot.domain.entry import Role
    from folkmoot.errors import NotFound

    known: tuple[str, ...] = get_args(Role)
    fitting = [each for each in known if given and each.startswith(given)]
    if given and len(fitting) != 1:
        raise NotFound(f"there is no role {given!r}; there are {', '.join(known)}", code="role_not_found")
    return fitting[0] if fitting else ""


def _moment(given: str) -> str:
    from folkmoot.domain.duration import moment
    from folkmoot.engine.clock import SystemClock

    return moment(given, SystemClock().now())


def _document(entry: Entry) -> dict[str, Any]:
    import msgspec

    from folkmoot.journal.codec import to_line

    document: dict[str, Any] = msgspec.json.decode(to_line(entry))
    return document
