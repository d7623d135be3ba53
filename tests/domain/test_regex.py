"""Regular expressions in bounded time: the answers of Python, and none where there is none."""

import random
import re

import pytest

from folkmoot.domain import regex

PATTERNS = (
    *(r"", r"a*b", r"(a|ab)(c|bcd)(d*)", r"(a+)+b", r"[^a-c]+", r"(?i)abc|x{2,4}y?", r"^a.*z$", r"\bfoo\b.*"),
    *(r"(?s).*\n.*", r"(?m)^a$\n^b$", r"a{0}b", r"(?:a|b){2,3}?c", r"\d+\.\d*", r"(a*)*", r"(?i:A)b", r"a$"),
    *(r"[\w.-]+@[\w-]+\.\w{2,}", r"\Aa\Z|b\B", r"(?x) a b # c", r"(a?){5}a{5}", r"[]a^-]+", r"[\[\]&~|^-]+"),
    *(r"(?i)ſ+|k", r"(?-i:a)|(?a:\w)", r"\S*\s\W", r"x|", r"((a)|b)*?c", r"[^\W\d]"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_answers_are_those_of_python(pattern):
    dice = random.Random(pattern)
    for _ in range(400):
        text = "".join(dice.choice("abcdxyzfoo.\nA 1Kſ\u212a]-^&~|@é") for _ in range(dice.randrange(9)))
        assert regex.fullmatch(pattern, text) == (re.fullmatch(pattern, text) is not None), text
        assert regex.search(pattern, text) == (re.search(pattern, text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "refers back to a group"),
        (r"(?P<a>a)(?(a)b|c)", "refers back to a group"),
        (r"(?=a)a", "looks ahead or behind"),
        (r"(?<!a)b", "looks ahead or behind"),
        (r"(?>a)b", "has an atomic group"),
        (r"a*+b", "repeats possessively"),
        (r"((a{100}){100}){100}", "has more than 5,000 places"),
        (r"(", "is no regular expression: missing )"),
    ],
)
def test_what_cannot_be_decided_in_bounded_time_is_refused_with_the_reason(pattern, why):
    assert why in regex.fault(pattern)
    assert regex.fullmatch(pattern, "a") is None


@pytest.mark.parametrize(
    "pattern", [r"(a+)+b", r"(a|a)*b", r"(a*)*b", r"a*a*a*a*a*b", r"(.*)(.*)(.*)(.*)(.*)b"]
)
def test_no_text_makes_a_pattern_compute_for_ever(pattern):
    """K-13."""
    assert regex.fullmatch(pattern, "a" * 500) is False
    assert regex.fullmatch(pattern, "a" * 300_000) is None
