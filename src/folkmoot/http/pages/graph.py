"""The graph of agents as their files are now: who calls whom, what is wrong, and what each may do and why."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Sketch
from folkmoot.errors import NotFound, Problem
from folkmoot.http.pages.rendering import render_page
from folkmoot.http.state import get_server_state
from folkmoot.orchestration.briefs import Explanation, explain
from folkmoot.views.graph import KINDS, drawing


async def graph(request: Request) -> Response:
    moot = get_server_state(request).moot
    sketched = await get_server_state(request).files_now()
    file = request.query_params.get("agent", "")
    chosen = next((agent for agent in sketched.agents if agent.file == file), None)
    if file and chosen is None:
        raise NotFound(f"there is no agent file {file!r}", code="agent_not_found")
    drawn = drawing(sketched)
    patterns = {edge.pattern for edge in drawn.edges}
    return render_page(
        request,
        "graph.html",
        drawing=drawn,
        legend=[KINDS[pattern] for pattern in KINDS if pattern in patterns],
        kinds=KINDS,
        problems=sketched.problems,
        verdict=_describe_problems(sketched.problems),
        chosen=chosen,
        callers=_list_callers(sketched, file),
        loaded=sketched.graph and sketched.graph.agents.get(file),
        explained=_explain_agent(moot, file),
        stale=sketched.graph is not None and sketched.graph != moot.graph,
    )


def _describe_problems(problems: tuple[Problem, ...]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    counts = {"error": errors, "warning": len(problems) - errors}
    return ", ".join(f"{count} {word}{'s' * (count > 1)}" for word, count in counts.items() if count)


def _list_callers(sketched: Sketch, file: str) -> list[tuple[str, str]]:
    return [(pattern, agent.file) for agent in sketched.agents for pattern, to in agent.links if to == file]


def _explain_agent(moot: Folkmoot, file: str) -> Explanation | None:
    """Of the files with which this server runs agents."""
    agent = moot.graph.agents.get(file)
    return explain(moot.graph, moot.kits, agent) if agent else None


ROUTES = (Route("/graph", graph),)
