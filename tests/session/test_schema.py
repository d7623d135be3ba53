"""Whether a value fits a JSON Schema."""

import pytest

from folkmoot.session.schema import violation


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
