"""One trace from a client's span through every door to models, tool servers and remote agents, over real processes.

What is exported is decoded by a collector; what goes out is seen by a model server and by a second Folkmoot.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from a2a.client import ClientCallContext, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.chat_apis.serving import Server, called, served, write
from tests.chat_apis.test_openai_waiting import user
from tests.sinks.collector import Collector, Seen, collector

SCRIPTED = "s: {kind: scripted, script: script.yaml}"


class Models:
    """Answers as OpenAI and Anthropic would, calling a tool first if it is offered one, and keeps the headers."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def answer(self, path: str, headers: dict[str, str], body: Any) -> Any:
        self.headers.append({name.lower(): value for name, value in headers.items()})
        if path.endswith("messages"):
            usage = {"input_tokens": 3, "output_tokens": 2}
            said = [{"type": "text", "text": "Noted."}]
            return {"content": said, "stop_reason": "end_turn", "usage": usage}
        message: dict[str, Any] = {"role": "assistant", "content": "Three, I hear."}
        names = [each["function"]["name"] for each in body.get("tools", ())]
        if "far__clerk" in names and not any(each["role"] == "tool" for each in body["messages"]):
            function = {"name": "far__clerk", "arguments": json.dumps({"request": "How much?"})}
            message |= {
                "content": None,
                "tool_calls": [{"id": "1", "type": "function", "function": function}],
            }
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@contextmanager
def answering(models: Models) -> Iterator[Models]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = json.dumps(models.answer(self.path, dict(self.headers), body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        models.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield models
        finally:
            server.shutdown()
            thread.join()


class ServerState:
    """A Folkmoot, another that works for it, their models, and where both send their traces."""

    def __init__(self, near: Server, far: Server, models: Models, backend: Collector) -> None:
        self.near, self.far, self.models, self.backend = near, far, models, backend
        self._provider = TracerProvider()
        sent = OTLPSpanExporter(f"{backend.url}/v1/traces")
        self._provider.add_span_processor(SimpleSpanProcessor(sent))

    @contextmanager
    def span(self, name: str) -> Iterator[dict[str, str]]:
        """Of a client, with the headers that it sends in it."""
        headers: dict[str, str] = {}
        with self._provider.get_tracer("client").start_as_current_span(name):
            inject(headers)
            yield headers

    def sent(self, name: str) -> tuple[Seen, list[Seen]]:
        """The client's span, and all of its trace, when everything is sent."""
        for server in (self.near, self.far):
            server.call("sinks", "run", "--once")
        (client,) = [span for span in self.backend.spans if span.name == name]
        return client, [span for span in self.backend.by_id.values() if span.trace == client.trace]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerState]:
    near, far = tmp_path_factory.mktemp("near"), tmp_path_factory.mktemp("far")
    with collector() as backend, answering(Models()) as models:
        sinks = f"sinks: {{t: {{kind: otel, url: '{backend.url}', metrics: false}}}}\n"
        clerk = {"clerk": "description: Counts."}
        plain = f"providers: {{{SCRIPTED}}}\nmodels: {{default: s/demo}}\n{sinks}"
        write(far, clerk, {"clerk": {"default": {"report": "Three."}}}, plain)
        with served(far) as there:
            settings = (
                f"providers: {{{SCRIPTED}, o: {{kind: openai, baseUrl: '{models.url}', price: free}},"
                f" c: {{kind: anthropic, baseUrl: '{models.url}', price: free}}}}\n"
                f"models: {{default: s/demo, open: {{ref: o/m, contextWindow: 32000}},"
                f" closed: {{ref: c/m, contextWindow: 32000}}}}\n"
                f"tools: {{far: {{kind: mcp, url: '{there.address}mcp', effect: pure, access: read}}}}\n{sinks}"
            )
            agents = {
                "desk": "models: [open]\ntools: [far.clerk]\nadvisors: [closed.ai, remote.ai]",
                "closed": "models: [closed]\ndescription: Notes.",
                "plain": "description: Answers.",
            }
            remote = f"---\ndescription: Far away.\nremote: {{url: '{there.address}a2a/clerk'}}\n---\n"
            (near / "remote.ai").write_text(remote)
            write(near, agents, {"plain": {"default": {"report": "Hello."}}}, settings)
            with served(near) as here:
                yield ServerState(here, there, models, backend)


def parent_of(span: Seen, spans: list[Seen]) -> str:
    return next((each.name for each in spans if each.id == span.parent), "")


TREE = [
    ("client", ""),
    ("invoke_agent desk", "client"),
    ("invoke_agent closed", "invoke_agent desk"),
    ("chat m", "invoke_agent closed"),
    ("invoke_agent remote", "invoke_agent desk"),
    ("chat a2a", "invoke_agent remote"),
    ("invoke_agent clerk", "chat a2a"),
    ("chat demo", "invoke_agent clerk"),
    ("chat m", "invoke_agent desk"),
    ("execute_tool far__clerk", "invoke_agent desk"),
    ("invoke_agent clerk", "execute_tool far__clerk"),
    ("chat demo", "invoke_agent clerk"),
    ("chat m", "invoke_agent desk"),
]
"""Each span with the one above it; `clerk` is an agent of the other house, as a remote agent and as a tool."""


def test_a_clients_span_a_run_its_models_its_tools_and_a_remote_agent_are_one_tree(house: ServerState):
    with (
        house.span("client") as headers,
        openai.OpenAI(base_url=house.near.base, api_key="-") as client,
    ):
        said = client.chat.completions.create(
            model="desk", messages=[user("How much?")], extra_headers=headers
        )
    assert said.choices[0].message.content == "Three, I hear."

    client_span, spans = house.sent("client")

    assert sorted((span.name, parent_of(span, spans)) for span in spans) == sorted(TREE)
    told = {header["traceparent"] for header in house.models.headers}
    asked, flags = [span for span in spans if span.name == "chat m"], headers["traceparent"][-2:]
    assert told == {f"00-{span.trace}-{span.id}-{flags}" for span in asked}
    shown = house.near.run(said.folkmoot["runId"])
    assert shown["traceId"] == client_span.trace
    page = httpx.get(f"{house.near.address}runs/{said.folkmoot['runId']}")
    assert client_span.trace in page.text
    printed = json.loads(house.near.call("runs", "show", said.folkmoot["runId"], "--json"))
    assert printed["traceId"] == client_span.trace


def responses(near: Server, headers: dict[str, str]) -> None:
    with openai.OpenAI(base_url=near.base, api_key="-") as client:
        client.responses.create(model="plain", input="hi", extra_headers=headers)


def messages(near: Server, headers: dict[str, str]) -> None:
    with anthropic.Anthropic(base_url=near.address, api_key="-") as client:
        client.messages.create(
            model="plain", max_tokens=9, messages=[{"role": "user", "content": "hi"}], extra_headers=headers
        )


def api(near: Server, headers: dict[str, str]) -> None:
    body = {"agent": "plain", "request": "hi"}
    run = httpx.post(f"{near.address}api/runs", json=body, headers=headers).json()["runId"]
    httpx.get(f"{near.address}api/runs/{run}/stream", timeout=60)


def mcp_meta(near: Server, headers: dict[str, str]) -> None:
    async def call() -> None:
        async with Client(f"{near.address}mcp") as client:
            await client.call_tool("plain", {"request": "hi"}, meta=headers)

    asyncio.run(call())


def mcp_header(near: Server, headers: dict[str, str]) -> None:
    async def call() -> None:
        async with httpx2.AsyncClient(headers=headers) as http:
            over = streamable_http_client(f"{near.address}mcp", http_client=http)
            async with Client(over) as client:
                await client.call_tool("plain", {"request": "hi"})

    asyncio.run(call())


def a2a(near: Server, headers: dict[str, str]) -> None:
    async def call() -> None:
        async with httpx.AsyncClient(timeout=60) as http:
            factory = ClientFactory(ClientConfig(httpx_client=http))
            client = await factory.create_from_url(f"{near.address}a2a/plain")
            message = Message(message_id="m1", role=Role.ROLE_USER, parts=[Part(text="hi")])
            context = ClientCallContext(service_parameters=headers)
            async for _ in client.send_message(SendMessageRequest(message=message), context=context):
                pass

    asyncio.run(call())


def terminal(near: Server, headers: dict[str, str]) -> None:
    called(near.folder, "run", "plain.ai", "hi", "-q", TRACEPARENT=headers["traceparent"])


@pytest.mark.parametrize("door", [responses, messages, api, mcp_meta, mcp_header, a2a, terminal])
def test_a_run_belongs_into_the_trace_of_whoever_asked_for_it(house: ServerState, door: Any):
    name = f"client at {door.__name__}"
    with house.span(name) as headers:
        door(house.near, headers)

    _, spans = house.sent(name)

    assert {(span.name, parent_of(span, spans)) for span in spans} == {
        (name, ""),
        ("invoke_agent plain", name),
        ("chat demo", "invoke_agent plain"),
    }


def test_what_is_no_traceparent_is_ignored(house: ServerState):
    for header in ("00-none-of-these-01", "", "00-" + "0" * 32 + "-00f067aa0ba902b7-01"):
        body = {"model": "plain", "messages": [user("hi")]}
        answer = httpx.post(
            f"{house.near.base}/chat/completions", json=body, headers={"traceparent": header}, timeout=60
        )
        started = house.near.events(answer.json()["folkmoot"]["runId"])[0]["data"]
        assert "traceparent" not in started.get("errand", {})
