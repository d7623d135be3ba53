"""Whether a value fits a JSON Schema."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.domain.message import ToolSpec
from folkmoot.session.schema import misfit, violation


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ({"n": 1}, {"properties": {"n": {"type": "integer"}}}, ""),
        ({"n": "x"}, {"properties": {"n": {"type": "integer"}}}, "$.n: 'x' is not of type 'integer'"),
        (1, {"$ref": "#"}, "the schema refers to itself without end"),
        (
            1,
            {"$ref": "http://127.0.0.1:9/x"},
            "the schema refers to 'http://127.0.0.1:9/x', which is not a part of it",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_fetched(value, schema, said):
    assert violation(value, schema) == said


PLAIN = st.sampled_from(
    [{"type": kind} for kind in ("string", "integer", "number", "boolean", "array", "null")]
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3), st.just([])
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    properties=st.dictionaries(st.sampled_from("abc"), PLAIN),
    required=st.lists(st.sampled_from("abc"), unique=True),
    more=st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": {"type": "string"}}]),
    arguments=st.dictionaries(st.sampled_from("abcd"), VALUES),
)
def test_the_short_way_lets_nothing_through_that_the_validator_would_not(
    properties, required, more, arguments
):
    """U-12: what surely fits is not looked at twice."""
    schema = {"type": "object", "properties": properties, "required": required, **more}

    spec = ToolSpec(name="t", description="d", parameters=schema)
    assert bool(misfit(arguments, spec)) == bool(violation(arguments, schema))


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"properties": {"n": {"pattern": "^(a+)+$"}}}, {"n": "a" * 60 + "!"}, "does not match '^(a+)+$'"),
        ({"properties": {"n": {"pattern": "(?=a)a"}}}, {"n": "b"}, ""),
        ({"patternProperties": {"^(a+)+$": {"type": "string"}}}, {"a" * 60 + "!": 1}, ""),
        (
            {"patternProperties": {"^(a+)+$": {"type": "string"}}},
            {"aa": 1},
            "$.aa: 1 is not of type 'string'",
        ),
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            {"aa": 1, "a" * 60 + "!": 1},
            "Additional properties are not allowed ('" + "a" * 60 + "!' was unexpected)",
        ),
        (
            {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
            {"a" * 60 + "!": 1},
            "",
        ),
    ],
)
def test_no_pattern_of_a_schema_computes_for_ever(schema, value, said):
    """K-13: the schema may be a tool server's, the text a model's. What cannot be decided fits: the tool checks it too."""
    found = violation(value, schema)

    assert said in found
    assert bool(said) == bool(found)
