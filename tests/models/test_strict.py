"""A report that must fit a schema: what a provider is held to, and what happens where it will not be."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Output
from folkmoot.domain.message import ToolSpec
from folkmoot.errors import ModelFailed
from folkmoot.models.outgoing import PLAIN, closed_arguments
from folkmoot.session.exits import final_report
from tests.models.gemini import MODEL, gemini_models, refused, said, text
from tests.models.provider import LOOK, adapter, answered, asking

NAME, AGE = {"type": "string"}, {"type": "integer"}
PERSON = {"type": "object", "properties": {"name": NAME, "age": AGE}, "required": ["name", "age"]}
DONE = {
    "choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}],
    "content": [{"type": "text", "text": "fine"}],
}


def report(schema=PERSON, claims=False):
    agent = Agent(id="a", file="a.ai", prompt="", output=Output(format="json", schema=schema, claims=claims))
    return final_report(agent)


def sent(body):
    """The report as it was offered: its schema, and whether the model is held to it."""
    tool = body["tools"][-1]
    tool = tool.get("function", tool)
    return tool.get("parameters") or tool["input_schema"], tool.get("strict", False)


def content(arguments):
    return arguments["properties"]["content_json"]


def test_a_report_with_a_schema_is_closed_and_loses_what_is_open():
    assert closed_arguments(report(claims=True)) == {
        "type": "object",
        "properties": {
            "report_format": {"type": "string", "const": "json"},
            "content_json": {**PERSON, "additionalProperties": False},
            "claims": {
                **report(claims=True).parameters["properties"]["claims"],
                "items": {
                    "type": "object",
                    "properties": {"text": NAME, "evidence": {"type": "array", "items": NAME}},
                    "required": ["text", "evidence"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["report_format", "content_json", "claims"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {**PERSON, "required": ["name"]},
        {**PERSON, "required": ["name", "age", "town"]},
        {**PERSON, "additionalProperties": True},
        {**PERSON, "properties": {"name": NAME, "age": {"type": "object"}}},
        {**PERSON, "properties": {"name": NAME, "age": {}}},
        {**PERSON, "properties": {"name": NAME, "age": True}},
        {**PERSON, "patternProperties": {"x": NAME}},
        {**PERSON, "allOf": [PERSON]},
        {**PERSON, "anyOf": [PERSON]},
        {"type": "array"},
        {"type": "array", "items": {"type": "object"}},
        {"anyOf": [NAME, {"type": "object"}]},
        {"$ref": "#/$defs/person", "$defs": {"person": PERSON}},
        {"enum": ["a", "b"]},
    ],
)
def test_a_schema_that_leaves_something_open_is_offered_as_it_is(schema):
    assert closed_arguments(report(schema)) is None


def test_only_what_is_declared_strict_is_closed():
    closable = ToolSpec("t", "", {**PERSON, "additionalProperties": False})

    assert closed_arguments(closable) is None
    assert closed_arguments(replace(closable, strict=True)) == {**PERSON, "additionalProperties": False}


def test_a_report_without_a_schema_is_never_strict():
    plain = Agent(id="a", file="a.ai", prompt="", output=Output(format="json"))

    assert not final_report(plain).strict


def test_some_providers_let_properties_be_left_out_and_none_is_made_up():
    loose = {**PERSON, "required": ["name"]}

    closed = closed_arguments(report(loose), optional=True)

    assert content(closed) == {**loose, "additionalProperties": False}


def test_words_that_say_nothing_are_left_out_and_unknown_ones_speak_against_it():
    said = {**PERSON, "$schema": "x", "properties": {"name": {**NAME, "default": "x"}, "age": AGE}}
    bounded = {**PERSON, "properties": {"name": NAME, "age": {**AGE, "minimum": 0}}}

    assert content(closed_arguments(report(said))) == {**PERSON, "additionalProperties": False}
    assert closed_arguments(report(bounded)) is None
    assert (
        content(closed_arguments(report(bounded), PLAIN | {"minimum"}))["properties"] == bounded["properties"]
    )


SCALARS = st.sampled_from([NAME, AGE, {"type": ["string", "null"]}, {"type": "string", "enum": ["a", "b"]}])
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some}),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
            lambda properties: {"type": "object", "properties": properties, "required": sorted(properties)}
        ),
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["a", "z"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_what_fits_the_closed_schema_fits_the_declared_one(schema, value):
    closed = closed_arguments(report(schema))
    fits = jsonschema.Draft202012Validator(content(closed)).is_valid(value)

    assert not fits or jsonschema.Draft202012Validator(schema).is_valid(value)


async def test_the_report_is_strict_on_the_wire_and_no_other_tool_is(either, provider):
    provider.plays = [answered(DONE)]

    await either.answer(asking(tools=(LOOK, report())))

    schema, strict = sent(provider.asked[0].body)
    assert strict is True
    assert schema["additionalProperties"] is False
    assert "metadata" not in schema["properties"]
    assert "strict" not in str(provider.asked[0].body["tools"][0])


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_it_is_asked_without_it_from_then_on(either, status, provider):
    """Within the same attempt, and by model: another one of the same provider is asked strictly first."""
    no, yes = answered({"error": {"message": "unknown field strict"}}, status), answered(DONE)
    provider.plays = [no, yes, yes, yes]

    for name in ("old", "old", "new"):
        answer = await either.answer(asking(model=name, tools=(report(),)))
        assert answer.message.text == "fine"

    assert [sent(asked.body)[1] for asked in provider.asked] == [True, False, False, True]
    assert "metadata" in sent(provider.asked[1].body)[0]["properties"]


async def test_a_request_that_is_wrong_anyway_says_nothing_about_strictness(openai, provider):
    wrong = answered({"error": {"message": "too long"}}, 400)
    provider.plays = [wrong, wrong, answered(DONE)]

    with pytest.raises(ModelFailed, match="too long"):
        await openai.answer(asking(tools=(report(),)))
    await openai.answer(asking(tools=(report(),)))

    assert [sent(asked.body)[1] for asked in provider.asked] == [True, False, True]


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_no_other_failure_is_asked_twice(openai, provider, status):
    provider.plays = [answered({"error": {"message": "no"}}, status)]

    with pytest.raises(ModelFailed):
        await openai.answer(asking(tools=(report(),)))

    assert len(provider.asked) == 1


async def test_gemini_is_held_to_it_by_its_own_mode(provider):
    """And falls back alike."""
    models = gemini_models(provider.port)
    provider.plays = [answered(refused(400, "schema too large"), 400), answered(said(text("fine")))]

    await adapter(models).answer(asking(model=MODEL, tools=(report(),)))
    await models.aclose()

    first, second = (asked.body["tools"][0]["functionDeclarations"][0] for asked in provider.asked)
    assert provider.asked[0].body["toolConfig"]["functionCallingConfig"] == {"mode": "VALIDATED"}
    assert "metadata" not in first["parameters_json_schema"]["properties"]
    assert "metadata" in second["parameters_json_schema"]["properties"]
