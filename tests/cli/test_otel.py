"""Traces and metrics from the terminal: examples, over the death of the run and of whoever sends, and who may send."""

import asyncio
import json
import subprocess
import sys

import pytest

from folkmoot.domain.trace import trace_id
from folkmoot.engine.workshop import open_journal
from tests.cli.conftest import FOREVER, SETTINGS, ended
from tests.examples import copied
from tests.sinks.collector import PATIENCE, collector
from tests.sinks.receiver import noted

TOKENS = "gen_ai.client.token.usage"


@pytest.fixture
def backend():
    with collector() as found:
        yield found


@pytest.fixture
def example(folkmoot, backend):
    """A run of an example, sent on."""

    def sent(name: str, agent: str, *options: str):
        copied(name, folkmoot.folder)
        with (folkmoot.folder / "folkmoot.yaml").open("a") as settings:
            settings.write(f"sinks: {{t: {{kind: otel, url: '{backend.url}'{''.join(options)}}}}}\n")
        folkmoot("trust", "--yes")
        assert folkmoot("run", f"{agent}.ai", "I was charged twice for order 1042.").code == 0
        assert folkmoot("sinks", "run", "--once").code == 0
        return folkmoot("runs", "show", "last", "--json").json

    return sent


def as_spans(node) -> tuple[str, list]:
    """A session of a run's tree as the spans that stand for it."""
    below: list = []
    for op in (op for turn in node["turns"] for op in turn["ops"]):
        child = [as_spans(op["childSession"])] if op.get("childSession") else []
        match op["kind"]:
            case "session":
                below += child
            case "llm":
                below.append((f"chat {op['name'].partition('/')[2]}", []))
            case "tool":
                below.append((f"execute_tool {op['name']}", child))
    return f"invoke_agent {node['agentId']}", sorted(below)


@pytest.mark.parametrize(("name", "agent"), [("front-desk", "front-desk"), ("review-team", "review")])
def test_the_spans_of_an_example_are_the_tree_of_its_run_and_their_tokens_are_its_account(
    example, backend, name, agent
):
    """Issue 8, OpenTelemetry: a run is one trace, whose id follows from its name."""
    shown = example(name, agent)

    spans = backend.spans
    assert backend.tree() == [as_spans(shown["opTree"])]
    assert {span.trace for span in spans} == {trace_id(shown["runId"])} == {shown["traceId"]}
    assert len({span.id for span in spans}) == len(spans)
    assert {span.parent for span in spans} <= {span.id for span in spans} | {""}
    chats = [span.attributes for span in spans if span.name.startswith("chat")]
    spent = {kind: sum(chat[f"gen_ai.usage.{kind}_tokens"] for chat in chats) for kind in ("input", "output")}
    assert spent == {"input": shown["totals"]["tokensIn"], "output": shown["totals"]["tokensOut"]}
    metrics = backend.latest()
    assert {kind: metrics[TOKENS, kind, ""] for kind in spent} == {
        kind: (len(chats), tokens) for kind, tokens in spent.items()
    }
    assert metrics["gen_ai.client.operation.duration", "", ""][0] == len(chats)


def test_nothing_that_anybody_wrote_leaves_the_house_unless_it_is_wanted(example, backend):
    example("front-desk", "front-desk")

    sent = b"".join(backend.raw)
    for words in (b"charged", b"Admit the mistake", b"order 1042", b"Dear customer", b"You are"):
        assert words not in sent


def test_with_content_the_request_prompts_answers_arguments_and_results_are_sent(example, backend):
    example("front-desk", "front-desk", ", content: true")

    said = {(span.name, span.attributes["folkmoot.span"]): span.attributes for span in backend.spans}
    root = said["invoke_agent front-desk", "0"]
    assert json.loads(root["gen_ai.output.messages"])[0]["parts"][0]["content"].startswith("Dear customer")
    assert "I was charged twice" in root["gen_ai.input.messages"]
    call = said["execute_tool agent__ledger", "0/route:billing"]
    assert json.loads(call["gen_ai.tool.call.arguments"])["prompt"] == "What was charged for order 1042?"
    assert "39.90 EUR on 3 May" in call["gen_ai.tool.call.result"]
    chat = said["chat demo", "0/route:billing"]
    assert (
        "front desk" in chat["gen_ai.system_instructions"] or "billing" in chat["gen_ai.system_instructions"]
    )
    messages = json.loads(chat["gen_ai.input.messages"])
    assert [message["role"] for message in messages][:2] == ["user", "assistant"]
    assert json.loads(chat["gen_ai.output.messages"])[0]["parts"][0]["name"] == "agent__final_report"


def test_a_replay_and_a_second_sending_send_nothing(folkmoot, example, backend):
    """Issue 8: it is a sink over the journal, in which a replay writes nothing."""
    example("review-team", "review")
    before = len(backend.raw)

    replayed = folkmoot("runs", "replay", "last")
    again = folkmoot("sinks", "run", "--once")

    assert (replayed.code, again.code) == (0, 0)
    assert len(backend.raw) == before


AGENTS = {"a": "advisors: [law.ai]\nhandoff: b.ai", "b": "", "law": ""}
REPORT = {"report": "Done.", "usage": {"tokensIn": 100, "tokensOut": 10}}


async def test_a_run_and_a_sender_that_are_killed_make_one_trace_in_which_nothing_counts_twice(
    folkmoot, backend
):
    """Issue 8: a span whose batch comes again has the same id and says the same; metrics come to the same sums."""
    settings = f"{SETTINGS}sinks: {{t: {{kind: otel, url: '{backend.url}', batch: 4}}}}\n"
    folkmoot.write(AGENTS, {"law": [REPORT], "a": [FOREVER], "b": [REPORT]}, settings)
    run = folkmoot.started("run", "a.ai", "hello")
    journal = open_journal(folkmoot.folder)
    await noted(journal, "llm.request", 2)
    await journal.close()
    await killed(run)

    backend.answering.clear()
    sender = folkmoot.started("sinks", "run")
    await asyncio.to_thread(backend.came.get, timeout=PATIENCE)
    await killed(sender)
    backend.answering.set()
    taken = list(backend.spans)
    folkmoot.write(AGENTS, {"law": [], "a": [REPORT], "b": [REPORT]}, settings)
    resumed = await asyncio.to_thread(ended, folkmoot.started("runs", "resume", "last"))
    sent = await asyncio.to_thread(ended, folkmoot.started("sinks", "run", "--once"))

    assert (resumed.code, sent.code, sent.err) == (0, 0, "")
    assert [span.name for span in taken] == ["chat demo"]
    assert [span for span in backend.spans if span.id == taken[0].id] == taken * 2
    assert len(backend.spans) == len(backend.by_id) + 1
    assert backend.tree() == [
        (
            "invoke_agent a",
            [
                ("chat demo", []),
                ("invoke_agent b", [("chat demo", [])]),
                ("invoke_agent law", [("chat demo", [])]),
            ],
        )
    ]
    assert len({span.trace for span in backend.spans}) == 1
    assert backend.latest()[TOKENS, "input", ""] == (3, 300)
    assert backend.latest()[TOKENS, "output", ""] == (3, 30)


async def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    await asyncio.to_thread(process.communicate)


def test_the_trace_of_a_run_stands_in_what_is_shown_of_it_with_a_link_if_there_is_one(folkmoot):
    sinks = "sinks: {t: {kind: otel, traceUrl: 'https://traces.example/t/{traceId}'}}\n"
    folkmoot.write({"a": ""}, {"a": [REPORT, REPORT]}, SETTINGS)
    folkmoot("run", "a.ai", "hello")
    without = folkmoot("runs", "show", "last").out
    (folkmoot.folder / "folkmoot.yaml").write_text(SETTINGS + sinks)

    shown = folkmoot("runs", "show", "last").out

    trace = folkmoot("runs", "show", "last", "--json").json["traceId"]
    assert f"  trace    {trace} https://traces.example/t/{trace}\n" in shown
    assert "trace" not in without


def test_where_runs_are_sent_must_have_been_trusted_with_every_variable_that_goes_along(folkmoot):
    """E-59: also when the address comes from OpenTelemetry's own variables."""
    folkmoot.write(
        {"a": ""},
        {"a": [REPORT]},
        SETTINGS + "sinks: {t: {kind: otel, content: true, headersEnv: {x-key: KEY}}}\n",
        mine=False,
    )

    refused = folkmoot("sinks", "run", "--once")

    assert refused.code == 4
    assert (
        "send all that is written and said here on to the address in $OTEL_EXPORTER_OTLP_ENDPOINT with $KEY"
        " $OTEL_EXPORTER_OTLP_HEADERS, as the sink 't'"
    ) in refused.err


def test_without_the_extra_such_a_sink_says_what_to_install_and_nothing_else_needs_it(folkmoot):
    """A project with such a sink runs; only who sends needs the packages, and imports them only then."""
    folkmoot.write({"a": ""}, {"a": [REPORT]}, SETTINGS + "sinks: {t: {kind: otel}}\n")
    folkmoot("trust", "--yes")
    without = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('opentelemetry', 'requests'): raise ImportError(f'No module {name}')\n"
        "sys.meta_path.insert(0, Without())\n"
        "from folkmoot.cli.main import main\n"
    )
    command = [sys.executable, "-c", without + "print(main(['run', 'a.ai', 'hello', '-q']))\n"]
    ran = subprocess.run(command, cwd=folkmoot.folder, capture_output=True, text=True, timeout=PATIENCE)
    command = [sys.executable, "-c", without + "print(main(['sinks', 'run', '--once']))\n"]
    sent = subprocess.run(command, cwd=folkmoot.folder, capture_output=True, text=True, timeout=PATIENCE)

    assert ran.stdout == "Done.\n0\n"
    assert "the sink 't' needs a package that is not installed" in sent.stderr
    assert "pip install 'folkmoot[otel]'" in sent.stderr
