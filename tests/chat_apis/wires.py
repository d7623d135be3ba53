"""The same conversation over each of the three chat wires, as plain HTTP."""

from typing import Any

import httpx

from tests.chat_apis.serving import Server


def turns(texts: tuple[str, ...]) -> list[dict[str, str]]:
    """The user and the assistant, in turn."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def chat(agent: str, *texts: str, **more: Any) -> dict[str, Any]:
    return {"path": "chat/completions", "json": {"model": agent, "messages": turns(texts), **more}}


def responses(agent: str, *texts: str, **more: Any) -> dict[str, Any]:
    return {"path": "responses", "json": {"model": agent, "input": turns(texts), **more}}


def messages(agent: str, *texts: str, **more: Any) -> dict[str, Any]:
    body = {"model": agent, "max_tokens": 9, "messages": turns(texts), **more}
    return {"path": "messages", "json": body}


WIRES = [chat, responses, messages]


def text_in(answer: dict[str, Any]) -> str:
    """Of a whole answer, on any wire."""
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    (block,) = answer["output"][0]["content"] if "output" in answer else answer["content"]
    return str(block["text"])


def post(server: Server, asked: dict[str, Any], key: str = "") -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return httpx.post(f"{server.base}/{asked['path']}", json=asked["json"], headers=headers, timeout=60)
