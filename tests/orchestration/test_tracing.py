"""What models and tools are told of the trace that a run is: the same whenever they are asked again."""

import pytest

from folkmoot.domain.errand import Errand
from folkmoot.domain.trace import attempt_name, span_id, trace_id
from tests.desk import SETTINGS

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
ASKED = Errand(traceparent=f"00-{TRACE}-00f067aa0ba902b7-01", tracestate="vendor=1")
AGENTS = {"desk": "advisors: [law.ai]", "law": ""}
SCRIPT = {"law": ["be kind"], "desk": ["done"]}


async def test_a_request_that_is_sent_again_after_a_crash_says_the_same(desk):
    """The span is that of the recorded attempt, so recovery and the sink agree."""
    at = desk(AGENTS, SCRIPT)
    whole = await at.run("desk", errand=ASKED)
    told = {(each.agent, each.turn): each.trace for each in whole.model.heard}
    assert told["desk", 1] == {
        "traceparent": f"00-{TRACE}-{span_id(attempt_name('run-1', 1, 1))}-01",
        "tracestate": "vendor=1",
    }
    assert len({trace["traceparent"] for trace in told.values()}) == 2

    for cut in range(1, len(whole.drafts)):
        played = await at.again().continued(whole.drafts[:cut])
        assert {(each.agent, each.turn): each.trace for each in played.model.heard}.items() <= told.items()


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ("", False),
        ("{kind: otel, url: 'http://127.0.0.1:4318'}", True),
        ("{kind: otel, url: 'http://127.0.0.1:4318', propagate: false}", False),
    ],
)
async def test_without_a_client_that_traces_others_are_told_where_the_project_sends_traces(desk, sink, told):
    settings = SETTINGS + (f"sinks: {{t: {sink}}}\n" if sink else "")
    at = desk({"desk": ""}, {"desk": ["done"]}, settings=settings)
    async with at.open() as moot:
        await moot.run("desk", "hello")

    (request,) = at.model.heard
    given = f"00-{trace_id('run-1')}-{span_id(attempt_name('run-1', 1, 1))}-01"
    assert request.trace == ({"traceparent": given} if told else {})
