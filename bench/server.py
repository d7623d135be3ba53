"""A fake chat-completions server that costs next to nothing; runs in its own process, until its stdin closes.

`python -m bench.server [PORT]`; without one, any that is free.

The model's name says what to answer: `final` reports at once, `route` picks a destination, `tool-N` asks for
a tool until N tool results are in the request and then reports (`plain-N`: in words), `call-N:ID` calls an agent N
times in one turn and then reports. `willing` looks at what it is offered: it routes to the first destination, or
reports in the form that is wanted, in plain words if it is offered nothing; so a whole project can be played with it.
`…@MS` waits that many milliseconds first.
"""

import asyncio
import json
import sys
from typing import Any

REPORT_TEXT = "Thank you for your patience. " * 8
_STATS = b"GET /stats"


class ChatServer(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, by hand: a framework would cost more than what is measured."""

    requests = 0
    received = 0
    """Bytes of all bodies, over all connections; `GET /stats` tells."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end])
            size = content_length(head)
            if len(self.buffer) < end + 4 + size:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + size])
            del self.buffer[: end + 4 + size]
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(_STATS):
            stats = {"requests": ChatServer.requests, "bytes": ChatServer.received}
            self.transport.write(framed(json.dumps(stats).encode()))
            return
        ChatServer.requests += 1
        ChatServer.received += len(body)
        model, _, milliseconds = model_of(body).partition("@")
        reply = framed(completion(model, body))
        if milliseconds:
            asyncio.get_running_loop().call_later(int(milliseconds) / 1000, self.transport.write, reply)
        else:
            self.transport.write(reply)


def content_length(head: bytes) -> int:
    start = head.lower().find(b"content-length:")
    return int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0


def model_of(body: bytes) -> str:
    """The model's name without parsing the body, which would cost the bench a core of its own."""
    start = body.index(b'"', body.index(b":", body.index(b'"model"'))) + 1
    return body[start : body.index(b'"', start)].decode()


def completion(model: str, body: bytes) -> bytes:
    """The answer of a model to a body; how far a conversation went is seen from its tool results."""
    done = body.count(b'"role":"tool"') + body.count(b'"role": "tool"')
    kind, _, turns = model.partition("-")
    turns, _, called = turns.partition(":")
    if kind == "willing":
        tools = json.loads(body).get("tools")
        if not tools:
            return _chat(done + 1, [], prompt_tokens=len(body) // 4)
        call = _offered(tools)
    elif kind == "route":
        call = ("router__handoff-to", {"agent": "billing", "message": "Please take this one."})
    elif kind in ("tool", "plain") and done < int(turns):
        call = ("look", {"what": f"order {done + 1}"})
    elif kind == "plain":
        return _chat(done + 1, [], prompt_tokens=len(body) // 4)
    elif kind == "call" and not done:
        call = ("call_agent", {"mission": "Look into order 1042.", "specialist": called})
    else:
        call = ("agent__final_report", {"report_format": "text", "report_content": REPORT_TEXT})
    times = int(turns) if call[0] == "call_agent" else 1
    return _chat(done + 1, [call] * times, prompt_tokens=len(body) // 4)


def _offered(tools: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The first way out, taken as its schema says; whatever the agent itself wants in JSON is left empty."""
    functions = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in tools}
    if route := functions.get("router__handoff-to"):
        return "router__handoff-to", {"agent": route["agent"]["enum"][0]}
    form = functions["agent__final_report"]["report_format"]["const"]
    content: dict[str, Any] = {"content_json": {}} if form == "json" else {"report_content": REPORT_TEXT}
    return "agent__final_report", {"report_format": form, **content}


def _chat(first: int, calls: list[tuple[str, dict[str, Any]]], prompt_tokens: int) -> bytes:
    functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    wished = [
        {"id": f"call_{number}", "type": "function", "function": function}
        for number, function in enumerate(functions, start=first)
    ]
    said: dict[str, Any] = {"content": None, "tool_calls": wished} if wished else {"content": REPORT_TEXT}
    message = {"role": "assistant", **said}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 40, "total_tokens": prompt_tokens + 40}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls" if wished else "stop"}]
    answer = {"id": "chat-1", "object": "chat.completion", "created": 0, "model": "bench", "choices": choices}
    return json.dumps(answer | {"usage": usage}).encode()


def framed(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )


async def serve(port: int = 0) -> None:
    """Print the port, then answer until whoever started this process lets go of its stdin."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(ChatServer, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
