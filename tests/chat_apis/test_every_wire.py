"""Rules that hold on every chat wire, whatever its form."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.chat_apis.serving import Server
from tests.chat_apis.test_idempotency import asked_of_a_model
from tests.chat_apis.test_openai_waiting import ends
from tests.chat_apis.wires import WIRES, post, text_in

pytestmark = pytest.mark.parametrize("wire", WIRES)
Wire = Callable[..., dict[str, Any]]


def test_a_conversation_goes_on_in_the_same_work_session(server: Server, wire: Wire):
    said: list[str] = []
    about = []
    for text in ("hi", "the second", "the third"):
        answer = post(server, wire("desk", *said, text)).json()
        said += [text, text_in(answer)]
        about.append(answer["folkmoot"])

    assert said[1::2] == ["Hello.", "Two.", "Three."]
    assert len({each["runId"] for each in about}) == 3
    assert len({each["workSessionId"] for each in about}) == 1
    assert "user: the second\n\nassistant: Two." in server.prompt(about[-1]["runId"])


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_client_that_goes_cancels_its_run(server: Server, wire: Wire, streaming: bool):
    """O-43: also when the answer would have come in one piece."""
    text = f"take your time, {wire.__name__} {streaming}"
    asked = wire("slow", text, stream=streaming)
    async with httpx.AsyncClient(timeout=60) as http:
        gone = asyncio.create_task(http.post(f"{server.base}/{asked['path']}", json=asked["json"]))
        (run,) = await asked_of_a_model(server, text)
        gone.cancel()
        await asyncio.wait({gone})

    end = await asyncio.to_thread(ends, server, run)
    assert (end["type"], end["data"]["reason"]) == ("run.cancelled", "its client has gone")
