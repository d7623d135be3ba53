"""Server-sent events, as a client gets them over a socket; see X-24, D-7, D-8, D-11 and D-38."""

import asyncio
import json

import pytest
from starlette.routing import Route

from folkmoot import ScriptedModel
from folkmoot.coordination.record_store import Author
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.plan import PlanProgress, StepReopened
from folkmoot.http.state import get_server_state
from folkmoot.http.stream.event_source import STALLED, EventSource, SseMessage
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter, Query, Version
from tests.desk import Desk
from tests.fakes import fake
from tests.http.onlooker import Event, visited
from tests.sinks.receiver import happen, steps

FINE = {"a": [{"report": "all is well"}]}


def desk(tmp_path, files=None, script=None, **more) -> Desk:
    return Desk(tmp_path, files or {"a": "description: a"}, script or FINE, **more)


async def test_a_client_gets_each_event_as_the_journal_has_it_with_its_seq_as_id(tmp_path):
    """X-24: one stream endpoint over the log."""
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor, visitor.stream("/api/stream") as stream:
        result = await moot.run("a", "hello")
        entries = [entry async for entry in moot.events(result.run_id)]
        events = await stream.take(len(entries))

    assert stream.response.headers["content-type"].startswith("text/event-stream")
    assert stream.hint == "retry: 1000"
    assert [event.id for event in events] == [entry.seq for entry in entries]
    assert [event.event for event in events] == [entry.event.type for entry in entries]
    assert [event.data for event in events] == [json.loads(to_line(entry)) for entry in entries]


async def test_status_changes_tools_and_errors_are_told_by_their_types(tmp_path):
    """D-8: status changes, tool start and finish, handoffs, errors."""
    script = {
        "a": [{"calls": [{"tool": "look"}]}, {"report": "passed on"}],
        "b": [{"error": {"message": "the model is away", "retryable": False}}],
    }

    def look() -> str:
        """Look."""
        return "seen"

    files = {"a": "tools: [look]\nhandoff: b.ai", "b": "description: b"}
    played = desk(tmp_path, files, script, tools=[look])
    async with (
        played.open() as moot,
        visited(moot) as visitor,
        visitor.stream("/api/stream?type=run.*&type=tool.*&type=handoff.*") as stream,
    ):
        await moot.run("a", "hello")
        types = [event.event for event in await stream.until("run.failed")]

    called, passed_on = ["tool.started", "tool.finished"], ["requested", "accepted", "rejected"]
    assert types == ["run.started", *called, *(f"handoff.{word}" for word in passed_on), "run.failed"]


async def test_a_filter_lets_through_what_fits_it_alone(tmp_path):
    """X-24: filters session, agent, role, type, and the work session."""
    played = desk(tmp_path)
    journal = played.journal
    async with played.open() as moot, visited(moot) as visitor:
        for wanted, seqs in {
            "run=plan_2": [3],
            "agent=tester": [2],
            "role=orchestration.task": [1, 2, 3],
            "role=conversation.main": [],
            "type=step.*": [1, 2],
            "type=plan.progress": [3],
            "workSession=ws_7": [3],
            "session=s-7": [3],
            "agent=coder&type=step.*": [1],
        }.items():
            if not await moot.position():
                await happen(journal, *steps(1, 1))
                await happen(journal, *steps(2, 2), agent="tester")
                special = Draft(played.clock.now(), PlanProgress("plan_2", 50), "s-7", "", "coder", "ws_7")
                await journal.append("plan_2", Version(0), [special])
            async with visitor.stream(f"/api/stream?{wanted}&after=0") as past:
                assert [event.id for event in await past.take(len(seqs))] == seqs, wanted


async def test_a_session_stream_gives_the_progress_of_its_plan_and_no_other(tmp_path):
    """D-11: subscribing to a session stream gives plan progress."""
    played = desk(tmp_path)
    async with (
        played.open() as moot,
        visited(moot) as visitor,
        visitor.stream("/api/stream?workSession=ws_1") as stream,
    ):
        for number, session in enumerate(("ws_2", "ws_1")):
            draft = Draft(played.clock.now(), PlanProgress("plan_1", 50 + number), work_session_id=session)
            await played.journal.append("plan_1", Version(number), [draft])
        event = await stream.next()

    assert event.event == "plan.progress"
    assert event.data["data"] == {"plan": "plan_1", "percent": 51}


async def test_decisions_and_approvals_come_without_asking_again(tmp_path):
    """D-38: decision messages and approval prompts on the live channel."""
    pay = fake("pay(amount)", "paid", effect="once", access="write", asks="medium")
    script = {"a": [{"calls": [{"tool": "pay", "arguments": {"amount": "5"}}]}, {"report": "paid"}]}
    played = desk(tmp_path, {"a": "tools: [pay]"}, script, tools=[pay])
    proposal = Proposal("Which database?", (Option("sqlite"), Option("postgres")), (Voter("a"),))
    async with (
        played.open() as moot,
        visited(moot) as visitor,
        visitor.stream("/api/stream?type=approval.*&type=decision.*") as stream,
    ):
        await moot.run("a", "pay it")
        await moot.moot.decisions.propose(Author("ann"), proposal, "a chance")
        asked, proposed = await stream.take(2)

    assert (asked.event, proposed.event) == ("approval.requested", "decision.proposed")
    assert asked.data["data"]["arguments"] == {"amount": "5"}
    assert proposed.data["data"]["proposal"]["topic"] == "Which database?"


async def test_the_stream_of_a_run_tells_it_from_its_beginning_and_ends_with_it(tmp_path):
    """X-24: a finished run's stream ends; who has seen the end is told by 204 not to come back."""
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor:
        run = (await moot.run("a", "hello")).run_id
        async with visitor.stream(f"/api/runs/{run}/stream") as stream:
            events = await stream.rest()
        async with visitor.stream(f"/api/runs/{run}/stream", last=events[-1].id) as again:
            assert again.response.status == 204
        async with visitor.stream(f"/api/runs/{run}/stream?type=run.started", last=events[0].id) as none_left:
            assert none_left.response.status == 204
        async with visitor.stream(f"/api/runs/{run}/stream?type=run.started") as part:
            assert [event.event for event in await part.rest()] == ["run.started"]

    assert (events[0].event, events[-1].event) == ("run.started", "run.completed")


class Talking(ScriptedModel):
    """Has said everything before it is done."""

    def __init__(self, script) -> None:
        super().__init__(script)
        self.said, self.done = asyncio.Event(), asyncio.Event()

    async def answer(self, request, hear=None):
        answer = await super().answer(request, hear)
        self.said.set()
        await self.done.wait()
        return answer


async def test_tokens_are_shown_as_they_come_and_the_messages_are_there_after_a_restart(tmp_path):
    """D-7: the stream shows tokens, which are in no journal; the message is. D-11: to an agent stream, its tokens."""
    played = desk(tmp_path)
    played.model = model = Talking({"a": ["Good morning"]})
    async with (
        played.open() as moot,
        visited(moot) as visitor,
        visitor.stream("/api/stream?agent=a") as agent,
        visitor.stream("/api/stream?agent=b") as other,
    ):
        await visitor.house.room.begin("a", "hello", Errand(run="run-1"))
        told = [*await agent.until("delta"), *await agent.until("delta")]
        model.done.set()
        told += await agent.until("run.completed")
        await happen(played.journal, *steps(1, 1), agent="b")
        heard_of_another = await other.next()

    deltas = [event for event in told if event.event == "delta"]
    place = {"runId": "run-1", "sessionId": "run-1", "agentId": "a", "span": "0"}
    assert [(event.id, event.data) for event in deltas] == [
        (None, place | {"text": "Good "}),
        (None, place | {"text": "morning"}),
    ]
    assert heard_of_another.event == "step.started"
    async with played.open() as moot:
        assert (await moot.result("run-1")).final_report.content == "Good morning"
    assert "delta" not in [entry.event.type async for entry in played.journal.read(Query())]


async def test_the_stream_of_a_run_carries_its_tokens_and_not_those_of_another(tmp_path):
    """D-7: pieces have no id, so who comes back asks for events alone."""
    played = desk(tmp_path)
    played.model = model = Talking({"a": ["Good morning"]})
    async with played.open() as moot, visited(moot) as visitor:
        tokens = visitor.house.tokens
        running = asyncio.create_task(moot.run("a", "hello", hear=tokens.ear("run-1")))
        await model.said.wait()
        async with visitor.stream("/api/runs/run-1/stream") as stream:
            seen = await stream.take(1)
            tokens.hear("run-2", "0", "psst")
            tokens.hear("run-1", "0", "once more")
            seen += await stream.until("delta")
            model.done.set()
            seen += await stream.rest()
        await running

    assert [event.data["text"] for event in seen if event.event == "delta"] == ["once more"]
    assert seen[-1].event == "run.completed"


@pytest.mark.parametrize(
    ("path", "last", "status", "words"),
    [
        ("/api/stream?role=nobody", "", 400, "Invalid enum value 'nobody'"),
        ("/api/stream?colour=red", "", 400, "unknown field `colour`"),
        ("/api/stream?after=soon", "", 400, "after"),
        ("/api/stream?after=-1", "", 400, "after"),
        ("/api/runs/run-9/stream?after=" + "9" * 30, "", 400, "after"),
        ("/api/stream", "9" * 30, 400, "is the id of no event"),
        ("/api/stream", "yesterday", 400, "'yesterday' is the id of no event"),
        ("/api/runs/run-9/stream", "", 404, "there is no run 'run-9'"),
    ],
)
async def test_what_there_is_not_is_refused_with_words(tmp_path, path, last, status, words):
    async with desk(tmp_path).open() as moot, visited(moot) as visitor, visitor.stream(path, last) as refused:
        problem = await refused.response.json(content_type=None)

    assert refused.response.status == problem["status"] == status
    assert words in problem["detail"]


async def test_a_quiet_stream_gives_signs_of_life_and_ends_when_the_server_closes_it(tmp_path):
    """X-24: heartbeats; shutting down ends every stream."""
    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor, visitor.stream("/api/stream") as stream:
        await played.clock.advance(15.0)
        assert await stream.line() == ": still here"
        await stream.line()

        visitor.house.streams.close()

        assert await stream.rest() == []


async def test_a_page_sends_what_it_has_rendered_line_by_line_under_the_id_of_its_entry(tmp_path):
    """Whoever makes fragments from the same hub uses the same helper."""

    async def rows(hub):
        async for entry in hub.subscribe(Filter(types=("step.*",)), after=0):
            yield SseMessage("row", f"<tr>\r\n<td>{entry.event.step}</td>\n</tr>", entry.seq)

    async def page(request):
        hub = get_server_state(request).hub
        return EventSource(hub.clock, rows(hub))

    played = desk(tmp_path)
    async with played.open() as moot, visited(moot) as visitor:
        visitor.app.router.routes.append(Route("/rows", page))
        await happen(played.journal, *steps(1, 1))
        async with visitor.stream("/rows") as stream:
            row = await stream.next()

    assert row == Event("row", "<tr>\n<td>s1</td>\n</tr>", 1)


async def test_a_client_that_takes_nothing_is_cut_off_and_goes_on_by_its_last_id(tmp_path):
    """Memory is bounded: what waits for it is what the buffers of its socket hold."""
    played, count = desk(tmp_path), 1_000
    long = "x" * 20_000
    async with played.open() as moot, visited(moot) as visitor:
        await happen(played.journal, *(StepReopened("plan_1", "s1", "coder", long) for _ in range(count)))
        async with visitor.stream("/api/stream?after=0") as stalled:
            seen = await stalled.take(1)
            for _ in range(100):
                await played.clock.advance(STALLED)
            assert not visitor.house.hub.is_watched
        async with visitor.stream("/api/stream", last=seen[-1].id) as again:
            seen += await again.take(count - 1)

    assert [event.id for event in seen] == list(range(1, count + 1))
