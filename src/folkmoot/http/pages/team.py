"""The team: every agent with its role, how it stands and what it works on; and the teams of work sessions."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.http.house import House, house_of
from folkmoot.http.pages.rendering import page
from folkmoot.views.team import HEALTH, Teammate, teammates


async def team(request: Request) -> Response:
    house = house_of(request)
    records = await house.moot.moot.work_sessions.all()
    teams = [record for record in records.values() if record.team]
    return page(
        request,
        "team.html",
        screen="team",
        title="Team",
        members=await members(house),
        teams=sorted(teams, key=lambda record: record.created_at, reverse=True),
        now=house.moot.moot.clock.now(),
        HEALTH=HEALTH,
    )


async def members(house: House) -> list[Teammate]:
    """How all agents of the project stand: the one place where that is asked."""
    moot = house.moot.moot
    tasks = await moot.tasks.all()
    return [*teammates(await moot.team.members(tasks), moot.graph.agents.values(), tasks)]


ROUTES = (Route("/team", team, name="team"),)
