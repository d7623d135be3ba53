"""Start a run from the page: an agent, a request, and perhaps the work session that it belongs to."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.errand import Errand
from folkmoot.errors import WrongUse
from folkmoot.http.house import house_of
from folkmoot.http.pages.form import Form, form_of, posted
from folkmoot.http.pages.rendering import page


async def start_form(request: Request) -> Response:
    return await _form_page(request, Form(request.query_params))


async def start(request: Request) -> Response:
    form = await form_of(request)

    async def again(error: str) -> Response:
        return await _form_page(request, form, error)

    return await posted(_started(request, form), again)


async def _started(request: Request, form: Form) -> str:
    if not form.get("request"):
        raise WrongUse("say what the agent shall do")
    errand = Errand(work_session=form.get("work_session", ""))
    run = await house_of(request).room.begin(form.get("agent", ""), form["request"], errand)
    return f"/runs/{run}"


async def _form_page(request: Request, form: Form, error: str = "") -> Response:
    moot = house_of(request).moot
    agents = sorted(moot.graph.agents.values(), key=lambda agent: agent.file)
    sessions = await moot.moot.work_sessions.all()
    return page(
        request,
        "start.html",
        screen="start",
        title="Start a run",
        agents=agents,
        sessions=sessions,
        form=form,
        error=error,
    )


ROUTES = (
    Route("/start", start_form, methods=["GET"], name="start-form"),
    Route("/start", start, methods=["POST"]),
)
