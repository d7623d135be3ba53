"""What a person does to runs from the page: start, cancel, resume, fork."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.engine.history import Fork
from folkmoot.errors import WrongUse
from folkmoot.http.pages.rendering import PageForm, form_route, render_page
from folkmoot.http.pages.runs import RunCache
from folkmoot.http.state import get_server_state


async def start_form(request: Request) -> Response:
    moot = get_server_state(request).moot
    values = {
        "agents": sorted(moot.graph.agents.values(), key=lambda agent: agent.file),
        "sessions": await moot.moot.work_sessions.all(),
    }
    return render_page(request, "start.html", form=_read_filled_form(request), **values)


async def start(request: Request, form: PageForm) -> str:
    """An agent, a request, and perhaps the work session that it belongs to."""
    if not form["request"]:
        raise WrongUse("say what the agent shall do")
    errand = Errand(work_session=form["work_session"])
    return f"/runs/{await get_server_state(request).room.begin(form['agent'], form['request'], errand)}"


async def cancel(request: Request) -> Response:
    run = request.path_params["run"]
    await get_server_state(request).moot.cancel(run, "cancelled from the page")
    return RedirectResponse(f"/runs/{run}", status_code=303)


async def resume(request: Request) -> Response:
    """What waits is not carried on by a word alone: that leads to what it waits for."""
    run, house = request.path_params["run"], get_server_state(request)
    steps = await get_server_state(request).one(RunCache).steps(run)  # refuses what there is not
    if steps.status == "waiting":
        asked = [f"/inbox/{item.id}" for item in await house.moot.inbox(run) if item.is_open]
        paused = [f"/work-sessions/{id}" for id in steps.waiting if id.startswith("ws_")]
        if waits_for := [*asked, *paused]:
            return RedirectResponse(waits_for[0], status_code=303)
    house.go_on(run)
    return RedirectResponse(f"/runs/{run}", status_code=303)


async def fork_form(request: Request) -> Response:
    run, form = request.path_params["run"], _read_filled_form(request)
    steps = await get_server_state(request).one(RunCache).steps(run)
    given = form["at"]
    at = min(int(given), steps.run_seq) if given.isdecimal() else steps.run_seq
    values = {"run": run, "at": at, "steps": steps, "agents": await _list_agents(request), "form": form}
    return render_page(request, "fork.html", **values)


async def fork(request: Request, form: PageForm) -> str:
    house, run = get_server_state(request), request.path_params["run"]
    at, agents = int(form["at"] or 0), await _list_agents(request)
    prompts = {agent.id: form.get(f"prompt:{agent.id}", agent.prompt) for agent in agents}
    models = {agent.id: form[f"model:{agent.id}"] for agent in agents}
    asked = form["request"]
    wanted = Fork(
        at=at,
        prompts={a.id: prompts[a.id] for a in agents if prompts[a.id].strip() != a.prompt.strip()},
        models={id: model for id, model in models.items() if model},
        request=asked
        if at == 1 and asked != (await get_server_state(request).one(RunCache).steps(run)).request
        else "",
    )
    forked = await house.moot.branch(run, wanted)
    house.go_on(forked)
    return f"/runs/{forked}"


def _read_filled_form(request: Request) -> PageForm:
    """As somebody filled it in, or as a link does."""
    form: PageForm = getattr(request.state, "form", None) or PageForm(request.query_params)
    return form


async def _list_agents(request: Request) -> list[Agent]:
    """Those that the run has met, or could."""
    graph = await get_server_state(request).moot.graph_of(request.path_params["run"])
    return sorted(graph.agents.values(), key=lambda agent: agent.id)


ROUTES = (
    Route("/start", start_form, name="start-form"),
    form_route("/start", start, start_form),
    Route("/runs/{run}/cancel", cancel, methods=["POST"]),
    Route("/runs/{run}/resume", resume, methods=["POST"]),
    Route("/runs/{run}/fork", fork_form),
    form_route("/runs/{run}/fork", fork, fork_form),
)
