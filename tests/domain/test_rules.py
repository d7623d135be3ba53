"""Which rule decides about a call, as tables."""

import pytest

from folkmoot.domain.message import ToolCall, ToolSpec, fingerprint
from folkmoot.domain.rules import Caller, Match, Rule, first_match, is_under

DESK = Caller(("desk", "shop/desk.ai"))
CUSTOM = Caller(("custom", "shop/desk.ai#custom"), above=("desk", "shop/desk.ai"))


def spec(name="files__write", access="write"):
    return ToolSpec(name, "", {}, access=access)


def matches(match, value, decision="allow"):
    rule = Rule(decision, arguments={"a": match})
    return first_match([rule], DESK, ToolCall("", "files__write", {"a": value}), spec()) == 1


@pytest.mark.parametrize(
    ("match", "value", "fits"),
    [
        (Match(equals=5), 5, True),
        (Match(equals=5), "5", False),
        (Match(equals=1), True, False),
        (Match(equals=["a", "b"]), ["a", "b"], True),
        (Match(glob="docs/*.md"), "docs/a.md", True),
        (Match(glob="docs/*.md"), "docs/a.py", False),
        (Match(glob="*"), 5, False),
        (Match(regex="[a-z]+"), "abc", True),
        (Match(regex="[a-z]+"), "abc\nrm", False),
        (Match(under="docs"), "docs/a/b.md", True),
        (Match(under="docs"), "docs/../secret", False),
        (Match(under="docs"), "docsx/a", False),
        (Match(under="docs"), "/docs/a", False),
        (Match(under="."), "../a", False),
        (Match(under="."), "a/./b", True),
        (Match(under="docs"), "docs\\..\\x", False),
        (Match(host="*.example.com"), "https://api.example.com/x?y=1", True),
        (Match(host="*.example.com"), "https://API.Example.com.:443/x", True),
        (Match(host="*.example.com"), "https://api.example.com@evil.net/", False),
        (Match(host="*.example.com"), "https://evil.net\\@api.example.com/", False),
        (Match(host="*.example.com"), "https://evil.net/#.example.com", False),
        (Match(host="*.example.com"), "ftp://api.example.com/", False),
        (Match(host="*.example.com"), "https://api.example.com/ \nx", False),
    ],
)
def test_an_argument_fits_or_it_does_not(match, value, fits):
    """D-23: rules bind to arguments; no spelling gets around them."""
    assert matches(match, value) is fits


def test_an_address_that_cannot_be_told_apart_is_denied_and_never_allowed():
    strange = "https://evil.net\\@api.example.com/"

    assert matches(Match(host="evil.net"), strange, "deny")
    assert not matches(Match(host="*"), strange, "allow")


def test_of_a_list_all_must_fit_to_be_allowed_and_one_is_enough_to_be_denied():
    both = ["docs/a", "etc/b"]

    assert not matches(Match(under="docs"), both)
    assert matches(Match(under="docs"), ["docs/a", "docs/b"])
    assert matches(Match(under="etc"), both, "deny")
    assert not matches(Match(under="docs"), [])


def test_an_argument_that_is_not_there_fits_nothing():
    rule = Rule("allow", arguments={"to.path": Match(under="docs")})

    assert first_match([rule], DESK, ToolCall("", "x", {}), spec("x")) == 0
    assert first_match([rule], DESK, ToolCall("", "x", {"to": [{"path": "docs/a"}]}), spec("x")) == 1


@pytest.mark.parametrize(
    ("pattern", "tool", "fits"),
    [
        ("files.*", "files__write", True),
        ("files.write", "files__write", True),
        ("files", "files__write", False),
        ("*", "anything", True),
        ("a b.c", "a_b__c", True),
        ("x" * 70, f"{'x' * 55}_{'15c1c7f3'}", False),
    ],
)
def test_patterns_are_for_names_as_files_write_them(pattern, tool, fits):
    assert (first_match([Rule("deny", tool=pattern)], DESK, ToolCall("", tool), spec(tool)) == 1) is fits


def test_the_first_rule_that_fits_decides():
    rules = [Rule("deny", tool="x"), Rule("ask", agent="other"), Rule("ask"), Rule("deny")]

    assert first_match(rules, DESK, ToolCall("", "files__write"), spec()) == 3


def test_a_rule_by_hash_fits_one_call_alone():
    call = ToolCall("id", "files__write", {"path": "a"})
    rule = Rule("allow", hash=fingerprint(call))

    assert first_match([rule], DESK, ToolCall("other", "files__write", {"path": "a"}), spec()) == 1
    assert first_match([rule], DESK, ToolCall("id", "files__write", {"path": "a", "b": 1}), spec()) == 0


def test_an_agent_made_at_run_time_is_allowed_no_more_than_its_maker_and_denied_whatever_that_is_denied():
    """Issue 5: later additions only narrow."""
    call = ToolCall("", "files__write", {"a": 1})
    for_custom = Rule("allow", agent="custom", arguments={"a": Match(equals=1)})
    for_desk = Rule("allow", agent="desk", arguments={"a": Match(equals=1)})

    assert first_match([for_custom], CUSTOM, call, spec()) == 0
    assert first_match([for_desk], CUSTOM, call, spec()) == 1
    assert first_match([Rule("deny", agent="shop/*.ai")], CUSTOM, call, spec()) == 1
    assert first_match([Rule("deny", agent="custom")], CUSTOM, call, spec()) == 1


def test_a_path_is_compared_after_its_dots_are_followed():
    assert is_under("a/b/../c", "a/c")
    assert not is_under("a/../../x", ".")
    assert not is_under("a\0b", ".")
