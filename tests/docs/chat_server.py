"""A chat-completions server for the programs on the pages about moving over: it plays the model of a small shop.

What it answers follows from what it is asked alone. Who is to sort a request gets a desk named, as a word or as the tool
that leads there; who may pay back does so once, and then says what came of it; anybody else writes about the parcel.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAID = "We are sorry: order 1042 was charged twice. The second 39.90 EUR are on their way back."
DENIED = "Order 1042 was charged twice. A colleague looks into it and writes to you tomorrow."
PARCEL = "Your parcel left the store yesterday. If it is not with you tomorrow we send it again."


@contextmanager
def shop_model() -> Iterator[int]:
    """Its port on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message."""
    messages = request["messages"]
    said = "\n".join(str(message.get("content") or "") for message in messages)
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    desk = "billing" if "charged" in said else "shipping"
    sorting = [name for name in tools if name.endswith(desk)]
    if sorting:
        return _call(len(messages), sorting[0], {})
    asked = any(
        call["function"]["name"] == "refund" for each in messages for call in each.get("tool_calls") or ()
    )
    if "refund" in tools and not asked:
        return _call(len(messages), "refund", {"order": 1042, "euros": 39.9})
    if asked:
        return {"content": PAID if "on their way" in said else DENIED}
    return {"content": desk if "one word" in said else PARCEL}


def _call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        why = "tool_calls" if "tool_calls" in message else "stop"
        choices = [{"index": 0, "finish_reason": why, "message": {"role": "assistant", **message}}]
        usage = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
        body = json.dumps(
            {
                "id": "chat-1",
                "object": "chat.completion",
                "created": 0,
                "model": "shop",
                "choices": choices,
                "usage": usage,
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing of it is anybody's business."""
