"""The scripted model: the same question always gets the same answer, and every question is remembered."""

import asyncio
import json

import pytest

from folkmoot.domain.message import Answer, Message, ToolCall, ToolSpec, Usage
from folkmoot.domain.report import FINAL_REPORT, ROUTE
from folkmoot.errors import DeclarationError, ModelFailed
from folkmoot.models.scripted import ScriptedModel
from tests.models.provider import LOOK, TALK, asking


def report_tool(form):
    return ToolSpec(FINAL_REPORT, "", {"properties": {"report_format": {"const": form}}})


async def texts(model, *requests):
    return [(await model.answer(asking(**request))).message.text for request in requests]


async def test_turns_are_answered_by_their_number_in_every_session_anew():
    """A resumed session goes on with its turn, whoever answered the ones before."""
    model = ScriptedModel({"a": ["one", "two"]})

    assert await texts(model, {"turn": 2}, {"turn": 1}, {"turn": 1, "session": "s-2"}, {"turn": 2}) == [
        "two", "one", "one", "two",
    ]  # fmt: skip


async def test_attempts_of_a_turn_are_answered_in_order_and_the_last_one_stays():
    model = ScriptedModel({"a": [{"attempts": [{"error": "busy"}, "fine"]}]})

    with pytest.raises(ModelFailed, match="busy"):
        await model.answer(asking())
    assert await texts(model, {"attempt": 2}, {"attempt": 3}) == ["fine", "fine"]


async def test_a_rule_that_fits_the_last_message_comes_before_the_turn():
    model = ScriptedModel(
        {"a": {"rules": [{"when": "found", "text": "thanks"}], "turns": ["I look.", "never"]}}
    )
    found = (*TALK, Message("assistant", "found nothing yet"), Message("tool", "found it"))

    assert await texts(model, {}, {"messages": found, "turn": 2}) == ["I look.", "thanks"]


async def test_after_the_last_turn_comes_the_default_or_the_first_turn_again():
    model = ScriptedModel(
        {
            "a": {"turns": ["one"], "default": "that is all"},
            "b": {"turns": ["one", "two"], "repeat": True},
            "c": ["one"],
        },
        default="who are you?",
    )

    asked = [("a", 9), ("b", 3), ("b", 4), ("c", 2), ("d", 1)]
    said = await texts(model, *({"agent": agent, "turn": turn} for agent, turn in asked))

    assert said == ["that is all", "one", "two", "who are you?", "who are you?"]


@pytest.mark.parametrize(("agent", "turn"), [("a", 2), ("b", 1)])
async def test_who_has_nothing_to_say_fails_for_good_and_says_what_is_missing(tmp_path, agent, turn):
    file = tmp_path / "answers.yaml"
    file.write_text("agents: {a: [one]}")

    with pytest.raises(ModelFailed) as caught:
        await ScriptedModel.read(file).answer(asking(agent=agent, turn=turn))

    assert not caught.value.retryable
    assert f"{file} has no answer for agent '{agent}' in turn {turn}" in str(caught.value)


async def test_calls_go_out_under_their_names_on_the_wire():
    calls = [
        {"tool": "files.read", "arguments": {"path": "a"}},
        {"tool": "odd.name", "id": "mine"},
        {"tool": "look", "arguments": '{"what": '},
    ]
    odd = ToolSpec("odd.name", "", {})

    answer = await ScriptedModel({"a": [{"text": "I look.", "calls": calls}]}).answer(
        asking(tools=(LOOK, odd))
    )

    assert answer.message == Message(
        "assistant",
        "I look.",
        (
            ToolCall("call_1_1", "files__read", {"path": "a"}),
            ToolCall("mine", "odd.name"),
            ToolCall("call_1_3", "look", {}, '{"what": '),
        ),
    )
    assert answer.stop == "tool_calls"


@pytest.mark.parametrize(
    ("form", "report", "arguments"),
    [
        ("text", "Done.", {"report_format": "text", "report_content": "Done."}),
        ("markdown", "# Done", {"report_format": "markdown", "report_content": "# Done"}),
        ("json", {"done": True}, {"report_format": "json", "content_json": {"done": True}}),
        ("json", [1], {"report_format": "json", "content_json": [1]}),
    ],
)
async def test_a_report_is_a_call_of_the_exit_in_the_format_that_is_offered(form, report, arguments):
    model = ScriptedModel({"a": [{"report": report}]})

    answer = await model.answer(asking(tools=(report_tool(form),)))

    assert answer.message.calls == (ToolCall("call_1_1", FINAL_REPORT, arguments),)


async def test_a_report_may_carry_claims_and_metadata():
    reply = {"report": "Done.", "claims": [{"text": "t", "evidence": ["ev_1"]}], "metadata": {"k": "v"}}

    [call] = (await ScriptedModel({"a": [reply]}).answer(asking(tools=(report_tool("text"),)))).message.calls

    assert call.arguments == {
        "report_format": "text",
        "report_content": "Done.",
        "claims": [{"text": "t", "evidence": ["ev_1"]}],
        "metadata": {"k": "v"},
    }


@pytest.mark.parametrize(("report", "text"), [("Done.", "Done."), ({"done": True}, '{"done":true}')])
async def test_who_is_offered_nothing_reports_in_words_and_says_nothing_else(report, text):
    """K-31."""
    reply = {"begins": "Let me ", "text": "see.", "calls": [{"tool": "look"}], "report": report}
    heard = []

    message = (await ScriptedModel({"a": [reply]}).answer(asking(), heard.append)).message

    assert (message.text, message.calls, "".join(heard)) == (text, (), text)


async def test_what_words_cannot_hold_is_reported_by_a_call_though_nothing_is_offered():
    """K-31: in the format of the agent, whichever that is."""
    reply = {"text": "So.", "report": "Done.", "metadata": {"k": "v"}}

    message = (await ScriptedModel({"a": [reply]}).answer(asking())).message

    [call] = message.calls
    assert (message.text, call.arguments) == ("", {"report_content": "Done.", "metadata": {"k": "v"}})


async def test_a_claim_may_cite_the_latest_result_of_a_tool_by_its_name():
    """As a model does: the id is read off the result."""
    claim = {"text": "t", "evidence": ["shop.stock", "shop.price"], "status": "verified"}
    said = (
        Message("assistant", calls=(ToolCall("c1", "shop__stock"), ToolCall("c2", "shop__stock"))),
        Message("tool", "3\n[evidence ev_1]", answers="c1"),
        Message("tool", "[evidence ev_0]\n4\n[evidence ev_2]", answers="c2"),
    )
    request = asking(messages=said)

    [call] = (await ScriptedModel({"a": [{"report": "r", "claims": [claim]}]}).answer(request)).message.calls

    assert call.arguments["claims"] == [
        {"text": "t", "evidence": ["ev_2", "shop.price"], "status": "verified"}
    ]


@pytest.mark.parametrize(
    ("route", "arguments"),
    [
        ("billing", {"agent": "billing"}),
        ({"agent": "billing", "message": "m"}, {"agent": "billing", "message": "m"}),
    ],
)
async def test_a_route_is_a_call_of_the_routers_exit(route, arguments):
    answer = await ScriptedModel({"a": [{"route": route}]}).answer(asking())

    assert answer.message.calls == (ToolCall("call_1_1", ROUTE, arguments),)


@pytest.mark.parametrize(
    ("error", "text", "retryable", "retry_after"),
    [
        ("busy", "busy", True, None),
        ({"message": "busy", "retryAfter": "2s"}, "busy", True, 2.0),
        ({"message": "busy", "status": 529}, "scripted answered 529: busy", True, None),
        ({"message": "no", "status": 401}, "scripted answered 401: no", False, None),
        ({"message": "no", "status": 401, "retryable": True}, "scripted answered 401: no", True, None),
        ({"retryable": False}, "the script says so", False, None),
    ],
)
async def test_an_error_fails_the_attempt(error, text, retryable, retry_after):
    with pytest.raises(ModelFailed) as caught:
        await ScriptedModel({"a": [{"error": error}]}).answer(asking())

    failed = caught.value
    assert (str(failed), failed.retryable, failed.retry_after) == (text, retryable, retry_after)


async def test_a_delay_goes_through_the_given_clock():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    await ScriptedModel({"a": [{"text": "late", "delay": "2m"}]}, sleep=sleep).answer(asking())

    assert slept == [120.0]


async def test_at_a_barrier_nobody_goes_on_before_all_are_there():
    """O-42: overlap is proven by waiting for each other, not by a time."""
    model = ScriptedModel({name: [{"text": name, "barrier": "all/3"}] for name in "abc"})
    first, second = (asyncio.create_task(texts(model, {"agent": agent})) for agent in "ab")
    for _ in range(5):
        await asyncio.sleep(0)

    assert [first.done(), second.done()] == [False, False]

    assert await texts(model, {"agent": "c"}) == ["c"]
    assert [await first, await second] == [["a"], ["b"]]


async def test_usage_is_as_written_or_counted_by_length():
    model = ScriptedModel(
        {
            "a": [
                {"text": "x", "usage": {"tokensIn": 9, "tokensOut": 8, "tokensCacheRead": 7}, "costUsd": 0.5, "stop": "length"},
                "x" * 40,
            ]
        }
    )  # fmt: skip

    written = await model.answer(asking())
    counted = await model.answer(asking(turn=2))

    assert written == Answer(Message("assistant", "x"), Usage(9, 8, 7), "length", 0.5)
    assert counted.usage == Usage(tokens_in=(13 + 12) // 4 + 1, tokens_out=11)
    assert counted == await model.answer(asking(turn=2))


async def test_whoever_listens_hears_the_text_in_pieces():
    heard = []

    await ScriptedModel({"a": ["  Hello,\nmy friend. "]}).answer(asking(), heard.append)

    assert "".join(heard) == "  Hello,\nmy friend. "
    assert len(heard) == 3


async def test_what_an_answer_begins_with_is_heard_before_it_waits_or_fails():
    heard, begun = [], asyncio.Event()
    both = {"begins": "Once ", "text": "more.", "barrier": "both/2"}
    model = ScriptedModel({"a": [both], "b": [{"begins": "Once ", "error": "cut"}]})

    waiting = asyncio.create_task(model.answer(asking(), lambda piece: (heard.append(piece), begun.set())))
    await begun.wait()
    assert (heard, waiting.done()) == (["Once "], False)
    await model.answer(asking())
    assert (await waiting).message.text == "".join(heard) == "Once more."
    with pytest.raises(ModelFailed, match="cut"):
        await model.answer(asking(agent="b"), heard.append)
    assert heard[-1] == "Once "


async def test_every_request_is_remembered_also_those_that_fail():
    """The vocabulary of the requirements: SM records every request it got."""
    model = ScriptedModel({"a": [{"error": "busy"}], "b": ["fine"]})
    asked = asking(), asking(agent="b", tools=(LOOK,), temperature=0.3)

    with pytest.raises(ModelFailed):
        await model.answer(asked[0])
    await model.answer(asked[1])

    assert model.heard == list(asked)
    assert model.heard_from("b") == [asked[1]]
    assert model.heard_from("c") == []


async def test_a_script_may_be_a_file(tmp_path):
    file = tmp_path / "answers.yaml"
    file.write_text("agents: {a: [{text: ä, delay: 1s}]}\ndefault: well\n")
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    model = ScriptedModel.read(str(file), sleep=sleep)

    assert await texts(model, {}, {"agent": "b"}) == ["ä", "well"]
    assert slept == [1.0]


def test_a_script_that_is_wrong_is_no_model():
    with pytest.raises(DeclarationError, match="unknown key 'txt'"):
        ScriptedModel({"a": [{"txt": "x"}]})


async def test_what_is_said_can_be_stored():
    answer = await ScriptedModel(
        {"a": [{"text": "x\0", "calls": [{"tool": "t", "arguments": '{"a": NaN}'}]}]}
    ).answer(asking())

    assert (answer.message.text, answer.message.calls[0].arguments) == ("x�", {"a": None})
    assert json.dumps(answer.message.text)
