"""What a person does to a run from its page: cancel, resume, fork."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from folkmoot.domain.agent import Agent
from folkmoot.engine.history import Fork
from folkmoot.http.house import house_of
from folkmoot.http.pages.form import Form, form_of, posted
from folkmoot.http.pages.kept import kept_of
from folkmoot.http.pages.rendering import page


async def cancel(request: Request) -> Response:
    run = request.path_params["run"]
    await house_of(request).moot.cancel(run, "cancelled from the page")
    return RedirectResponse(f"/runs/{run}", status_code=303)


async def resume(request: Request) -> Response:
    """What waits is not carried on by a word alone: that leads to what it waits for."""
    run, house = request.path_params["run"], house_of(request)
    steps = await kept_of(request).steps(run)  # refuses what there is not
    if steps.status == "waiting":
        asked = [f"/inbox/{item.id}" for item in await house.moot.inbox(run) if item.is_open]
        paused = [f"/work-sessions/{id}" for id in steps.waiting if id.startswith("ws_")]
        if waits_for := [*asked, *paused]:
            return RedirectResponse(waits_for[0], status_code=303)
    house.go_on(run)
    return RedirectResponse(f"/runs/{run}", status_code=303)


async def fork_form(request: Request) -> Response:
    return await _fork_page(request, Form(request.query_params))


async def fork(request: Request) -> Response:
    form = await form_of(request)

    async def again(error: str) -> Response:
        return await _fork_page(request, form, error)

    return await posted(_forked(request, form), again)


async def _forked(request: Request, form: Form) -> str:
    house, run = house_of(request), request.path_params["run"]
    at, agents = int(form.get("at", "0") or 0), await _agents(request)
    prompts = {agent.id: form.get(f"prompt:{agent.id}", agent.prompt) for agent in agents}
    models = {agent.id: form.get(f"model:{agent.id}", "") for agent in agents}
    asked = form.get("request", "")
    wanted = Fork(
        at=at,
        prompts={a.id: prompts[a.id] for a in agents if prompts[a.id].strip() != a.prompt.strip()},
        models={id: model for id, model in models.items() if model},
        request=asked if at == 1 and asked != (await kept_of(request).steps(run)).request else "",
    )
    forked = await house.moot.branch(run, wanted)
    house.go_on(forked)
    return f"/runs/{forked}"


async def _fork_page(request: Request, form: Form, error: str = "") -> Response:
    run = request.path_params["run"]
    steps = await kept_of(request).steps(run)
    given = form.get("at", "")
    at = min(int(given), steps.run_seq) if given.isdecimal() else steps.run_seq
    return page(
        request,
        "fork.html",
        screen="runs",
        title=f"Fork {run}",
        run=run,
        at=at,
        steps=steps,
        agents=await _agents(request),
        form=form,
        error=error,
    )


async def _agents(request: Request) -> list[Agent]:
    """Those that the run has met, or could."""
    graph = await house_of(request).moot.graph_of(request.path_params["run"])
    return sorted(graph.agents.values(), key=lambda agent: agent.id)


ROUTES = (
    Route("/runs/{run}/cancel", cancel, methods=["POST"]),
    Route("/runs/{run}/resume", resume, methods=["POST"]),
    Route("/runs/{run}/fork", fork_form, methods=["GET"]),
    Route("/runs/{run}/fork", fork, methods=["POST"]),
)
