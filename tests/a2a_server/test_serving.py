"""The door over a crash and a restart of its server, when that stops, and behind the guard."""

from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from a2a.client.errors import AgentCardResolutionError
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest

from folkmoot import Folkmoot
from tests.a2a_server.conftest import (
    behind_the_door,
    client_of,
    events,
    message,
    report,
    sent,
    state,
    words,
    write,
)

TOKEN = "a-token-that-nobody-guesses"
CARD = "a2a/clerk/.well-known/agent-card.json"
KEY = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def guarded(tmp_path, token=TOKEN):
    async with Folkmoot.open(write(tmp_path / "shop")) as moot, behind_the_door(moot, token=token) as address:
        yield address


async def test_nobody_is_let_in_without_the_token(tmp_path):
    """DESIGN 8: every route but sign-in, health and static files needs it, cards too."""
    async with guarded(tmp_path) as address, httpx.AsyncClient(base_url=address, timeout=60) as http:
        with pytest.raises(AgentCardResolutionError, match="401"):
            async with client_of(f"{address}/a2a/clerk"):
                pass
        assert (await http.get("/a2a")).status_code == 401
        assert (await http.post("/a2a/clerk", json={})).status_code == 401
        async with client_of(f"{address}/a2a/clerk", token=TOKEN) as client:
            assert state(await sent(client, message("How much?"))) == "completed"

        card = (await http.get(CARD, headers=KEY)).json()
        assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"] == {"scheme": "Bearer"}
        assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]


async def test_another_name_another_site_or_another_kind_of_body_gets_nothing(tmp_path):
    async with (
        guarded(tmp_path) as address,
        httpx.AsyncClient(base_url=address, headers=KEY, timeout=60) as http,
    ):
        assert (await http.get(CARD, headers={"Host": "evil.example"})).status_code == 421
        assert (await http.get(CARD, headers={"Origin": "http://evil.example"})).status_code == 403
        assert (await http.post("/a2a/clerk", content="{}")).status_code == 415


async def test_a_server_that_stops_does_not_wait_for_those_who_look_on(tmp_path):
    async with AsyncExitStack() as clients:
        async with guarded(tmp_path, token="") as address:
            client = await clients.enter_async_context(client_of(f"{address}/a2a/asker", streaming=True))
            first, *_ = await events(client, message("Do it."))
            following = client.subscribe(SubscribeToTaskRequest(id=first.task.id))
            assert state((await anext(following)).task) == "input_required"

        assert [event async for event in following] == []


async def test_a_restart_loses_no_task(server):
    """Everything is in the journal: what was done, what waits for an answer, and what was under way."""
    at = f"{server.address}/a2a"
    async with client_of(f"{at}/clerk") as clerk, client_of(f"{at}/asker") as asker:
        done = await sent(clerk, message("How much?"))
        asked = await sent(asker, message("Do it."))
    async with client_of(f"{at}/slow") as slow:
        begun = message("Take your time.")
        begun.configuration.return_immediately = True
        under_way = await sent(slow, begun)

    server.kill()
    server.start_again()

    async with client_of(f"{at}/clerk") as clerk, client_of(f"{at}/asker") as asker:
        assert await clerk.get_task(GetTaskRequest(id=done.id)) == done
        assert words(await asker.get_task(GetTaskRequest(id=asked.id))) == "Which one?"
        assert report(await sent(asker, message("Red.", task_id=asked.id))) == "That one."
    async with client_of(f"{at}/slow") as slow:
        assert (await sent(slow, begun)).id == under_way.id
        assert state(await slow.cancel_task(CancelTaskRequest(id=under_way.id))) == "canceled"
