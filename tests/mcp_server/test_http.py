"""The server behind HTTP: who may reach it, and how another application takes it in."""

import aiohttp
from mcp import Client
from starlette.applications import Starlette

from folkmoot import Folkmoot
from folkmoot.protocols.mcp import mcp_app
from tests.mcp_server.conftest import served, text

HEADERS = {"accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def status(address: str, **headers: str) -> int:
    headers = {**HEADERS, **headers}
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, json=LIST, headers=headers) as answer,
    ):
        return answer.status


async def test_a_web_page_cannot_reach_it_under_another_name(project):
    async with Folkmoot.open(project) as moot, served(mcp_app(moot)) as address:
        assert await status(address, host="evil.example") == 421
        assert await status(address, origin="http://evil.example") == 403


async def test_another_application_takes_it_in_and_guards_it_itself(project):
    async with Folkmoot.open(project) as moot:
        door = mcp_app(moot, guarded=True)
        house = Starlette(routes=[*door.routes], lifespan=lambda _: door.router.lifespan_context(door))
        async with served(house) as address, Client(address) as client:
            assert text(await client.call_tool("clerk", {"request": "How much?"})) == "There are three."
            assert await status(address, host="house.example") != 421
