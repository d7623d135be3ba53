"""The official client against a real server: cards, messages, tasks, streams, questions, approvals, errors."""

import asyncio
from contextlib import suppress

import httpx
import pytest
from a2a.helpers import new_data_part
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from tests.a2a_server.conftest import AGENTS, client_of, events, message, report, sent, state, words
from tests.files import PNG

WORKING = TaskState.TASK_STATE_WORKING


def at(server, agent):
    return f"{server.address}/a2a/{agent}"


def read(url):
    return httpx.get(url, timeout=60).raise_for_status().json()


async def until_over(server, agent, id):
    async with client_of(at(server, agent), streaming=True) as client:
        with suppress(UnsupportedOperationError):  # it is over already
            async for _ in client.subscribe(SubscribeToTaskRequest(id=id)):
                pass


def test_there_is_a_list_of_agents_and_a_card_for_each(server):
    listed = {row["name"]: row for row in read(f"{server.address}/a2a")["agents"]}
    card = read(listed["clerk"]["card"])

    assert set(listed) == {*AGENTS}
    assert (card["name"], card["description"]) == ("clerk", "Knows the till.\n\nAsk how much is in it.")
    assert card["supportedInterfaces"][0] == {
        "url": at(server, "clerk"),
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    assert card["capabilities"] == {"streaming": True}
    assert card["skills"][0]["tags"] == ["counting"]
    assert "securitySchemes" not in card
    assert read(listed["doubler"]["card"])["defaultInputModes"] == ["application/json"]


async def test_a_message_is_a_run_and_its_report_an_artifact(server):
    async with client_of(at(server, "clerk")) as client:
        task = await sent(client, message("How much?"))

        assert (state(task), report(task)) == ("completed", "Dear customer, there are **three**.")
        assert task.artifacts[0].parts[0].media_type == "text/markdown"
        assert task.artifacts[0].metadata["agent"] == "editor"
        assert [part.text for said in task.history for part in said.parts] == ["How much?"]
        assert task.metadata["folkmoot"]["totals"]["modelRequests"] == 2
        assert await client.get_task(GetTaskRequest(id=task.id)) == task
    assert server.read(f"runs/{task.id}")["finalReport"]["content"] == report(task)


async def test_what_happens_comes_as_updates(server):
    async with client_of(at(server, "clerk"), streaming=True) as client:
        first, *between, artifact, last = await events(client, message("How much?"))

    assert state(first.task) == "submitted"
    assert [words(event.status_update) for event in between] == [
        "clerk starts",
        "clerk is done",
        "clerk hands over to editor",
        "editor starts, to answer after the others",
        "editor is done",
    ]
    assert artifact.artifact_update.artifact.parts[0].text == "Dear customer, there are **three**."
    assert (last.status_update.task_id, state(last.status_update)) == (first.task.id, "completed")


async def test_a_message_that_comes_again_is_done_once(server):
    """C3: who lost the answer may send the same again."""
    async with client_of(at(server, "clerk")) as client:
        asked = message("How much?", message_id="m-1")
        one, other = await sent(client, asked), await sent(client, asked)
        another = await sent(client, message("How much is it?", message_id="m-1"))

    assert one == other
    assert one.history[0].message_id == "m-1"
    assert another.id != one.id


async def test_two_tasks_go_on_at_once_and_nobody_need_wait_for_them(server):
    async with client_of(at(server, "pair")) as client:
        asked = message("Hello?")
        asked.configuration.return_immediately = True
        first = await sent(client, asked)
        assert state(first) in ("submitted", "working")

        second = await sent(client, message("Hello?"))
        assert (state(second), report(second)) == ("completed", "Both are here.")
        await until_over(server, "pair", first.id)
        assert report(await client.get_task(GetTaskRequest(id=first.id))) == "Both are here."


async def test_a_question_is_answered_by_the_next_message(server):
    async with client_of(at(server, "asker")) as client:
        task = await sent(client, message("Do it."))
        assert (state(task), words(task)) == ("input_required", "Which one?")

        done = await sent(client, message("The red one.", task_id=task.id, context_id=task.context_id))
        assert (state(done), report(done)) == ("completed", "That one.")
        said = [part.text for each in done.history for part in each.parts]
        assert said == ["Do it.", "Which one?", "The red one."]


async def test_a_question_is_answered_over_a_stream_too(server):
    async with client_of(at(server, "asker"), streaming=True) as client:
        *_, asked = await events(client, message("Do it."))
        assert state(asked.status_update) == "input_required"
        first, *_, last = await events(client, message("Red.", task_id=asked.status_update.task_id))

    assert state(first.task) == "working"
    assert state(last.status_update) == "completed"


async def test_what_an_agent_may_do_its_client_does_not_decide(server):
    """C7: a word of the people here is needed, and no message of a client is one."""
    url = at(server, "scribe")
    async with client_of(url) as client, client_of(url, streaming=True) as onlooker:
        task = await sent(client, message("Write it down."))
        assert state(task) == "auth_required"
        assert words(task).startswith("it waits for a person's word here: scribe wants to make the call {")
        with pytest.raises(UnsupportedOperationError, match="no open question"):
            await sent(client, message("approve", task_id=task.id))

        (waiting,) = server.read("approvals")
        following = onlooker.subscribe(SubscribeToTaskRequest(id=task.id))
        assert state((await anext(following)).task) == "auth_required"
        server.post(f"approvals/{waiting['id']}/approve")
        *_, last = [event async for event in following]
        assert state(last.status_update) == "completed"


async def test_what_a_client_asks_is_untrusted(server):
    """K-6: the message of an agent that somebody may have deceived is no order of the people here."""
    async with client_of(at(server, "fetcher")) as client:
        task = await sent(client, message("Get http://127.0.0.1:1/."))

    assert state(task) == "auth_required"
    (waiting,) = [item for item in server.read("approvals") if item["agentId"] == "fetcher"]
    assert waiting["why"] == "the session has read the message of an A2A client"


async def test_a_cancel_is_recorded_and_ends_the_run(server):
    async with client_of(at(server, "slow")) as client:
        asked = message("Take your time.")
        asked.configuration.return_immediately = True
        task = await sent(client, asked)
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))

        assert (state(cancelled), words(cancelled)) == ("canceled", "cancelled by its A2A client")
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
    assert server.read(f"runs/{task.id}")["status"] == "cancelled"


async def test_who_goes_away_ends_no_run(server):
    """O-43: on this door a run goes on when its client is gone."""
    async with client_of(at(server, "slow"), streaming=True) as client:
        following = client.send_message(message("Take your time."))
        task = (await anext(following)).task
        await following.aclose()
    async with client_of(at(server, "slow")) as client:
        waiting = asyncio.create_task(sent(client, message("And you too.")))
        known = []
        async with asyncio.timeout(60):
            while len(known) < 2:
                known = (await client.list_tasks(ListTasksRequest(status=WORKING))).tasks
        waiting.cancel()
        await asyncio.wait({waiting})
        assert task.id in [each.id for each in known]
        for each in known:
            assert state(await client.get_task(GetTaskRequest(id=each.id))) == "working"
            await client.cancel_task(CancelTaskRequest(id=each.id))


async def test_a_context_is_a_work_session_in_which_an_agent_knows_what_was_said(server):
    async with client_of(at(server, "asker")) as client:
        own = await sent(client, message("First.", context_id="our-talk"))
        assert own.context_id == "our-talk"
        await sent(client, message("Blue.", task_id=own.id))
        second = await sent(client, message("Second.", context_id="our-talk"))
        known = await client.list_tasks(ListTasksRequest(context_id="our-talk"))

    assert [task.id for task in known.tasks] == [second.id, own.id]
    asked = server.read(f"runs/{second.id}")["conversation"][0]["text"]
    assert "That one." in asked
    (work,) = {event["workSessionId"] for event in server.read(f"runs/{own.id}/events")}
    assert work == "ws_a2a-our-talk"


async def test_tasks_are_listed_in_pages_and_by_state(server):
    async with client_of(at(server, "doubler")) as client:
        made = [
            (await sent(client, message("", parts=[new_data_part({"n": number})]))).id for number in range(3)
        ]
        first = await client.list_tasks(ListTasksRequest(page_size=2, include_artifacts=True))
        rest = await client.list_tasks(ListTasksRequest(page_size=2, page_token=first.next_page_token))

        assert [task.id for task in (*first.tasks, *rest.tasks)] == made[::-1]
        assert (first.total_size, rest.next_page_token) == (3, "")
        assert report(first.tasks[0]) == '{"twice":4}'
        assert not rest.tasks[0].artifacts
        none = await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_FAILED))
        assert none.total_size == 0
        with pytest.raises(InvalidParamsError, match="page token"):
            await client.list_tasks(ListTasksRequest(page_token="nowhere"))


async def test_a_file_in_a_message_goes_with_the_request(server):
    async with client_of(at(server, "clerk")) as client:
        file = Part(raw=PNG, filename="dot.png", media_type="image/png")
        task = await sent(client, message("", parts=[Part(text="What is this?"), file]))
        with pytest.raises(InvalidParamsError, match="nothing that a model reads"):
            await sent(client, message("", parts=[Part(text="And this?"), Part(raw=b"\0\1\2")]))

    assert state(task) == "completed"
    (started, *_) = server.read(f"runs/{task.id}/events")
    (attached,) = started["data"]["errand"]["attachments"]
    assert (attached["name"], attached["media"]) == ("dot.png", "image/png")


async def test_what_is_over_cannot_be_followed(server):
    async with client_of(at(server, "clerk"), streaming=True) as client:
        done = (await events(client, message("How much?")))[0].task
        with pytest.raises(UnsupportedOperationError, match="is over; GetTask shows it"):
            await anext(client.subscribe(SubscribeToTaskRequest(id=done.id)))


async def test_a_run_that_fails_is_a_task_that_says_why(server):
    async with client_of(at(server, "broken")) as client:
        task = await sent(client, message("Answer!"))

    assert state(task) == "failed"
    assert "the line is dead" in words(task)
    assert not task.artifacts


async def test_what_cannot_be_done_is_told_in_the_protocols_form(server):
    async with (
        client_of(at(server, "clerk")) as client,
        client_of(at(server, "doubler")) as doubler,
        client_of(at(server, "asker")) as asker,
    ):
        open_ = await sent(asker, message("Do it."))
        done = await sent(client, message("How much?"))
        refused = [
            (TaskNotFoundError, client.get_task(GetTaskRequest(id="nothing"))),
            (TaskNotFoundError, doubler.get_task(GetTaskRequest(id=done.id))),
            (TaskNotFoundError, sent(client, message("More?", task_id="nothing"))),
            (UnsupportedOperationError, sent(client, message("More?", task_id=done.id))),
            (InvalidParamsError, sent(asker, message("Red.", task_id=open_.id, context_id="other"))),
            (UnsupportedOperationError, sent(client, message("x", metadata={"folkmoot/hops": 6}))),
            (InvalidParamsError, sent(client, message("  "))),
            (InvalidParamsError, sent(client, message("x", message_id=""))),
            (InvalidParamsError, sent(client, message("x", context_id="../etc"))),
            (InvalidParamsError, sent(doubler, message("no JSON"))),
            (ContentTypeNotSupportedError, sent(client, message("", parts=[Part(url="http://x/y.png")]))),
            (
                PushNotificationNotSupportedError,
                client.create_task_push_notification_config(
                    TaskPushNotificationConfig(task_id=done.id, url="http://127.0.0.1:1/")
                ),
            ),
        ]
        for error, asked in refused:
            with pytest.raises(error):
                await asked
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        assert card.name == "clerk"


async def test_a_client_of_the_older_protocol_is_understood(server):
    """Version 0.3 has other names for the same."""
    said = {
        "messageId": "old-1",
        "role": "user",
        "parts": [{"kind": "text", "text": "How much?"}],
        "kind": "message",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": said}}
    async with httpx.AsyncClient(timeout=60) as http:
        answered = (await http.post(at(server, "clerk"), json=body)).json()["result"]

    assert answered["status"]["state"] == "completed"
    assert answered["artifacts"][0]["parts"][0]["text"] == "Dear customer, there are **three**."


def test_an_agent_that_is_not_there_is_not_found(server):
    assert httpx.get(f"{at(server, 'nobody')}/.well-known/agent-card.json").status_code == 404
    assert httpx.post(at(server, "nobody"), json={}).status_code == 404
