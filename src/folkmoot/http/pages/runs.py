"""The list of runs: filters, sort and page are its address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.duration import later, seconds
from folkmoot.domain.run_row import OPEN_STATUSES, RunSummary
from folkmoot.domain.work_session_events import WorkSessionLabelled
from folkmoot.engine.listing import waiting_first, with_holders
from folkmoot.http.house import house_of
from folkmoot.http.pages.kept import kept_of
from folkmoot.http.pages.rendering import page
from folkmoot.http.problems import Refused
from folkmoot.ports import Journal, Query, RunQuery
from folkmoot.views.figures import spark_bars, spark_line
from folkmoot.views.run_list import OPEN, PAGE, STATES, ListedRun, Wanted

SINCE = ("1h", "24h", "7d", "30d")


async def runs(request: Request) -> Response:
    moot, wanted = house_of(request).moot, _wanted(request)
    now, journal = moot.moot.clock.now(), moot.moot.journal
    query = _query(wanted, now)
    shown, found = await _page(journal, query, wanted.state)
    rows = await _listed(request, shown, now)
    kept = kept_of(request)
    day = await kept.day(now)
    return page(
        request,
        "runs.html",
        screen="runs",
        title="Runs",
        day=day,
        sparks={
            "runs": spark_bars(day.by_hour, "now-bar"),
            "cost": spark_line(day.cost_by_hour),
            "p95": spark_line(day.p95_by_hour),
            "failed": spark_bars(day.failed_by_hour, "hot"),
        },
        wanted=wanted,
        groups=list(_grouped(rows, wanted, now)),
        found=found,
        total=await journal.count_runs(RunQuery()),
        agents=sorted(kept.agents),
        states=STATES,
        spans=SINCE,
        address=_address(wanted),
        link=lambda **changes: _address(msgspec.structs.replace(wanted, **{"page": 1} | changes)),
        more=wanted.page * PAGE < found,
        longest=max((run.duration for run in rows), default=0.0) or 1.0,
        dearest=max((run.cost for run in rows), default=0.0) or 1.0,
        moment=lambda run: _moment(run.row.started_at, now),
    )


def _query(wanted: Wanted, now: str) -> RunQuery:
    return RunQuery(
        through=wanted.agent,
        since=_since(wanted.since, now),
        words=tuple(wanted.q.lower().split()),
        sort=wanted.sort,
        limit=PAGE,
        offset=(wanted.page - 1) * PAGE,
    )


async def _page(journal: Journal, query: RunQuery, state: str) -> tuple[list[RunSummary], int]:
    """The runs that are shown, and how many fit."""
    if state in OPEN:  # depends on who holds them
        every = replace(query, statuses=OPEN_STATUSES, limit=0, offset=0)
        found = await journal.runs(every)
        held = {row.run_id for row in await with_holders(journal, found) if row.status == state}
        fitting = [run for run in found if run.run in held]
        return fitting[query.offset : query.offset + query.limit], len(fitting)
    query = replace(query, statuses=(state,)) if state else query
    by_date = query.sort == "-started" and not state
    shown = await (waiting_first(journal, query) if by_date else journal.runs(query))
    return shown, await journal.count_runs(query)


async def _listed(request: Request, runs: Sequence[RunSummary], now: str) -> list[ListedRun]:
    moot, kept = house_of(request).moot, kept_of(request)
    rows = await with_holders(moot.moot.journal, runs)
    labels = {
        run.work_session: await _label(moot, run.work_session)
        for run in runs
        if run.work_session and not run.label
    }
    return [
        await kept.listed(row, run, run.label or labels.get(run.work_session, ""), now)
        for row, run in zip(rows, runs, strict=True)
    ]


async def _label(moot: Folkmoot, work_session: str) -> str:
    """What a work session is called now."""
    query = Query(stream=work_session, types=(WorkSessionLabelled.type,), newest_first=True, limit=1)
    async for entry in moot.moot.journal.read(query):
        if isinstance(entry.event, WorkSessionLabelled):
            return entry.event.label
    return ""


def _wanted(request: Request) -> Wanted:
    given = {name: value for name, value in request.query_params.items() if value}
    try:
        return msgspec.convert(given, Wanted, strict=False)
    except msgspec.ValidationError as error:
        raise Refused(400, f"there is no such list of runs: {error}") from error


def _since(span: str, now: str) -> str:
    if not span:
        return ""
    ago = seconds(span)
    if ago is None:
        raise Refused(400, "since must be a span of time such as 24h or 7d")
    return later(now, -ago)


def _grouped(runs: list[ListedRun], wanted: Wanted, now: str) -> Iterator[tuple[str, list[ListedRun]]]:
    """By what is under way and by day; in another order there are no groups."""
    if wanted.sort not in ("-started", "started"):
        yield "", runs
        return
    today = datetime.fromisoformat(now).astimezone().date()

    def group(run: ListedRun) -> str:
        if run.row.status in OPEN:
            return "Now"
        started = datetime.fromisoformat(run.row.started_at).astimezone().date()
        return "Today" if started == today else "Earlier"

    order = ("Now", "Today", "Earlier")
    for name, members in groupby(sorted(runs, key=lambda run: order.index(group(run))), key=group):
        yield name, list(members)


def _address(wanted: Wanted) -> str:
    fields = msgspec.structs.asdict(wanted)
    given = {name: value for name, value in fields.items() if value != getattr(Wanted(), name)}
    return f"/runs?{urlencode(given)}" if given else "/runs"


def _moment(started: str, now: str) -> str:
    began, at = (datetime.fromisoformat(moment) for moment in (started, now))
    ago = at - began
    if ago < timedelta(hours=1):
        minutes = max(0, int(ago.total_seconds() // 60))
        return f"{minutes} min ago" if minutes else "just now"
    local = began.astimezone()
    same_day = local.date() == at.astimezone().date()
    return local.strftime("%H:%M" if same_day else "%d %b %H:%M")


ROUTES = (Route("/", runs, name="start"), Route("/runs", runs))
