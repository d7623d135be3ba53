"""A reply in the form of OpenAI's Responses API, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from folkmoot.http.problems import ChatError
from folkmoot.protocols import wire
from folkmoot.protocols.answers import ChatReply, ClientCall
from folkmoot.views.costs import Totals

MESSAGE, REASONING, FUNCTION, FREEFORM = "msg_", "rs_", "fc_", "ctc_"
"""How the ids of the items of an answer begin, before the id of the answer, or that of the call."""


def response_head(id: str, created: int, model: str, **more: Any) -> dict[str, Any]:
    """What is known before the run has ended."""
    return {
        "id": id,
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


class ResponseEvents:
    """One response, whole or event by event; progress is a summary of reasoning."""

    alive = b": still here\n\n"

    def __init__(self, head: dict[str, Any]) -> None:
        self._head = head
        self._count = 0
        """Of events."""
        self._output: list[dict[str, Any]] = []
        """The items that are complete."""
        self._progress = ""
        self._text = ""

    def whole(self, reply: ChatReply) -> dict[str, Any]:
        done = {**self._head, "status": "completed", "output": _build_output(self._head["id"], reply)}
        if error := reply.failure:
            done |= {"status": "failed", "error": _error(error), "output": []}
        return {**done, "usage": _usage(reply.usage), "folkmoot": reply.about}

    def start(self) -> Iterator[bytes]:
        yield self._event("created", response=self._head)
        yield self._event("in_progress", response=self._head)

    def progress(self, line: str) -> Iterator[bytes]:
        place = self._place(self._reasoning, "summary_index")
        if not self._progress:
            yield self._add(self._reasoning)
            empty = {"type": "summary_text", "text": ""}
            yield self._event("reasoning_summary_part.added", **place, part=empty)
        self._progress += f"{line}\n"
        yield self._event("reasoning_summary_text.delta", **place, delta=f"{line}\n")

    def text(self, piece: str) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
            yield from self._begin_message()
        self._text += piece
        place = self._place(_message_item(self._head["id"], ""), "content_index")
        yield self._event("output_text.delta", **place, delta=piece, logprobs=[])

    def end(self, reply: ChatReply) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
        for item in _build_output(self._head["id"], reply):
            yield from self._end_message(item) if item["type"] == "message" else self._call(item)
            yield self._done(item)
        yield self._event("completed", response={**self.whole(reply), "output": self._output})

    def fail(self, error: ChatError) -> Iterator[bytes]:
        yield self._event("failed", response={**self._head, "status": "failed", "error": _error(error)})

    @property
    def _reasoning(self) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": self._progress}] if self._progress else []
        return {"id": f"{REASONING}{self._head['id']}", "type": "reasoning", "summary": summary}

    def _end_progress(self) -> Iterator[bytes]:
        if self._progress:
            item = self._reasoning
            place = self._place(item, "summary_index")
            yield self._event("reasoning_summary_text.done", **place, text=self._progress)
            yield self._event("reasoning_summary_part.done", **place, part=item["summary"][0])
            yield self._done(item)

    def _begin_message(self) -> Iterator[bytes]:
        empty = _message_item(self._head["id"], "")
        place, part = self._place(empty, "content_index"), empty["content"][0]
        yield self._add({**empty, "status": "in_progress", "content": []})
        yield self._event("content_part.added", **place, part=part)

    def _end_message(self, item: dict[str, Any]) -> Iterator[bytes]:
        if not self._text:
            yield from self._begin_message()
        place, (part,) = self._place(item, "content_index"), item["content"]
        yield self._event("output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("content_part.done", **place, part=part)

    def _call(self, item: dict[str, Any]) -> Iterator[bytes]:
        kind, given, named = "function_call_arguments", "arguments", {"name": item["name"]}
        if item["type"] == "custom_tool_call":
            kind, given, named = "custom_tool_call_input", "input", {}
        place = self._place(item)
        yield self._add({**item, given: "", "status": "in_progress"})
        yield self._event(f"{kind}.delta", **place, delta=item[given])
        yield self._event(f"{kind}.done", **place, **named, **{given: item[given]})

    def _place(self, item: dict[str, Any], *indices: str) -> dict[str, Any]:
        return {"item_id": item["id"], "output_index": len(self._output), **dict.fromkeys(indices, 0)}

    def _add(self, item: dict[str, Any]) -> bytes:
        return self._event("output_item.added", output_index=len(self._output), item=item)

    def _done(self, item: dict[str, Any]) -> bytes:
        self._output.append(item)
        return self._event("output_item.done", output_index=len(self._output) - 1, item=item)

    def _event(self, name: str, /, **data: Any) -> bytes:
        number, self._count = self._count, self._count + 1
        type = f"response.{name}"
        return wire.encode_event({"type": type, "sequence_number": number, **data}, type)


def _build_output(id: str, reply: ChatReply) -> list[dict[str, Any]]:
    calls = [_call_item(call) for call in reply.calls]
    if calls and not reply.text:
        return calls
    return [_message_item(id, reply.text), *calls]


def _message_item(id: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": f"{MESSAGE}{id}", "type": "message", "status": "completed", "role": "assistant"}
    return {**message, "content": [part]}


def _call_item(call: ClientCall) -> dict[str, Any]:
    named = {"call_id": call.id, "name": call.tool.name, "status": "completed"}
    if call.tool.namespace:
        named["namespace"] = call.tool.namespace
    if call.tool.freeform:
        return {"id": f"{FREEFORM}{call.id}", "type": "custom_tool_call", **named, "input": call.text}
    return {"id": f"{FUNCTION}{call.id}", "type": "function_call", **named, "arguments": call.text}


def _error(error: ChatError) -> dict[str, Any]:
    return {"code": error.code or "server_error", "message": str(error)}


def _usage(spent: Totals) -> dict[str, Any]:
    return {
        "input_tokens": spent.tokens_in,
        "input_tokens_details": {"cached_tokens": spent.tokens_cache_read},
        "output_tokens": spent.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.tokens_in + spent.tokens_out,
    }
