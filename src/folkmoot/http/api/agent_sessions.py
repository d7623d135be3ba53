"""Agent sessions: the tree of a run, those that can still be asked, and the tools that were taken from them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from folkmoot.http.api.shapes import Recorded, require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Given, Said, Words
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import Gated, LiveChild, SessionRow, session_rows

_OF_FIRST = {"id": "$response.body#/0/id"}


class Destroy(Given):
    reason: str = "destroyed by its user"
    """Kept with the run."""


class Gate(Said):
    tools: Annotated[tuple[Words, ...], Meta(min_length=1, max_length=100)]
    """As agent files name them."""
    reason: str = ""
    """Kept with the run."""


async def list_sessions(asked: Asked) -> list[SessionRow]:
    """Children stand after their parents; a run that was pruned has none."""
    status = (await require_run(asked, asked.id)).status
    root = RunTree([entry.draft async for entry in asked.moot.events(asked.id)]).root
    return session_rows(root, status) if root and status != "pruned" else []


async def live_sessions(asked: Asked) -> list[LiveChild]:
    await require_run(asked, asked.id)
    return await asked.moot.live(asked.id)


async def list_gates(asked: Asked) -> list[Gated]:
    await require_run(asked, asked.id)
    return await asked.moot.gates(asked.id)


async def destroy_session(asked: Asked) -> Recorded:
    """With it go all sessions that it kept itself. Answers when nobody can ask it any more."""
    await require_run(asked, asked.id.partition(":")[0])
    await asked.moot.destroy(asked.id, asked.body.reason)
    return Recorded(asked.id, "destroyed")


async def gate_session(asked: Asked) -> Recorded:
    """From here on it is not offered them, and its calls of them are refused; other sessions keep them."""
    body: Gate = asked.body
    await require_run(asked, asked.id.partition(":")[0])
    await asked.moot.gate(asked.id, *body.tools, by=asked.author.name, reason=body.reason)
    return Recorded(asked.id, "gated")


async def ungate_session(asked: Asked) -> Recorded:
    body: Gate = asked.body
    await require_run(asked, asked.id.partition(":")[0])
    await asked.moot.ungate(asked.id, *body.tools, by=asked.author.name, reason=body.reason)
    return Recorded(asked.id, "ungated")


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/runs/{id}/sessions",
        summary="The agent sessions of a run, as the tree of who caused whom",
        handle=list_sessions,
        answer=list[SessionRow],
        links={"gateSession": _OF_FIRST, "destroySession": _OF_FIRST},
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/sessions/live",
        summary="The finished sessions of a run that can still be asked",
        handle=live_sessions,
        answer=list[LiveChild],
        links={"destroySession": _OF_FIRST},
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/gates",
        summary="The tools that were taken from sessions of a run",
        handle=list_gates,
        answer=list[Gated],
    ),
    Endpoint(
        method="POST",
        path="/agent-sessions/{id}/destroy",
        summary="Let go of a finished session that is kept to be asked",
        handle=destroy_session,
        body=Destroy,
        answer=Recorded,
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path="/agent-sessions/{id}/gate",
        summary="Take tools from a session",
        handle=gate_session,
        body=Gate,
        answer=Recorded,
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path="/agent-sessions/{id}/ungate",
        summary="Give tools back to a session",
        handle=ungate_session,
        body=Gate,
        answer=Recorded,
        problems=(409,),
    ),
)
