"""Rules that cannot be meant are found before anything runs; a person's `always` becomes one."""

import pytest

from folkmoot.domain.inbox import Item
from folkmoot.domain.rules import Match, Rule
from folkmoot.engine.workshop import load_project
from folkmoot.errors import DeclarationError, WrongUse
from folkmoot.loader.project_file import allow_always
from tests.desk import SETTINGS, write

ITEM = Item(
    "ap_1",
    "approval",
    "run-1",
    "0",
    "run-1",
    "desk",
    1,
    1,
    "2026",
    "files__write",
    {"p": "a\u2028- x: 1\n"},
    hash="a" * 64,
)
RULE = Rule("allow", tool="files__write", hash="a" * 64, reason="always, said ann")


def problems(folder, rules):
    with pytest.raises(DeclarationError) as raised:
        load_project(write(folder, {"desk": ""}, SETTINGS + rules))
    return [(each.line, each.column, each.message) for each in raised.value.problems]


def test_everything_wrong_in_rules_is_said_at_once_with_line_and_column(tmp_path):
    """Issue 5: a rule is wrong at load time, not when it matters."""
    found = problems(
        tmp_path,
        """rules:
  - {tool: save, decision: allow}
  - {tool: save, agent: dsk, decision: deny}
  - {arguments: {a: {glob: x, host: y}, b: {regex: "("}, c: {host: "http://x"}, d: {under: ""}}, decision: ask}
  - {tool: save, decision: maybe}
  - {decision: ask, argument: {}}
  - {decision: allow, hash: abc}
secrets: ["sk-123"]
""",
    )

    assert [(line, column) for line, column, _ in found] == [
        (5, 28),
        (6, 25),
        (7, 21),
        (7, 44),
        (7, 61),
        (7, 84),
        (8, 28),
        (9, 21),
        (10, 29),
        (11, 11),
    ]
    said = " ".join(message for _, _, message in found)
    for words in (
        "a rule allows by arguments, never by a tool's name alone",
        "no agent fits 'dsk'; did you mean 'desk'?",
        "`a` needs exactly one of equals, glob, regex, under, host",
        "`b` has a `regex` that is no regular expression: missing )",
        "`c` needs a `host` alone",
        "`d` must not have an empty `under`",
        "must be one of 'allow', 'ask', 'deny', not 'maybe'",
        "did you mean 'arguments'?",
        "must be the name of an environment variable; a value never stands in a file",
    ):
        assert words in said


def test_a_tool_that_only_reads_may_be_allowed_by_its_name(tmp_path):
    rules = "rules: [{tool: 'files.*', access: read, decision: allow}, {arguments: {n: 5}, decision: allow}]"
    loaded = load_project(write(tmp_path, {"desk": ""}, SETTINGS + rules))

    assert loaded.graph.settings.rules == (
        Rule("allow", tool="files.*", access="read"),
        Rule("allow", arguments={"n": Match(equals=5)}),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("models: {a: b/c}  # mine", "models: {a: b/c}  # mine\nrules:\n  # CALL\n  - RULE\n"),
        ("", "rules:\n  # CALL\n  - RULE\n"),
        (
            "rules:\n# first\n- {decision: ask}\nmodels: {}\n",
            "rules:\n# first\n# CALL\n- RULE\n- {decision: ask}\nmodels: {}\n",
        ),
    ],
)
def test_always_puts_a_rule_for_this_very_call_before_all_others(tmp_path, before, after):
    """Issue 5: bound to the hash of the arguments; the call stands above it, in one line, whatever it holds."""
    (tmp_path / "folkmoot.yaml").write_text(before)

    assert allow_always(tmp_path, ITEM, "ann") == RULE
    rule = f'{{decision: "allow", tool: "files__write", hash: "{"a" * 64}", reason: "always, said ann"}}'
    call = '{"arguments":{"p":"a\\u2028- x: 1\\n"},"tool":"files__write"}'
    assert (tmp_path / "folkmoot.yaml").read_text() == after.replace("RULE", rule).replace("CALL", call)


@pytest.mark.parametrize("before", ["rules: [{decision: ask}]\n", "{models: {}}\n", "rules: {\n"])
def test_a_file_that_does_not_take_the_rule_stays_as_it_is_and_the_rule_is_said(tmp_path, before):
    (tmp_path / "folkmoot.yaml").write_text(before)

    with pytest.raises(WrongUse, match="put it there"):
        allow_always(tmp_path, ITEM, "ann")
    assert (tmp_path / "folkmoot.yaml").read_text() == before
