"""A run's entries become spans: what each is called, when it was, what is around it and how it ended."""

import asyncio

import pytest

from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    RunCompleted,
    RunStarted,
    SessionCompleted,
    SessionStarted,
)
from folkmoot.domain.report import Outcome
from folkmoot.domain.trace import span_id, trace_id
from folkmoot.ports import Query
from folkmoot.sinks.spans import Trace
from tests.desk import look
from tests.fakes import fake
from tests.orchestration.calling import ask_all, calling

RUN = "run-1"


def spans(entries):
    trace = Trace(RUN)
    return [span for entry in entries for span in trace.take(entry)]


async def of(desk):
    return [entry async for entry in desk.journal.read(Query(stream=RUN))]


def written(*events: tuple[int, str, Event]) -> list[Entry]:
    """Entries of sessions, each at a second of one minute."""
    return [
        Entry(at, at, "", "", RUN, Draft(f"2026-05-04T10:15:{second:02}.000Z", event, session, agent_id="x"))
        for at, (second, session, event) in enumerate(events, start=1)
    ]


def test_an_agent_begins_with_its_first_advisor_although_its_own_session_begins_later():
    """So everything below a span lies in it, as people expect."""
    below, advisor = f"{RUN}:route_b", f"{RUN}:route_b:advisor_c"
    done = SessionCompleted(Outcome("b", "0"))

    ended = spans(
        written(
            (1, RUN, RunStarted("a.ai", "hello", "", "")),
            (2, advisor, SessionStarted("c.ai", "hello", below, "advisor")),
            (3, advisor, done),
            (4, below, SessionStarted("b.ai", "hello", RUN, "route")),
            (5, below, done),
            (6, RUN, RunCompleted(Outcome("b", "0"))),
        )
    )

    assert [(span.name, span.parent, span.started[17:19], span.ended[17:19]) for span in ended] == [
        (advisor, below, "02", "03"),
        (below, RUN, "02", "05"),
        (RUN, "", "01", "06"),
    ]


@pytest.mark.parametrize(
    ("said", "type"),
    [
        ("openai answered 429 Too Many Requests: order 404 is not known", "429"),
        ("the model did not answer in time", "timeout"),
        ("openai broke off in the middle of its answer", "_OTHER"),
    ],
)
def test_a_request_that_failed_says_why_in_one_word_of_few(said, type):
    request = LlmRequest(1, 1, "openai/gpt", 100, 100)

    (span,) = spans(
        written((1, RUN, request), (2, RUN, LlmFailed(1, 1, "openai/gpt", said, False, latency_ms=700)))
    )

    assert (span.error, span.seconds) == (type, 0.7)
    assert said not in str(span)


async def test_attempts_calls_and_refusals_are_spans_of_their_own(desk):
    at = desk(
        {"desk": "tools: [look, broken]\nmodels: [scripted/one, scripted/two]"},
        {
            "desk": [
                {"attempts": [{"error": "overloaded"}, {"calls": [{"tool": "look", "arguments": {}}]}]},
                {"calls": [{"tool": "look", "arguments": {"where": "x"}}, {"tool": "broken"}]},
                "done",
            ]
        },
        tools=[look, broken],
    )
    await at.run("desk")

    ended = spans(await of(at))

    assert [(span.operation, span.subject, span.error) for span in ended] == [
        ("chat", "one", "_OTHER"),
        ("chat", "two", ""),
        ("execute_tool", "look", "schema"),
        ("chat", "one", ""),
        ("execute_tool", "look", ""),
        ("execute_tool", "broken", "_OTHER"),
        ("chat", "one", ""),
        ("invoke_agent", "desk", ""),
    ]
    assert {span.parent for span in ended[:-1]} == {RUN}
    assert len({span.id for span in ended}) == len(ended)


broken = fake("broken", RuntimeError("it broke"))


async def test_a_run_that_is_cancelled_leaves_no_span_open(desk):
    wait = fake("wait", does=asyncio.Event().wait)
    at = desk(
        {"a": "advisors: [b.ai]", "b": "tools: [wait]"}, {"b": [{"calls": [{"tool": "wait"}]}]}, tools=[wait]
    )
    async with at.open() as moot:
        running = asyncio.create_task(moot.run("a", "hello"))
        await wait.reached.wait()
        await moot.cancel(RUN, "enough")
        await running

    ended = spans(await of(at))

    assert {(span.operation, span.subject): span.error for span in ended} == {
        ("chat", "any"): "",
        ("execute_tool", "wait"): "CANCELLED",
        ("invoke_agent", "b"): "CANCELLED",
        ("invoke_agent", "a"): "CANCELLED",
    }


async def test_an_agent_called_by_a_mission_stands_below_its_call(desk):
    asked = ask_all(*({"mission": "look", "specialist": name} for name in ("b", "c")))
    script = {"a": [{"calls": [asked]}, "done"], "b": ["b"], "c": ["c"]}
    at = desk({"a": "", "b": "", "c": ""}, script, settings=calling())
    await at.run("a")

    ended = spans(await of(at))

    call = next(span for span in ended if span.operation == "execute_tool")
    assert {span.parent for span in ended if span.subject in ("b", "c")} == {call.name}


def test_ids_follow_from_names_and_are_what_opentelemetry_takes():
    assert trace_id("20260504-101500-8c2f71aa") == "2926a008aa79983a4682f1d16285a38a"
    assert span_id("20260504-101500-8c2f71aa") != span_id("20260504-101500-8c2f71ab")
    assert (len(trace_id("x")), len(span_id("x"))) == (32, 16)
