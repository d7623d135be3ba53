"""Chat clients in front of a journal that workers share: the server runs nothing, and answers all the same."""

import openai
import pytest

from tests.chat_apis.serving import FOREVER, Server, served
from tests.chat_apis.test_openai_waiting import assistant, ends, user
from tests.cli.conftest import Program
from tests.workers import Shop

SCRIPT = {
    "clerk": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which order?"}}]},
        {"report": "I looked at it."},
    ],
    "slow": {"default": FOREVER},
}


@pytest.fixture
def server(tmp_path, capsys, monkeypatch, storage):
    monkeypatch.chdir(tmp_path)
    shop = Shop(Program(tmp_path, capsys, monkeypatch), storage)
    shop.write(SCRIPT, {"clerk": "tools: [ask_user]", "slow": "description: Takes its time."})
    try:
        shop.worker()
        with served(tmp_path) as running:
            yield running
    finally:
        shop.close()


def test_workers_run_what_a_chat_client_asks_for(server: Server):
    """O-43 holds there too."""
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        messages = [user("Where is it?")]
        asked = client.chat.completions.create(model="clerk", messages=messages).choices[0].message.content
        assert asked.startswith("Which order?")
        messages += [assistant(asked), user("1042")]
        stream = client.chat.completions.create(model="clerk", messages=messages, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "I looked at it."

        stream = client.chat.completions.create(model="slow", messages=[user("hi")], stream=True)
        chunk = next(chunk for chunk in stream if hasattr(chunk.choices[0].delta, "reasoning_content"))
        stream.close()
        assert ends(server, chunk.id.removeprefix("chatcmpl-"))["type"] == "run.cancelled"
