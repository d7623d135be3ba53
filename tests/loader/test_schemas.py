import pytest

from tests.loader.making import error, errors, loaded, warnings

INLINE = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    "written",
    [
        "schema: {type: object, properties: {n: {type: integer}}}",
        """schema: '{"type": "object", "properties": {"n": {"type": "integer"}}}'""",
        'schema: "type: object\\nproperties: {n: {type: integer}}"',
        "schemaRef: shapes/n.json",
        "schemaRef: shapes/n.yaml",
        "schema: {type: object, properties: {n: {type: integer}}}, schemaRef: nowhere.json",
    ],
)
def test_a_schema_is_inline_or_text_or_a_file_and_the_first_of_these_wins(tmp_path, written):
    files = {
        "desk/a.ai": f"output: {{format: json, {written}}}",
        "desk/shapes/n.json": '{"type": "object",\n\t"properties": {"n": {"type": "integer"}}}',
        "desk/shapes/n.yaml": "type: object\nproperties:\n  n: {type: integer}\n",
    }

    assert loaded(tmp_path, files).graph.agents["desk/a.ai"].output.schema == INLINE


@pytest.mark.parametrize(
    ("written", "place", "message"),
    [
        ("schema: {type: objct}", "a.ai:2:39", "this is no JSON Schema (draft 2020-12): 'objct' is not valid"),
        ("schema: {pattern: '['}", "a.ai:2:42", "'[' is not a 'regex'"),
        ("schema: '{type: objct}'", "a.ai:2:32", "'objct' is not valid"),
        ("schema: '{type: '", "a.ai:2:32", "this is not YAML"),
        ("schema: 'a string'", "a.ai:2:32", "must be a JSON Schema (a mapping), not 'a string'"),
        ("schema: [1]", "a.ai:2:32", "must be a mapping, not a list"),
        ("schemaRef: bad.json", "bad.json:2:9", "'strng' is not valid"),
        ("schemaRef: list.json", "list.json:1:1", "a JSON Schema must be a mapping"),
        ("schemaRef: nowhere.json", "a.ai:2:35", "the schema 'nowhere.json' does not exist"),
        ("schemaRef: ../x.json", "a.ai:2:35", "leads out of the project"),
        ("schema: {$ref: 'https://example.com/x.json'}", "a.ai:2:39", "is no part of this schema, and nothing is ever fetched"),
        ("schema: {$ref: 'other.json'}", "a.ai:2:39", "is no part of this schema"),
        ("schema: {$ref: '#/$defs/nope'}", "a.ai:2:39", "'#/$defs/nope' is no part of this schema"),
        ("schema: {allOf: [{$ref: '#nope'}]}", "a.ai:2:48", "'#nope' is no part of this schema"),
    ],
)  # fmt: skip
def test_a_schema_that_is_none_is_told_at_its_place(tmp_path, written, place, message):
    """O-9."""
    files = {
        "a.ai": f"output: {{format: json, {written}}}",
        "bad.json": '{\n"type": "strng"}',
        "list.json": "[]",
    }

    found = error(tmp_path, files)

    assert message in found
    assert found.startswith(f"{place}: ")


def test_references_within_a_schema_are_followed(tmp_path):
    schema = (
        "{$defs: {a: {type: string}, 'b/c~d': {$anchor: here}}, properties: {x: {$ref: '#/$defs/a'}, "
        "y: {$ref: '#/$defs/b~1c~0d'}, z: {$ref: '#here'}, self: {$ref: '#'}, first: {$ref: '#/allOf/0'}}, allOf: [{}]}"
    )

    assert loaded(tmp_path, {"a.ai": f"output: {{format: json, schema: {schema}}}"}).warnings == ()


def test_a_schema_without_json_is_a_warning(tmp_path):
    assert (
        "`output.schema` has no effect without `format: json`"
        in warnings(tmp_path, {"a.ai": "output: {schema: {type: object}}"})[0]
    )


def test_both_sides_are_checked(tmp_path):
    declared = "input: {format: json, schema: {type: x}}\noutput: {format: json, schema: {type: y}}"

    assert len(errors(tmp_path, {"a.ai": declared})) == 2
