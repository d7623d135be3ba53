"""The WebSocket of monitors, as a client gets it; see E-31, E-81, E-82 and the messages of the Monitor API."""

import json

import aiohttp
import pytest

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask, Stepping
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.plan import PlanApproved, StepStarted
from folkmoot.domain.task import ContinuationSent
from folkmoot.domain.team_events import TeamStarted
from folkmoot.http import monitor
from folkmoot.http.monitor import build_messages
from tests.desk import Desk
from tests.http.onlooker import PATIENCE, visited
from tests.sinks.receiver import happen, steps


def desk(tmp_path) -> Desk:
    return Desk(tmp_path, {"coder": "description: a"}, {"coder": [{"report": "fine"}]})


async def test_a_client_sees_what_becomes_of_a_task_and_how_many_of_its_steps_are_done(tmp_path):
    """E-31: task_update; E-82: task_step_update with done and total; both as soon as they are recorded."""
    async with desk(tmp_path).open() as moot, visited(moot) as visitor, visitor.socket() as socket:
        connected = await socket.next()
        tasks = moot.moot.tasks.of("coder", Author())
        task = await tasks.start(NewTask("Add a health check", steps=("write", "test", "ship")), "a chance")
        begun = [await socket.until("task_update"), await socket.until("task_step_update")]
        await tasks.update(task.id, stepping=Stepping("complete_step", "s1"))
        stepped = await socket.until("task_step_update")
        await tasks.complete(task.id, force=True)
        ended = await socket.until("task_update")

    assert (connected["type"], connected["data"]) == ("connected", {"position": 0})
    assert [message["taskId"] for message in (*begun, stepped, ended)] == [task.id] * 4
    assert begun[0]["data"]["status"] == "in_progress"
    assert [begun[1]["data"][key] for key in ("done", "total")] == [0, 3]
    assert [stepped["data"][key] for key in ("done", "total")] == [1, 3]
    assert stepped["data"]["steps"][1] == {"id": "s2", "content": "test", "order": 2, "status": "in_progress"}
    assert ended["data"]["status"] == "completed"
    assert stepped["timestamp"] == "2026-01-01T00:00:00.000Z"


async def test_a_change_of_the_event_log_is_told_as_a_continuation_event(tmp_path):
    """E-81."""
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor, visitor.socket() as socket:
        await happen(played.journal, ContinuationSent("coder", 180.0, "run-9"), stream="task_1")
        message = await socket.until("continuation_event")

    event = message["data"]["event"]
    assert (message["agentId"], message["taskId"], message["seq"]) == ("coder", "task_1", 1)
    assert (event["type"], event["data"]["run"]) == ("continuation.sent", "run-9")


def entry(event, stream="run-1", **more) -> Entry:
    return Entry(7, 1, "id", "prev", stream, Draft("now", event, agent_id="coder", **more))


@pytest.mark.parametrize(
    ("told", "types"),
    [
        (
            entry(StepStarted("plan_1", "s1"), work_session_id="ws_1"),
            ["event_log", "plan_update", "continuation_event", "coordination_event_new"],
        ),
        (
            entry(PlanApproved("plan_1"), stream="plan_1"),
            ["event_log", "plan_update", "continuation_event", "coordination_event_new"],
        ),
        (
            entry(TeamStarted("lead", ("coder",))),
            ["event_log", "team_state_update", "coordination_event_new"],
        ),
    ],
)
def test_each_event_is_told_by_all_the_messages_that_it_concerns(told, types):
    """5.1, Monitor API: every kind of message, each with type, timestamp and data."""
    found = list(build_messages(told))

    assert [message.type for message in found] == types
    last = found[-1].data
    assert [json.loads(bytes(event))["type"] for event in last["events"]] == [told.event.type]
    assert last["affectedWorkSessions"] == (
        [told.draft.work_session_id] if told.draft.work_session_id else []
    )


async def test_an_agent_is_active_while_it_has_a_session(tmp_path):
    """5.1: agent_update."""
    async with desk(tmp_path).open() as moot, visited(moot) as visitor, visitor.socket() as socket:
        await moot.run("coder", "hello")
        began, ended = await socket.until("agent_update"), await socket.until("agent_update")

    assert (began["agentId"], began["data"]["status"]) == ("coder", "active")
    assert began["data"]["event"]["type"] == SessionStarted.type
    assert (ended["agentId"], ended["data"]["status"]) == ("coder", "idle")


async def test_a_client_is_told_what_it_subscribes_to_and_goes_on_where_it_was(tmp_path):
    """X-24: filters and a cursor, by the query or by a message."""
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor:
        await happen(played.journal, *steps(1, 2), agent="coder")
        await happen(played.journal, *steps(3, 4), agent="tester")
        async with visitor.socket("/ws?agentId=tester&after=0&types=step.*&types=plan.*") as socket:
            assert (await socket.until("event_log"))["seq"] == 3
            assert (await socket.until("event_log"))["seq"] == 4
            await socket.say(type="ping")
            await socket.until("pong")
            await happen(played.journal, *steps(5, 5), agent="coder")
            await socket.say(type="subscribe", agentId="coder")
            assert (await socket.until("event_log"))["seq"] == 5
            await socket.say(type="subscribe", agentId="coder", after=1)
            assert (await socket.until("event_log"))["seq"] == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("hello", "this is no message of a client: "),
        ('{"type": "shout"}', "this is no message of a client: Invalid enum value 'shout'"),
    ],
)
async def test_who_says_what_nobody_understands_is_closed_with_a_reason(tmp_path, said, reason):
    async with desk(tmp_path).open() as moot, visited(moot) as visitor, visitor.socket() as socket:
        await socket.next()
        await socket.socket.send_str(said)
        closed = await socket.socket.receive(PATIENCE)

    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1008)
    assert reason in closed.extra


async def test_a_query_that_there_is_not_is_refused_and_closing_ends_the_others(tmp_path):
    async with desk(tmp_path).open() as moot, visited(moot) as visitor:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with visitor.socket("/ws?colour=red"):
                pass
        async with visitor.socket() as socket:
            await socket.next()
            visitor.house.streams.close()
            closed = await socket.socket.receive(PATIENCE)

    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1012)


async def test_a_client_that_asks_for_rows_is_told_together_which_of_them_changed(tmp_path, monkeypatch):
    """Issue 15: the change feed."""
    monkeypatch.setattr(monitor, "PAUSE", 0.0)
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor, visitor.socket("/ws?rows=true") as socket:
        connected = await socket.next()
        task = await moot.moot.tasks.of("coder", Author()).start(NewTask("Add a health check"), "a chance")
        opened = await socket.next()
        run = (await moot.run("coder", "hello")).run_id
        told = [opened]
        while told[-1]["seq"] < await moot.position():
            told.append(await socket.next())

    assert connected["type"] == "connected"
    assert opened["data"] == {"records": [task.id]}
    assert {message["type"] for message in told} == {"rows_changed"}
    assert [run in message["data"].get("runs", ()) for message in told].count(True) >= 1
    assert any(run in message["data"].get("spend", ()) for message in told)
