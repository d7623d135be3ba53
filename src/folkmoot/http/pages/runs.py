"""The list of runs: filters, sort and page are its address. And what the pages of runs remember between two looks."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.duration import later
from folkmoot.domain.run_row import OPEN_STATUSES, RunRow, RunSummary, agents_of
from folkmoot.engine.runs import add_holders, list_waiting_first
from folkmoot.errors import NotFound
from folkmoot.http.pages.rendering import read_moment, render_page
from folkmoot.http.problems import HttpError
from folkmoot.http.state import get_server_state
from folkmoot.ports import Journal, RunQuery
from folkmoot.views.figures import spark_bars, spark_line
from folkmoot.views.run_list import MOMENTS, OPEN, PAGE, STATES, ListedRun, Pulse, Wanted, listed, pulse
from folkmoot.views.run_tree import RunTree

T = TypeVar("T")
_MOST_TREES = 64
"""Runs whose trees are kept, more than one page lists; who looks at another one next folds it anew."""
_MOST_LISTED = 500
"""Runs that have ended whose rows are kept."""


class RunCache:
    """Folds of runs, kept so that looking again costs only what is new."""

    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._trees: OrderedDict[str, RunTree] = OrderedDict()
        self._listed: OrderedDict[str, ListedRun] = OrderedDict()
        self.agents: set[str] = set()
        """All that ever took part in a run."""
        self._counted = (-1, "")
        self._day = pulse((), 0, "2000-01-01T00:00:00.000Z")
        self._reading = asyncio.Lock()
        """One at a time: nobody folds an entry twice."""

    async def steps(self, run: str) -> RunTree:
        """All of a run so far. Raises `NotFound`."""
        async with self._reading:
            tree = self._trees.get(run) or RunTree()
            async for entry in self._moot.events(run, after=tree.position):
                tree.apply_entry(entry)
            if not tree.run_seq:
                raise NotFound(f"there is no run {run!r}", code="run_not_found")
            _remember(self._trees, run, tree, _MOST_TREES)
            return tree

    async def listed(self, row: RunRow, run: RunSummary, label: str, now: str) -> ListedRun:
        """A row of the list of runs; that of a run which has ended stays as it is."""
        known = self._listed.get(run.run)
        if known and (known.row, known.label) == (row, label):
            return known
        shown = listed(row, run, label, await self.steps(run.run), now)
        if not run.is_open:
            _remember(self._listed, run.run, shown, _MOST_LISTED)
        return shown

    async def day(self, now: str) -> Pulse:
        """The figures of the last day, and who takes part in runs, as far as `agents` does not know it yet."""
        position = await self._moot.position()
        if (position, now[:16]) != self._counted:
            journal = self._moot.moot.journal
            open = await journal.count_runs(RunQuery(statuses=OPEN_STATUSES))
            runs = await journal.group_runs(RunQuery(since=later(now, -86_400)), (*MOMENTS, "chain"))
            chains = {run[-2] for run in runs}
            if not self.agents:
                chains = {chain for chain, _ in await journal.group_runs(RunQuery(), ("chain",))}
            self.agents |= {agent for chain in chains for agent in agents_of(chain)}
            self._day = pulse(((*run[:-2], run[-1]) for run in runs), open, now)
            self._counted = position, now[:16]
        return self._day


def _remember(known: OrderedDict[str, T], run: str, value: T, most: int) -> None:
    """The oldest are forgotten."""
    known[run] = value
    known.move_to_end(run)
    while len(known) > most:
        known.popitem(last=False)


async def runs(request: Request) -> Response:
    moot, wanted = get_server_state(request).moot, _read_filter(request)
    now, journal = moot.moot.clock.now(), moot.moot.journal
    query = RunQuery(
        through=wanted.agent,
        since=read_moment(request, "since"),
        words=tuple(wanted.q.lower().split()),
        sort=wanted.sort,
        limit=PAGE,
        offset=(wanted.page - 1) * PAGE,
    )
    shown, found = await _read_page(journal, query, wanted.state)
    rows = await _list_rows(request, shown, now)
    cache = get_server_state(request).one(RunCache)
    day = await cache.day(now)
    return render_page(
        request,
        "runs.html",
        day=day,
        sparks={
            "runs": spark_bars(day.by_hour, "now-bar"),
            "cost": spark_line(day.cost_by_hour),
            "p95": spark_line(day.p95_by_hour),
            "failed": spark_bars(day.failed_by_hour, "hot"),
        },
        wanted=wanted,
        groups=list(_group_runs(rows, wanted, now)),
        found=found,
        total=await journal.count_runs(RunQuery()),
        agents=sorted(cache.agents),
        states=STATES,
        address=_list_url(wanted),
        link=lambda **changes: _list_url(replace(wanted, **{"page": 1} | changes)),
        more=wanted.page * PAGE < found,
        longest=max((run.duration for run in rows), default=0.0) or 1.0,
        dearest=max((run.cost for run in rows), default=0.0) or 1.0,
        moment=lambda run: _describe_start(run.row.started_at, now),
    )


async def _read_page(journal: Journal, query: RunQuery, state: str) -> tuple[list[RunSummary], int]:
    """The runs that are shown, and how many fit."""
    if state in OPEN:  # depends on who holds them
        every = replace(query, statuses=OPEN_STATUSES, limit=0, offset=0)
        found = await journal.runs(every)
        held = {row.run_id for row in await add_holders(journal, found) if row.status == state}
        fitting = [run for run in found if run.run in held]
        return fitting[query.offset : query.offset + query.limit], len(fitting)
    query = replace(query, statuses=(state,)) if state else query
    by_date = query.sort == "-started" and not state
    shown = await (list_waiting_first(journal, query) if by_date else journal.runs(query))
    return shown, await journal.count_runs(query)


async def _list_rows(request: Request, runs: Sequence[RunSummary], now: str) -> list[ListedRun]:
    moot, cache = get_server_state(request).moot, get_server_state(request).one(RunCache)
    rows = await add_holders(moot.moot.journal, runs)
    works = {run.work_session for run in runs if run.work_session and not run.label}
    found = {id: await moot.moot.work_sessions.look_up(id) for id in works}
    labels = {id: work.label for id, work in found.items() if work}
    return [
        await cache.listed(row, run, run.label or labels.get(run.work_session, ""), now)
        for row, run in zip(rows, runs, strict=True)
    ]


def _read_filter(request: Request) -> Wanted:
    given = {name: value for name, value in request.query_params.items() if value}
    try:
        return msgspec.convert(given, Wanted, strict=False)
    except msgspec.ValidationError as error:
        raise HttpError(400, f"there is no such list of runs: {error}") from error


def _group_runs(runs: list[ListedRun], wanted: Wanted, now: str) -> Iterator[tuple[str, list[ListedRun]]]:
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


def _list_url(wanted: Wanted) -> str:
    fields = msgspec.structs.asdict(wanted)
    given = {name: value for name, value in fields.items() if value != getattr(Wanted(), name)}
    return f"/runs?{urlencode(given)}" if given else "/runs"


def _describe_start(started: str, now: str) -> str:
    began, at = (datetime.fromisoformat(moment) for moment in (started, now))
    ago = at - began
    if ago < timedelta(hours=1):
        minutes = max(0, int(ago.total_seconds() // 60))
        return f"{minutes} min ago" if minutes else "just now"
    local = began.astimezone()
    same_day = local.date() == at.astimezone().date()
    return local.strftime("%H:%M" if same_day else "%d %b %H:%M")


ROUTES = (Route("/", runs, name="start"), Route("/runs", runs))
