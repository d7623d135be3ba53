"""Tools that clients offer: whatever is only offered refuses nothing, and a call goes back in the client's own form."""

import anthropic
import httpx
import openai
import pytest

from tests.chat_apis.serving import Server, served, write

PATCH = {"type": "custom", "name": "apply_patch", "description": "Changes files."}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: PATCH"}
CLOSE = {"type": "function", "name": "close", "parameters": {"type": "object", "properties": {}}}
TEAM = {"type": "namespace", "name": "team", "description": "A team.", "tools": [CLOSE, PATCH]}
ELSEWHERE = [
    {"type": "web_search", "external_web_access": False},
    {"type": "file_search", "vector_store_ids": ["x"]},
    {"type": "local_shell"},
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "apply_patch"},
    {"type": "tool_search", "execution": "client", "parameters": {}},
    {"type": "mcp", "server_label": "x", "server_url": "https://example.com"},
    {"type": "of next year", "arguments": 3},
    {},
]


def agent(tool: str, **arguments: str) -> dict:
    """One that calls a tool, and reports when it has said that it did it."""
    return {
        "rules": [{"when": "it is done", "report": "Done."}],
        "default": {"calls": [{"tool": tool, "arguments": arguments}]},
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offered")
    scripts = {
        "closer": agent("team__close"),
        "patcher": agent("apply_patch", input="*** Begin Patch"),
        "grouped": agent("team__apply_patch", input="*** Begin Patch"),
        "dotted": agent("files__look"),
        "asker": agent("client__ask_user", question="Which?"),
        "desk": {"default": {"report": "Hello."}},
    }
    write(folder, dict.fromkeys(scripts, "description: Works.") | {"asker": "tools: [ask_user]"}, scripts)
    with served(folder) as running:
        yield running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.base, api_key="none is needed here") as made:
        yield made


def named(tool: dict, name: str) -> dict:
    return {**tool, "name": name}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("model", "tools", "call"),
    [
        (
            "closer",
            [TEAM],
            {"type": "function_call", "name": "close", "namespace": "team", "arguments": "{}"},
        ),
        ("patcher", [PATCH], {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch"}),
        (
            "grouped",
            [TEAM],
            {
                "type": "custom_tool_call",
                "name": "apply_patch",
                "namespace": "team",
                "input": "*** Begin Patch",
            },
        ),
        ("dotted", [named(CLOSE, "files.look")], {"type": "function_call", "name": "files.look"}),
        ("asker", [named(CLOSE, "ask_user")], {"type": "function_call", "name": "ask_user"}),
    ],
)
def test_a_response_calls_a_tool_as_the_client_knows_it(
    server: Server, client: openai.OpenAI, model, tools, call, streaming
):
    """K-21: groups, freeform tools, and names that cannot be used here."""
    question = {"role": "user", "content": "Do it."}
    asking = {"model": model, "tools": [*ELSEWHERE, *tools, *tools]}
    if streaming:
        events = list(client.responses.create(**asking, input=[question], stream=True))
        asked = events[-1].response
        kind = "custom_tool_call_input" if "input" in call else "function_call_arguments"
        assert f"response.{kind}.done" in [event.type for event in events]
    else:
        asked = client.responses.create(**asking, input=[question])
    (made,) = (item.model_dump(exclude_none=True) for item in asked.output if item.type != "reasoning")
    assert call.items() <= made.items()

    result = {"type": f"{call['type']}_output", "call_id": made["call_id"], "output": "it is done"}
    said = client.responses.create(**asking, input=[question, made, result])
    again = client.responses.create(
        **asking, input=[question, {"type": "item_reference", "id": made["id"]}, result]
    )

    assert said.output_text == again.output_text == "Done."
    assert client.responses.retrieve(asked.id).output[-1].name == call["name"]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_chat_calls_a_freeform_tool_with_one_text(client: openai.OpenAI, streaming: bool):
    """K-21."""
    tool = {
        "type": "custom",
        "custom": {"name": "apply_patch", "format": {"type": "grammar", "grammar": GRAMMAR}},
    }
    messages = [{"role": "user", "content": "Do it."}]
    asking = {"model": "patcher", "tools": [tool, {"type": "web_search"}]}
    if streaming:
        chunks = list(client.chat.completions.create(**asking, messages=messages, stream=True))
        (call,) = (one for chunk in chunks for one in chunk.choices[0].delta.tool_calls or ())
    else:
        (call,) = client.chat.completions.create(**asking, messages=messages).choices[0].message.tool_calls
    wished = call.model_dump(exclude_none=True, exclude={"index"})
    given = {"name": "apply_patch", "input": "*** Begin Patch"}
    assert wished == {"id": call.id, "type": "custom", "custom": given}

    messages.append({"role": "assistant", "content": None, "tool_calls": [wished]})
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "it is done"})

    assert client.chat.completions.create(**asking, messages=messages).choices[0].message.content == "Done."


def test_what_is_only_offered_refuses_nothing(server: Server, client: openai.OpenAI):
    """K-21, in all three formats."""
    added = {"type": "additional_tools", "role": "developer", "tools": [CLOSE, {"type": "web_search"}]}
    message = {"role": "user", "content": "hi"}
    said = client.responses.create(model="desk", input=[added, message], tools=ELSEWHERE)
    assert said.output_text == "Hello."
    offers = {"tools": ELSEWHERE, "functions": [{"name": "look"}], "web_search_options": {}}
    body = {"model": "desk", "messages": [message], **offers}
    assert httpx.post(f"{server.base}/chat/completions", json=body, timeout=60).status_code == 200
    own = {"name": "agent__final_report", "input_schema": {"type": "object"}}
    hosted = [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "bash_20250124", "name": "bash"},
    ]
    with anthropic.Anthropic(base_url=server.address, api_key="none is needed here") as made:
        answer = made.messages.create(
            model="desk",
            max_tokens=99,
            messages=[message],
            tools=[*hosted, own],
            extra_body={"mcp_servers": [{"type": "url", "url": "https://example.com", "name": "x"}]},
        )
    assert answer.content[-1].text == "Hello."


def test_the_grammar_of_a_freeform_tool_is_told_to_the_model(server: Server, client: openai.OpenAI):
    said = client.responses.create(model="patcher", tools=[{**PATCH, "format": GRAMMAR}], input="Do it.")

    (tool,) = server.events(said.folkmoot["runId"])[0]["data"]["errand"]["tools"]
    assert tool["description"] == "Changes files.\n\n`input` follows this grammar (lark):\nstart: PATCH"
    assert tool["parameters"]["required"] == ["input"]
