"""How a struct is put into words."""

from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from checks.structs import Row, all_rows, own_rows, words


class Inner(Struct, rename="camel"):
    most_calls: Annotated[int, Meta(ge=1)] = 3
    """How many
    at most."""
    wait: Annotated[float, Meta(extra={"written": "duration"})] = 120.0


class Outer(Struct):
    name: str
    inner: Inner | None = None
    """What lies within."""
    by_name: dict[str, Inner] = {}


class Absent(Struct):
    a: int | UnsetType = UNSET
    b: str = ""
    c: bool = False


def test_a_row_has_the_key_as_written_outside_and_the_line_beneath_the_field():
    assert list(own_rows(Inner)) == [
        Row("mostCalls", "whole number, at least 1", "How many at most.", "3"),
        Row("wait", "duration", "", "2m"),
    ]


def test_what_lies_within_a_mapping_is_spelt_out():
    assert [(row.key, row.value) for row in all_rows(Outer)] == [
        ("name", "text"),
        ("inner", "mapping"),
        ("inner.mostCalls", "whole number, at least 1"),
        ("inner.wait", "duration"),
        ("by_name.NAME", "mapping"),
        ("by_name.NAME.mostCalls", "whole number, at least 1"),
        ("by_name.NAME.wait", "duration"),
    ]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (bool, "`true` or `false`"),
        (str | None, "text"),
        (int | UnsetType, "whole number"),
        (Literal["", "a"], "empty, `a`"),
        (tuple[str, ...], "list of text"),
        (dict[str, Any], "object"),
        (dict[str, str], "text by name"),
        (Inner, "[Inner](#inner)"),
        (Literal["free"] | Inner, "`free` or [Inner](#inner)"),
        (Annotated[float, Meta(gt=0, le=2)], "number, above 0, at most 2"),
        (Annotated[str, Meta(extra={"refers": "agent"})], "agent file"),
        (Annotated[tuple[str, ...], Meta(extra={"written": "names", "refers": "agent"})], "agent files"),
    ],
)
def test_a_type_is_said_as_an_author_would(hint, expected):
    assert words(hint) == expected


def test_absence_is_no_default():
    assert [row.default for row in own_rows(Absent)] == ["", "", "false"]
