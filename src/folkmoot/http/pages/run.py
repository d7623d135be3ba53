"""One run: its tree and waterfall, a drawer for one step of it, and the replay slider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.budget import Budget
from folkmoot.domain.message import Message
from folkmoot.domain.trace import trace_url
from folkmoot.errors import FolkmootError, NotFound
from folkmoot.http.pages.rendering import read_number, render_fragment, render_page
from folkmoot.http.pages.runs import RunCache
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.http.stream import event_source
from folkmoot.ports import Filter, Query
from folkmoot.views.costs import meters, narrowest
from folkmoot.views.drawer import Drawer, drawer, prompt_parts
from folkmoot.views.inbox import title_of
from folkmoot.views.result import Result
from folkmoot.views.run_nodes import Step
from folkmoot.views.run_tree import RunTree
from folkmoot.views.waterfall import Picture, axis_of, folded_words, ticks_of
from folkmoot.views.work_sessions import title

GROUP = 50
"""Rows that are fetched together."""
AT_ONCE = 2
"""Groups that come with the page."""
PAUSE = 0.25
"""Seconds between two updates of a page that is open."""
BEAT = 1.0
"""Seconds after which there is one though nothing happened: what is under way takes longer by then."""


@dataclass(frozen=True)
class RunView:
    """A run as one request looks at it."""

    run: str
    steps: RunTree
    picture: Picture
    status: str
    selected: int

    @property
    def title(self) -> str:
        return title(self.steps.label, [self.steps.request])

    def values(self) -> dict[str, Any]:
        """What every template of a run needs."""
        gaps = list(self.picture.axis.gaps())
        return {
            "sight": self,
            "run": self.run,
            "steps": self.steps,
            "axis": self.picture.axis,
            "axis_words": folded_words(gaps),
            "row": self.picture.row,
            "groups": self.groups,
            "at_once": AT_ONCE,
            "at": self.picture.at,
            "now": self.picture.now,
            "selected": self.selected,
            "status": self.status,
        }

    def groups(self) -> list[list[Step]]:
        flat = self.steps.flat()
        return [flat[at : at + GROUP] for at in range(0, len(flat), GROUP)] or [[]]


@dataclass(frozen=True)
class StepDrawer:
    """The drawer of one step, with the exact prompt."""

    drawer: Drawer
    prompt: tuple[Message, ...] = ()
    no_prompt: str = ""
    """Why it cannot be shown."""


async def run(request: Request) -> Response:
    """The whole page; for htmx, which asks for one step of it, only the drawer."""
    sight = await _read_run_view(request)
    headers = request.headers
    if "hx-request" in headers and "hx-history-restore-request" not in headers:
        return HTMLResponse(render_fragment("run_drawer.html", **await _drawer_values(request, sight)))
    budget = await _read_budget(get_server_state(request).moot, sight)
    values = (
        sight.values()
        | await _drawer_values(request, sight)
        | _head_values(sight, budget)
        | await _answer_values(get_server_state(request), sight)
        | await _trace_values(request, sight.run)
    )
    ticks = ticks_of(sight.steps)
    return render_page(request, "run.html", ticks=ticks, **values)


async def show_waterfall(request: Request) -> Response:
    """The tree alone, for another place of the replay slider."""
    sight = await _read_run_view(request)
    return HTMLResponse(render_fragment("run_fall.html", oob=False, **sight.values()))


async def show_rows(request: Request) -> Response:
    """A group of rows: from one step to before another, wherever they stand by now."""
    sight = await _read_run_view(request)
    first, until = read_number(request, "first"), read_number(request, "until")
    flat = sight.steps.flat()
    places = {step.seq: place for place, step in enumerate(flat)}
    if first not in places:
        raise NotFound(f"there is no step {first} in this run", code="step_not_found")
    group = flat[places[first] : places.get(until, len(flat))]
    return HTMLResponse(render_fragment("run_group.html", group=group, **sight.values()))


async def stream_run_page(request: Request) -> Response:
    """Rows as they change, and the head, for a page that is open."""
    sight = await _read_run_view(request)
    last = request.headers.get("last-event-id", "")
    seen = int(last) if last.isdecimal() else read_number(request, "after")
    return event_source.EventSource(get_server_state(request).clock, _updates(request, sight, seen))


async def _updates(request: Request, sight: RunView, seen: int) -> AsyncIterator[event_source.SseMessage]:
    house = get_server_state(request)
    moot, answer = house.moot, ""
    axis, status = sight.picture.axis, sight.status
    budget = await _read_budget(moot, sight)
    async for happened in house.hub.batches(Filter(run=sight.run), pause=PAUSE, beat=BEAT):
        steps = await get_server_state(request).one(RunCache).steps(sight.run)
        status = steps.status or ("running" if happened else status)
        now = _compute_elapsed(moot, steps, status)
        grown = now > axis.end or steps.over
        axis = axis_of(steps, now, live=not steps.over) if grown else axis
        sight = RunView(sight.run, steps, Picture(steps, axis, now), status, 0)
        if happened or steps.run_seq > seen or status == "running":
            values = sight.values() | _head_values(sight, budget) | await _answer_values(house, sight)
            changes = _changes(steps, seen)
            rows = render_fragment("run_fall.html", oob=True, **values) if grown else ""
            parts = [rows or render_fragment("run_changes.html", changes=changes, **values)]
            before, answer = answer, render_fragment("run_answer.html", oob=True, **values)
            parts.append(answer if answer != before else "")
            parts.append(render_fragment("run_head_live.html", **values))
            seen = steps.run_seq
            yield event_source.SseMessage("message", "".join(parts), seen)
        if steps.over:
            yield event_source.SseMessage("over", "", seen)
            return


def _changes(steps: RunTree, seen: int) -> list[tuple[Step, str]]:
    """What is not as it was, each with the row behind which it is new; empty if it was there before."""
    return [
        (step, _insertion_target(steps, step) if step.seq > seen else "")
        for step in steps.changed_since(seen)
    ]


def _insertion_target(steps: RunTree, step: Step) -> str:
    above = steps.row_above(step)
    return f"afterend:#op-{above.seq}" if above else "beforeend:#ops-end"


async def _read_run_view(request: Request) -> RunView:
    run, moot = request.path_params["run"], get_server_state(request).moot
    steps = await get_server_state(request).one(RunCache).steps(run)
    at = min(read_number(request, "at"), steps.run_seq)
    status = steps.status or await _read_open_status(moot, run)
    now = _compute_elapsed(moot, steps, status)
    picture = Picture(steps, axis_of(steps, now, live=status == "running"), now, at % steps.run_seq)
    first = steps.roots[0].seq if steps.roots else 0
    return RunView(run, steps, picture, status, read_number(request, "op") or first)


def _head_values(sight: RunView, budget: Budget) -> dict[str, Any]:
    return {
        "elapsed": sight.picture.now,
        "times": sight.steps.activity.times(sight.picture.now),
        "meters": meters(sight.steps, budget, sight.picture.now),
        "started": datetime.fromisoformat(sight.steps.began).astimezone().strftime("%H:%M:%S"),
    }


async def _answer_values(house: ServerState, sight: RunView) -> dict[str, Any]:
    """What stands on top: the answer, what was heard of it so far, or what somebody is asked."""
    steps = sight.steps
    asks = await house.moot.inbox(sight.run) if steps.activity.is_asking and not steps.over else []
    paused = [id for id in steps.waiting if id.startswith("ws_")] if steps.status == "waiting" else []
    return {
        "asks": [(item, title_of(item)) for item in asks if item.is_open],
        "paused": paused,
        "heard": house.tokens.texts.get(sight.run, "") if sight.status == "running" else "",
    }


async def _trace_values(request: Request, run: str) -> dict[str, str]:
    """What it is called in OpenTelemetry, where runs are sent there, and where people look at it."""
    moot = get_server_state(request).moot
    sinks = moot.graph.settings.sinks.values()
    if not any(sink.kind == "otel" for sink in sinks):
        return {"trace": "", "trace_url": ""}
    begun = [entry.draft async for entry in moot.moot.journal.read(Query(stream=run, limit=1))]
    trace = Result(run, begun).trace
    return {"trace": trace, "trace_url": trace_url(sinks, trace)}


async def _read_budget(moot: Folkmoot, sight: RunView) -> Budget:
    try:
        graph = await moot.graph_of(sight.run)
    except KeyError:
        return Budget()  # the project it was pinned to was swept
    roots = (agent.budget for agent in graph.agents.values() if agent.id in sight.steps.chain[:1])
    return narrowest(graph.settings.budget, *roots)


async def _drawer_values(request: Request, sight: RunView) -> dict[str, Any]:
    step = sight.steps.by_seq.get(sight.selected)
    if step is None and "op" in request.query_params:
        raise NotFound(f"there is no step {sight.selected} in this run", code="step_not_found")
    shown = await _open_drawer(get_server_state(request).moot, sight.run, step) if step else None
    return {
        "run": sight.run,
        "parts": prompt_parts,
        "opened": shown,
        "final": sight.steps.answer_of(step) if step else None,
        "at": sight.picture.at,
        "chosen": "op" in request.query_params,
    }


async def _open_drawer(moot: Folkmoot, run: str, step: Step) -> StepDrawer:
    seqs = tuple(step.entries)
    query = Query(stream=run, seqs=seqs, after=seqs[0] - 1)
    opened = drawer(step, [entry async for entry in moot.moot.journal.read(query)])
    if step.kind != "model":
        return StepDrawer(opened)
    try:
        return StepDrawer(opened, await moot.prompt(run, step.seq))
    except (FolkmootError, KeyError) as error:
        return StepDrawer(opened, no_prompt=str(error))


async def _read_open_status(moot: Folkmoot, run: str) -> str:
    row = await moot.row(run)
    return row.status if row else "interrupted"


def _compute_elapsed(moot: Folkmoot, steps: RunTree, status: str) -> float:
    """Seconds since it began: by the clock as long as it is under way or waits, else by its last event."""
    return steps.elapsed(moot.moot.clock.now()) if status in ("running", "waiting") else steps.now


ROUTES = (
    Route("/runs/{run}", run, name="run"),
    Route("/runs/{run}/fall", show_waterfall),
    Route("/runs/{run}/rows", show_rows),
    Route("/runs/{run}/live", stream_run_page),
)
