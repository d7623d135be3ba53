import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.cli.output import format_one_line, sanitize_text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain, grün, 日本, 👩‍🚀", "plain, grün, 日本, 👩‍🚀"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b]0;title\x07", "\\u001b[31mred\\u001b]0;title\\u0007"),
        ("\x9b31m and \x85", "\\u009b31m and \\u0085"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x00\x08\x7f", "\\u0000\\u0008\\u007f"),
        ("\u202egnp.exe \u2066x\u2069", "\\u202egnp.exe \\u2066x\\u2069"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_could_move_hide_or_recolour_text_is_spelled_out(text, safe):
    assert sanitize_text(text) == safe


@given(st.text(st.characters(codec=None)))
def test_no_text_leaves_a_control_character_and_every_stream_can_write_it(text):
    safe = sanitize_text(text)

    safe.encode()
    assert not [c for c in safe if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]


@given(st.dictionaries(st.text(), st.text()))
def test_json_stays_the_same_json(value):
    assert json.loads(sanitize_text(json.dumps(value, ensure_ascii=False))) == value


def test_a_place_of_one_line_gets_one_line():
    assert format_one_line("a\n  b\tc") == "a b c"
    assert format_one_line("abcdef", 4) == "abc…"
