"""Hostile and unusual YAML, seen through `load`. Times are CPU times, so that a busy machine fails nothing."""

import time

import pytest
import yaml

from folkmoot.loader import document
from tests.loader.making import KNOWN, error, errors, loaded

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def parser(request, monkeypatch):
    """Both parsers of PyYAML: the fast one may be missing."""
    monkeypatch.setattr(
        document, "_PARSER", yaml.CSafeLoader if request.param == "libyaml" else yaml.SafeLoader
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "a.ai:2:4: anchors and aliases ('a') are not allowed"),
        ("description: *x", "a.ai:2:14: anchors and aliases ('x') are not allowed"),
        ("description: " + "[" * 5_000 + "]" * 5_000, "more than 50 levels"),
        ("toolOutput:\n" + "".join(" " * n + "a:\n" for n in range(1, 700)), "more than 50 levels"),
        ("toolOutput: " + "{a: " * 5_000 + "}" * 5_000, "more than 50 levels"),
        ("toolOutput: [" + "x, " * 300_000 + "]", "more than 10,000 values"),
        ("\n".join(f"key{n}: 1" for n in range(60_000)), "more than 10,000 values"),
        ("description: x\ndescription: y", "a.ai:3:1: the key 'description' stands here twice, first in line 2"),
        ("toolOutput: {a: 1, 'a': 2}", "a.ai:2:20: the key 'a' stands here twice"),
        ("description: !!python/object/apply:os.system [ls]", "the YAML tag '!!python/object/apply:os.system' is not allowed"),
        ("description: !mine x", "a.ai:2:14: the YAML tag '!mine' is not allowed"),
        ("toolOutput: !!set {a}", "the YAML tag '!!set' is not allowed"),
        ("maxTurns: !!int many", "the YAML tag '!!int' is not allowed"),
        ("description: !!timestamp 2001-01-01", "is not allowed"),
        ('description: "a\\0b"', "a.ai:2:14: the text holds the character '\\x00'"),
        ("description: a\x01b", "a.ai:2:15: the character '\\x01' may not stand here"),
        ("description: a\ufeffb", "a.ai:2:15: the character '\\ufeff' may not stand here"),
        ("router:\n\tdestinations: [b.ai]", "a.ai:3:1: this is not YAML"),
        ("description: a: b", "a.ai:2:15: this is not YAML: mapping values are not allowed"),
        ("description: 'x", "this is not YAML: found unexpected end of stream"),
        ("advisors: [a", "this is not YAML"),
        ("? [a]\n: b", "a.ai:2:3: a key must be a word"),
        ("- a", "a.ai:2:1: this must be a mapping, not a list"),
        ("just words", "a.ai:2:1: this must be a mapping, not 'just words'"),
        ("%TAG ! tag:x,2000:\n--- {}", "YAML directives such as '%TAG ! tag:x,2000:' are not allowed"),
        ("a: 1\n...\nb: 2", "a second YAML document begins here"),
        ("a: 1\n--- {b: 2}", "a second YAML document begins here"),
        (f"maxTurns: {'9' * 5_000}", "a number of 5000 characters is too long"),
        ("maxTurns: 99999999999999999999", "the number 99999999999999999999 is too large"),
        ("temperature: 1e999", "the number 1e999 is too large"),
        ("temperature: .inf", "`temperature` must be a number, not '.inf'"),
        ("temperature: .nan", "`temperature` must be a number, not '.nan'"),
        ("<<: {maxTurns: 3}", "unknown key '<<'"),
        ('"\\e[31m": 1', "unknown key '\\x1b[31m'"),
    ],
)  # fmt: skip
def test_hostile_yaml_is_a_load_error_with_a_position_in_well_under_a_second(tmp_path, text, message):
    """A-107, O-9."""
    loaded(tmp_path, {"warm-up.ai": "description: imports what is imported late"})
    started = time.process_time()

    found = errors(tmp_path, {"a.ai": text})

    assert time.process_time() - started < (1 if document._PARSER is yaml.CSafeLoader else 3)
    assert message in found[0]
    assert "\x1b" not in "".join(found)


def test_a_surrogate_escaped_into_a_string_is_refused(tmp_path):
    """A-107."""
    assert error(tmp_path, {"a.ai": 'description: "\\ud800"'}).startswith("a.ai:2:")


def test_a_file_of_fifty_megabytes_is_not_even_read(tmp_path):
    """A-107."""
    for name in ("a.ai", "folkmoot.yaml"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(50_000_000)
    started = time.process_time()

    found = errors(tmp_path, {"folkmoot.yaml": b"x" * 50_000_000})

    assert time.process_time() - started < 1
    assert [line[: line.index(";")] for line in found] == [
        f"{name}:1:1: the file has 50,000,000 bytes, more than 1,000,000"
        for name in ("a.ai", "folkmoot.yaml")
    ]


def test_a_tab_is_named_as_the_culprit(tmp_path):
    assert "indent with spaces, not with tabs" in error(tmp_path, {"a.ai": "router:\n\tdestinations: [b.ai]"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'true'", "true"),
        ('"3"', "3"),
        ("!!str 3", "3"),
        ("!!int '3'", 3),
        ("!!float 3", 3),
        ("=", "="),
        ("é ü", "é ü"),
    ],
)
def test_plain_words_mean_what_yaml_1_2_says(tmp_path, text, value):
    """O-9."""
    files = {"a.ai": f"input: {{format: json, schema: {{default: {text} }}}}"}

    schema = loaded(tmp_path, files, known=KNOWN).graph.agents["a.ai"].input.schema

    assert schema == {"default": value}
    assert schema is not None
    assert type(schema["default"]) is type(value)
