"""Every role and part that a client may send, in the three formats: nothing of a conversation makes it be lost."""

from base64 import b64encode

import httpx
import openai
import pytest

from tests.chat_apis.serving import Server, served, write
from tests.files import PDF, PNG

LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
WIRES = ("chat", "responses", "messages")
SEEN = "attached: image.png (image/png"
SCRIPT = {
    "desk": {"rules": [{"when": SEEN, "report": "I see it."}], "default": {"report": "Hello."}},
    "looker": {
        "rules": [
            {"when": "Thanks.", "report": "Hello."},
            {"when": SEEN, "report": "I see it."},
            {"when": "from the tool", "report": "I read it."},
            {"when": "Look", "calls": [{"tool": "look", "arguments": {}}]},
        ],
        "default": {"report": "Hello."},
    },
    "narrow": {"default": {"report": "I see it."}},
    "seeing": {"rules": [{"when": "Thanks", "report": "Hello."}]},
    "blind": {"default": {"report": "Hello."}},
}
SETTINGS = """
providers:
  s: {kind: scripted, script: script.yaml, contextWindow: 320000}
  narrow: {kind: scripted, script: script.yaml, contextWindow: 32000}
  seeing: {kind: scripted, script: script.yaml, images: true}
  blind: {kind: scripted, script: script.yaml, images: false}
models: {default: s/demo}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    own = {name: f"models: [{name}/demo]" for name in ("narrow", "seeing", "blind")}
    write(folder, dict.fromkeys(SCRIPT, "description: Works.") | own, SCRIPT, SETTINGS)
    with served(folder) as running:
        yield running


class Talk:
    """One conversation, in the words of one format."""

    def __init__(self, server: Server, wire: str, model: str) -> None:
        self._server, self._wire, self._model = server, wire, model
        self.said: list[dict] = []
        self.about: dict = {}

    def text(self, words: str) -> dict:
        return {"type": "input_text" if self._wire == "responses" else "text", "text": words}

    def picture(self, content: bytes = PNG) -> dict:
        data = b64encode(content).decode()
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return self._picture(f"data:image/png;base64,{data}", source)

    def link(self) -> dict:
        """A picture at an address, which nobody fetches."""
        url = "https://example.com/a.png"
        return self._picture(url, {"type": "url", "url": url})

    def _picture(self, url: str, source: dict) -> dict:
        return {
            "chat": {"type": "image_url", "image_url": {"url": url}},
            "responses": {"type": "input_image", "image_url": url},
            "messages": {"type": "image", "source": source},
        }[self._wire]

    def say(self, role: str, content: str | list) -> None:
        self.said.append({"role": role, "content": content})

    def result(self, content: str | list) -> None:
        """Of the call that was asked for last."""
        self.said.append(
            {
                "chat": {"role": "tool", "tool_call_id": self.call, "content": content},
                "responses": {"type": "function_call_output", "call_id": self.call, "output": content},
                "messages": {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": self.call, "content": content}],
                },
            }[self._wire]
        )

    def post(self) -> httpx.Response:
        path, field, tools = {
            "chat": ("chat/completions", "messages", [{"type": "function", "function": LOOK}]),
            "responses": ("responses", "input", [{"type": "function", **LOOK}]),
            "messages": ("messages", "messages", [{"name": "look", "input_schema": LOOK["parameters"]}]),
        }[self._wire]
        body = {"model": self._model, "max_tokens": 99, "tools": tools, field: self.said}
        return httpx.post(f"{self._server.base}/{path}", json=body, timeout=60)

    def answer(self) -> str:
        """What is answered; the answer is said from here on. Empty if a tool is called."""
        given = self.post()
        assert given.status_code == 200, given.text
        said = given.json()
        self.about = said["folkmoot"]
        match self._wire:
            case "chat":
                message = said["choices"][0]["message"]
                self.said.append(message)
                self.call = message["tool_calls"][0]["id"] if "tool_calls" in message else ""
                return message["content"] or ""
            case "responses":
                self.said += said["output"]
                self.call = said["output"][-1].get("call_id", "")
                return "" if self.call else said["output"][-1]["content"][0]["text"]
        self.said.append({"role": "assistant", "content": said["content"]})
        self.call = said["content"][-1].get("id", "")
        return said["content"][-1].get("text", "")

    @property
    def prompt(self) -> str:
        return self._server.prompt(self.about["runId"])

    @property
    def attached(self) -> list[str]:
        started = self._server.events(self.about["runId"])[0]["data"]
        return [part["name"] for part in started["errand"].get("attachments", ())]


@pytest.fixture(params=WIRES)
def talk(server, request):
    return lambda model="desk": Talk(server, request.param, model)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_stand_anywhere_as_text_or_in_parts(talk, role):
    """K-20: Claude Code ends its request with them."""
    one = talk()
    one.say(role, "First.")
    one.say("user", "hi")
    one.say(role, [one.text("Second.")])
    assert one.answer() == "Hello."
    one.say(role, "Third.")
    one.say("user", "And now?")
    one.say(role, [one.text("Last.")])

    assert one.answer() == "Hello."
    told = one.prompt.partition("<client_instructions__")[2]
    assert all(word in told for word in ("First.", "Second.", "Third.", "Last."))
    assert "user: hi" in one.prompt


def test_instructions_behind_a_result_are_read_with_it(talk):
    """K-20."""
    one = talk("looker")
    one.say("user", "Look.")
    assert one.answer() == ""
    one.result("It is there,")
    one.say("system", "says the client, from the tool.")

    assert one.answer() == "I read it."


def test_a_picture_in_a_result_is_shown_to_the_model(server, talk):
    """K-23: the conversation goes on, also with the next question."""
    one = talk("looker")
    one.say("user", "Look.")
    one.answer()
    one.result([one.picture()])

    assert one.answer() == "I see it."
    (event,) = (e for e in server.events(one.about["runId"]) if e["type"] == "client.answered")
    (part,) = event["data"]["parts"]
    assert event["data"]["text"] == f"[image.png (image/png, 32 bytes) is artifact {part['artifact']}]"
    one.say("user", "Thanks.")
    assert one.answer() == "Hello."
    assert "tool: [image.png was shown here, and is shown no more]" in one.prompt


def test_a_picture_in_a_result_of_before_is_shown_again_where_the_model_surely_sees(talk):
    one = talk("seeing")
    one.say("user", "Look.")
    one.call = "call_1"
    wished = {
        "chat": {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "look"}}]},
        "responses": {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        "messages": {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "look"}]},
    }
    one.said.append(wished[one._wire])
    one.result([one.picture()])
    one.say("assistant", "It is green.")
    one.say("user", "Thanks.")

    assert one.answer() == "Hello."
    assert one.attached == ["image.png"]


def test_a_picture_in_a_result_goes_on_to_a_provider(server, tmp_path):
    """K-23: the provider is another Folkmoot, whose agent calls the tool and sees what it gave."""
    provider = f"{{kind: openai, baseUrl: '{server.base}', price: free, images: true, contextWindow: 32000}}"
    settings = f"providers: {{other: {provider}}}\nmodels: {{default: other/looker}}\n"
    write(tmp_path, {"relay": "description: Asks another."}, {}, settings)
    with served(tmp_path) as between:
        one = Talk(between, "chat", "relay")
        one.say("user", "Look.")
        assert one.answer() == ""
        one.result([one.picture()])

        assert one.answer() == "I see it."


def test_a_text_and_what_cannot_be_read_in_a_result_are_told(server, talk):
    one = talk("looker")
    one.say("user", "Look.")
    one.answer()
    one.result([one.text("Words from the tool."), one.link(), {"type": "of next year"}])

    assert one.answer() == "I read it."
    (event,) = (e for e in server.events(one.about["runId"]) if e["type"] == "client.answered")
    text = event["data"]["text"]
    assert text.startswith("Words from the tool.")
    assert "nothing is fetched for a client]" in text
    assert "[a part of the type 'of next year' cannot be read here]" in text


def test_a_message_may_be_a_picture_alone(talk):
    """K-23."""
    one = talk()
    one.say("user", [one.picture()])

    assert one.answer() == "I see it."
    assert one.attached == ["image.png"]
    assert "[attached: image.png]" in one.prompt


def test_what_cannot_be_read_is_refused_when_it_is_asked_and_a_note_later(talk):
    """K-23: a client that keeps it in its conversation is not refused for ever."""
    one = talk()
    one.say("user", [one.text("What is it?"), one.link()])
    refused = one.post()
    assert refused.status_code == 400
    assert "nothing is fetched for a client" in refused.json()["error"]["message"]

    one.say("user", [one.text("Never mind.")])

    assert one.answer() == "Hello."
    assert "nothing is fetched for a client]" in one.prompt


@pytest.mark.parametrize(("model", "most"), [("desk", 20), ("narrow", 3)])
def test_the_latest_pictures_of_a_long_conversation_are_shown(talk, model, most):
    """K-23: neither the twenty-first ends it, nor one that is too much for the model's window."""
    one = talk(model)
    for _ in range(11):
        one.say("user", [one.picture(), one.text("And this?"), one.picture()])
        one.say("assistant", "I see it.")
    one.say("user", [one.picture()])

    assert one.answer() == "I see it."
    assert len(one.attached) == most
    assert one.prompt.count("[image.png was shown here, and is shown no more]") == 23 - most


def test_a_model_without_eyes_reads_that_there_was_a_picture(talk):
    """K-23."""
    one = talk("blind")
    one.say("user", [one.text("What is it?"), one.picture()])

    assert one.answer() == "Hello."
    assert one.attached == []
    assert "[image.png was shown here; the model of this agent takes no images]" in one.prompt
    one.say("user", "And now?")
    assert one.answer() == "Hello."


def test_a_body_of_several_megabytes_is_taken_by_default(server, talk):
    """K-23: one screenshot is more than one."""
    big = PNG + 3_000_000 * b"\0"
    one = talk()
    one.say("user", [one.text("What is it?"), one.picture(big)])

    assert one.answer() == "I see it."


def test_items_of_a_response_are_named_by_their_ids(server: Server):
    """K-24: the default of the AI SDK."""
    with openai.OpenAI(base_url=server.base, api_key="none is needed here") as client:
        events = list(client.responses.create(model="desk", input="hi", stream=True))
        first = events[-1].response
        assert [item.type for item in first.output] == ["reasoning", "message"]
        references = [{"type": "item_reference", "id": first.output[0].id}, {"id": first.output[1].id}]
        question = {"role": "user", "content": "hi"}
        second = client.responses.create(
            model="desk", input=[question, *references, {"role": "user", "content": "And now?"}]
        )

    assert second.output_text == "Hello."
    assert "assistant: Hello." in server.prompt(second.folkmoot["runId"])
    assert second.folkmoot["workSessionId"] == first.folkmoot["workSessionId"]


def test_hints_and_items_that_nobody_knows_are_let_be(server: Server):
    """K-24."""
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {"type": "tool_search_call", "arguments": {"query": "x"}, "call_id": None},
        {"type": "mcp_list_tools", "id": "m", "server_label": "x", "tools": [{}]},
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "of next year", "content": 3, "output": 4, "arguments": 5},
    ]
    hints = {
        "store": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "x",
        "service_tier": "flex",
        "truncation": "auto",
        "context_management": [{"type": "compaction"}],
        "reasoning": {"effort": "high"},
    }
    body = {"model": "desk", "input": [*items, {"role": "user", "content": "hi"}, *items], **hints}
    said = httpx.post(f"{server.base}/responses", json=body, timeout=60)
    assert said.status_code == 200, said.text

    blocks = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": {"error_code": "unavailable"}},
        {"type": "text", "text": "hi", "citations": None, "cache_control": {"type": "ephemeral"}},
    ]
    found = {
        "type": "search_result",
        "source": "a.txt",
        "title": "A",
        "content": [{"type": "text", "text": "green"}],
    }
    inside = {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "blue"}]},
    }
    asked = {
        "model": "desk",
        "max_tokens": 9,
        "messages": [
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [found, inside, {"type": "text", "text": "hi"}]},
        ],
        "context_management": {"edits": []},
        "metadata": {"user_id": "x"},
        "service_tier": "auto",
    }
    said = httpx.post(
        f"{server.base}/messages?beta=true", json=asked, headers={"anthropic-beta": "x"}, timeout=60
    )
    assert said.status_code == 200, said.text
    prompt = server.prompt(said.json()["folkmoot"]["runId"])
    assert all(words in prompt for words in ("A a.txt", "green", "blue"))


def test_a_document_in_a_result_is_read_if_it_is_text(server, talk):
    one = talk("looker")
    one.say("user", "Look.")
    one.answer()
    files = {
        "chat": lambda name, url: {"type": "file", "file": {"filename": name, "file_data": url}},
        "responses": lambda name, url: {"type": "input_file", "filename": name, "file_data": url},
        "messages": lambda name, url: {
            "type": "document",
            "title": name,
            "source": {"type": "base64", "data": url.partition(",")[2]},
        },
    }[one._wire]
    note, bill = (b64encode(content).decode() for content in (b"from the tool", PDF))
    one.result(
        [
            files("note.txt", f"data:text/plain;base64,{note}"),
            files("bill.pdf", f"data:application/pdf;base64,{bill}"),
        ]
    )

    assert one.answer() == "I read it."
    (event,) = (e for e in server.events(one.about["runId"]) if e["type"] == "client.answered")
    assert event["data"]["text"].startswith("note.txt:\nfrom the tool\n[bill.pdf (application/pdf")
    assert "parts" not in event["data"]
