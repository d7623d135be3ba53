"""The list of runs: filters, sort and page are its address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.duration import later, seconds
from folkmoot.http.house import house_of
from folkmoot.http.pages.kept import kept_of
from folkmoot.http.pages.rendering import page
from folkmoot.http.problems import Refused
from folkmoot.views.run_list import (
    OPEN,
    PAGE,
    STATES,
    ListedRun,
    Wanted,
    matching,
    pulse,
)
from folkmoot.views.sparks import bars, line

SINCE = ("1h", "24h", "7d", "30d")


async def runs(request: Request) -> Response:
    wanted, now = _wanted(request), house_of(request).moot.moot.clock.now()
    moment = datetime.fromisoformat(now).timestamp()
    every = (await kept_of(request).run_list()).listed(await house_of(request).moot.runs(), moment)
    found = matching(every, wanted, _since(wanted.since, now))
    shown = found[(wanted.page - 1) * PAGE : wanted.page * PAGE]
    day = pulse(every, now)
    return page(
        request,
        "runs.html",
        screen="runs",
        title="Runs",
        day=day,
        sparks={
            "runs": bars(day.by_hour, "now-bar"),
            "cost": line(day.cost_by_hour),
            "p95": line(day.p95_by_hour),
            "failed": bars(day.failed_by_hour, "hot"),
        },
        wanted=wanted,
        groups=list(_grouped(shown, wanted, now)),
        found=len(found),
        total=len(every),
        agents=sorted({agent for run in every for agent in run.chain}),
        states=STATES,
        spans=SINCE,
        address=_address(wanted),
        link=lambda **changes: _address(msgspec.structs.replace(wanted, **{"page": 1} | changes)),
        more=wanted.page * PAGE < len(found),
        longest=max((run.duration for run in shown), default=0.0) or 1.0,
        dearest=max((run.cost for run in shown), default=0.0) or 1.0,
        moment=lambda run: _moment(run.row.started_at, now),
    )


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
