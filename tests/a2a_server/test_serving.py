"""The door over a crash, a restart and a stop of its server, and behind the guard."""

import signal

import httpx
import pytest
from a2a.client.errors import AgentCardResolutionError
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest

from tests.a2a_server.conftest import Server, client_of, events, message, report, sent, state, words, write

TOKEN = "a-token-that-nobody-guesses"
CARD = "a2a/clerk/.well-known/agent-card.json"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    server = Server(write(tmp_path_factory.mktemp("guarded") / "shop"), FOLKMOOT_TOKEN=TOKEN)
    yield server
    server.kill()


async def test_nobody_is_let_in_without_the_token(guarded):
    """DESIGN 8: every route but sign-in, health and static files needs it, cards too."""
    with pytest.raises(AgentCardResolutionError, match="401"):
        async with client_of(f"{guarded.address}/a2a/clerk"):
            pass
    async with client_of(f"{guarded.address}/a2a/clerk", token=TOKEN) as client:
        assert state(await sent(client, message("How much?"))) == "completed"


def test_nothing_can_be_asked_without_it(guarded):
    assert httpx.post(f"{guarded.address}/a2a/clerk", json={}).status_code == 401


def test_the_card_says_that_a_token_is_needed(guarded):
    card = httpx.get(f"{guarded.address}/{CARD}", headers={"Authorization": f"Bearer {TOKEN}"}).json()

    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"] == {"scheme": "Bearer"}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]


@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)]
)
def test_another_name_or_another_site_gets_nothing(guarded, headers, status):
    headers = {**headers, "Authorization": f"Bearer {TOKEN}"}
    assert httpx.get(f"{guarded.address}/{CARD}", headers=headers).status_code == status


async def test_a_restart_loses_no_task(guarded):
    """Everything is in the journal: what was done, what waits for an answer, and what was under way."""
    at, known = f"{guarded.address}/a2a", {"token": TOKEN}
    async with client_of(f"{at}/clerk", **known) as clerk, client_of(f"{at}/asker", **known) as asker:
        done = await sent(clerk, message("How much?"))
        asked = await sent(asker, message("Do it."))
    async with client_of(f"{at}/slow", **known) as slow:
        begun = message("Take your time.")
        begun.configuration.return_immediately = True
        under_way = await sent(slow, begun)

    guarded.kill()
    guarded.start_again()

    async with client_of(f"{at}/clerk", **known) as clerk, client_of(f"{at}/asker", **known) as asker:
        assert await clerk.get_task(GetTaskRequest(id=done.id)) == done
        assert words(await asker.get_task(GetTaskRequest(id=asked.id))) == "Which one?"
        assert report(await sent(asker, message("Red.", task_id=asked.id))) == "That one."
    async with client_of(f"{at}/slow", **known) as slow:
        assert (await sent(slow, begun)).id == under_way.id
        assert state(await slow.cancel_task(CancelTaskRequest(id=under_way.id))) == "canceled"


async def test_a_server_that_is_told_to_stop_does_not_wait_for_those_who_look_on(guarded):
    async with client_of(f"{guarded.address}/a2a/asker", streaming=True, token=TOKEN) as client:
        first, *_ = await events(client, message("Do it."))
        following = client.subscribe(SubscribeToTaskRequest(id=first.task.id))
        assert state((await anext(following)).task) == "input_required"
        guarded.process.send_signal(signal.SIGINT)
        _, said = guarded.process.communicate(timeout=20)
        await following.aclose()

    assert said.endswith("stopping; runs are left for whoever goes on with them\n")
    assert "Traceback" not in said
