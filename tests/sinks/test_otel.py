"""The sink of traces: batches that end anywhere or come again, forks, prompts, headers, and what a collector may say."""

import json
from contextlib import suppress

import pytest

from folkmoot import Fork
from folkmoot.domain.errand import Errand
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.trace import trace_id
from folkmoot.engine.replay import rebuild_prompt
from folkmoot.errors import SinkFailed
from folkmoot.ports import Query
from folkmoot.sinks.otel import BOUNDS, DURATION, TOKENS, Meters, OtelSink
from folkmoot.sinks.otlp import Otlp
from tests.desk import look
from tests.engine.test_fork import Desks
from tests.sinks.collector import collector
from tests.sinks.receiver import feeding, nobody
from tests.test_resume import PATTERNS, SAID

SETTINGS = SinkSettings("otel")


class Keeping:
    """What would go out."""

    def __init__(self):
        self.spans = []
        self.meters = Meters()
        self.failing = ""

    def send_spans(self, spans):
        self._fail("spans")
        self.spans += spans

    def send_metrics(self, meters):
        self._fail("metrics")
        self.meters = meters

    def _fail(self, what):
        if self.failing == what:
            raise SinkFailed("not now")

    def close(self):
        pass


def sink(journal, wire, *, metrics=True):
    return OtelSink(wire, journal, prompt=None, metrics=metrics)


@pytest.fixture
async def played(desk):
    at = desk(PATTERNS, SAID, tools=[look])
    await at.run("front")
    entries = [entry async for entry in at.journal.read(Query())]
    wire = Keeping()
    await sink(at.journal, wire).deliver(entries, "")
    return at.journal, entries, wire


async def test_wherever_a_batch_ends_and_whoever_goes_on_the_spans_and_the_sums_are_the_same(played):
    """A span whose end comes in a later batch than its beginning, in another process."""
    journal, entries, whole = played

    for cut in range(1, len(entries)):
        wire = Keeping()
        kept = await sink(journal, wire).deliver(entries[:cut], "")
        await sink(journal, wire).deliver(entries[cut:], kept)
        assert (wire.spans, wire.meters.series) == (whole.spans, whole.meters.series), cut


async def test_a_batch_that_was_not_taken_comes_again_as_it_was(played):
    journal, entries, whole = played
    wire, kept = Keeping(), ""
    sending = sink(journal, wire)
    for batch in (entries[at : at + 3] for at in range(0, len(entries), 3)):
        before = list(wire.spans)
        for failing in ("spans", "metrics"):  # the metrics come after the spans
            wire.failing = failing
            with suppress(SinkFailed):  # a batch with which nothing ends is not sent
                await sending.deliver(batch, kept)
            wire.failing, wire.spans = "", list(before)
        kept = await sending.deliver(batch, kept)

    assert (wire.spans, wire.meters.series) == (whole.spans, whole.meters.series)


async def test_what_is_sent_again_because_somebody_wants_it_is_not_counted_again(played):
    """`sinks move --to start` leaves what was kept as it is."""
    journal, entries, whole = played
    wire = Keeping()
    kept = await sink(journal, wire).deliver(entries, "")

    again = await sink(journal, wire).deliver(entries, kept)

    assert again == kept
    assert wire.spans == whole.spans * 2
    assert wire.meters == whole.meters


async def test_what_is_kept_grows_with_the_models_and_not_with_the_runs(played):
    journal, entries, _ = played

    kept = await sink(journal, Keeping()).deliver(entries, "")

    assert len(kept) < 1_500
    assert {series[0] for series in json.loads(kept)["series"]} == {TOKENS, DURATION}
    assert await sink(journal, Keeping(), metrics=False).deliver(entries, "") == ""


async def test_of_a_fork_only_what_is_new_is_told_and_it_links_to_where_it_came_from(tmp_path):
    """What was taken over has been told, and paid, by the other run; wherever the batches end."""
    at = Desks(tmp_path, {"desk": "tools: [look]"}, [look])
    script = {"desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "first"]}
    async with at.open(script) as moot:
        await moot.run("desk", "hello")
    cut = await at.place("tool.finished")
    async with at.open({"desk": ["", "second"]}) as moot:
        await moot.fork("run-1", Fork(at=cut))
    entries = [entry async for entry in at.journal.read(Query(stream="run-2"))]

    for batch in (1, 3, 100):
        with collector() as backend:
            sending, kept = sink(at.journal, Otlp(backend.url, {}, {})), ""
            for first in range(0, len(entries), batch):
                kept = await sending.deliver(entries[first : first + batch], kept)
            await sending.close()

        assert backend.tree() == [("invoke_agent desk", [("chat any", [])])]
        (root,) = [span for span in backend.spans if not span.parent]
        assert root.links == (trace_id("run-1"),)
        assert backend.latest()[TOKENS, "input", ""][0] == 1


async def test_a_fork_is_a_trace_of_its_own_though_the_run_that_it_came_from_was_a_part_of_another(tmp_path):
    at = Desks(tmp_path, {"desk": ""}, [])
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with at.open({"desk": ["first"]}) as moot:
        await moot.run("desk", "hello", errand=Errand(traceparent=parent, ticket="k.1"))
    async with at.open({"desk": ["second"]}) as moot:
        await moot.fork("run-1", Fork(at=1))
    entries = [entry async for entry in at.journal.read(Query())]

    with collector() as backend:
        sending = sink(at.journal, Otlp(backend.url, {}, {}))
        await sending.deliver(entries, "")
        await sending.close()

    first, second = [span for span in backend.spans if span.name == "invoke_agent desk"]
    assert (first.trace, first.parent) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert (second.trace, second.parent) == (trace_id("run-2"), "")
    assert second.links == (first.trace,)


async def test_it_goes_to_its_address_with_its_headers_and_what_the_environment_says(desk, monkeypatch):
    """`OTEL_*` are honoured; what the file says goes first."""
    at = desk({"a": ""}, {"a": ["hello"]})
    await at.run("a")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=desk,deployment.environment.name=test")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue,x-key=old")
    with collector() as backend:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.url)
        wire = Otlp("", {"x-key": "new"}, {"deployment.environment.name": "live"})
        assert await feeding(at.journal, at.clock, sink(at.journal, wire), SETTINGS).once()

    resource = backend.spans[0].resource
    assert (resource["service.name"], resource["team"]) == ("folkmoot", "desk")
    assert resource["deployment.environment.name"] == "live"
    headers = {name.lower(): value for name, value in backend.headers[0].items()}
    assert (headers["x-tenant"], headers["x-key"]) == ("blue", "new")
    assert {span.kind for span in backend.spans if span.name == "chat any"} == {"client"}


@pytest.mark.parametrize(
    ("answer", "words", "wait"),
    [
        ((302, {"Location": "/login"}), "127.0.0.1 answered 302", None),
        ((429, {"Retry-After": "7"}), "127.0.0.1 answered 429", 7.0),
        ((500, {}), "127.0.0.1 answered 500", None),
    ],
)
async def test_what_a_collector_did_not_take_is_told_at_once_and_nothing_is_followed_elsewhere(
    played, answer, words, wait
):
    """Tries are those of whoever feeds the sink; the address itself may be a secret."""
    journal, entries, _ = played
    with collector() as backend:
        backend.answers = [answer]
        sending = sink(journal, Otlp(f"{backend.url}/token", {}, {}))

        with pytest.raises(SinkFailed) as failed:
            await sending.deliver(entries, "")

    assert (str(failed.value), failed.value.wait) == (words, wait)
    assert len(backend.raw) == 1


async def test_a_collector_that_is_not_there_is_told_without_its_address(played):
    journal, entries, _ = played
    with nobody() as url:
        sending = sink(journal, Otlp(url, {}, {}))

        with pytest.raises(SinkFailed, match=r"^127.0.0.1 could not be reached \(Connection refused\)$"):
            await sending.deliver(entries, "")


async def test_the_prompts_of_a_run_of_which_not_everything_is_kept_are_left_out(played):
    journal, entries, _ = played

    async def swept(run, at):
        raise KeyError("the artifact was swept")

    with_prompts, without = Keeping(), Keeping()
    await OtelSink(
        with_prompts, journal, prompt=lambda run, at: rebuild_prompt(journal, run, at), metrics=False
    ).deliver(entries, "")
    await OtelSink(without, journal, prompt=swept, metrics=False).deliver(entries, "")

    def prompted(wire):
        chats = [span for span in wire.spans if span.operation == "chat"]
        return [json.loads(span.attributes.get("gen_ai.input.messages", "[]")) for span in chats]

    assert all(prompted(with_prompts))
    assert not any(prompted(without))
    assert [span.id for span in without.spans] == [span.id for span in with_prompts.spans]


def test_the_buckets_are_those_of_the_conventions():
    assert BOUNDS[TOKENS][:4] == (1, 4, 16, 64)
    assert (len(BOUNDS[TOKENS]), BOUNDS[TOKENS][-1]) == (14, 67_108_864)
    assert BOUNDS[DURATION] == (
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    )  # fmt: skip
