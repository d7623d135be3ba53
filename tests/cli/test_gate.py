"""`explain`, `sessions gate`, and approvals that go further than one call, as people meet them."""

import json

import pytest

from tests.cli.conftest import SETTINGS, ended, wait_for
from tests.cli.till import TOOLS, opened, paid

RULES = TOOLS + "rules:\n  - {tool: t.pay, arguments: {to: ann}, decision: deny, reason: not ann}\n"
PAY = {"tool": "t.pay", "arguments": {"to": "bob"}}


@pytest.fixture
def till(folkmoot):
    script = {"a": [{"calls": [PAY]}, {"calls": [PAY]}, {"report": "fine"}]}
    return opened(folkmoot, {"a": "tools: [t]", "b": "agents: [a.ai]"}, script, RULES)


def test_explain_tells_what_an_agent_has_and_why(till):
    """X-4: one formula, and the rules that are about each tool."""
    done = till("explain", "a")

    assert done.code == 0
    assert (
        "offered = declared(agent) ∩ allowlist(run) ∩ policy(step) − gated(session) + system tools"
        in done.out
    )
    assert "t__pay  (write, once)" in done.out
    assert "has it:   a.ai names 't' in `tools`" in done.out
    assert 'rule 1: if to equals "ann": deny (not ann)' in done.out
    assert "the tool asks before each call, risk medium" in done.out
    assert "then:     made without a word" in done.out
    assert "system tools: agent__final_report" in done.out
    (tool,) = till("explain", "b", "--json").json["tools"]
    assert (tool["tool"], tool["because"]) == ("agent__a", "b.ai names a.ai in `agents`")


@pytest.mark.parametrize(
    ("tool", "args", "code", "said"),
    [
        ("t.pay", '{"to": "ann"}', 1, "refuse: denied: rule 1: not ann"),
        ("t.pay", '{"to": "bob"}', 6, "ask: risk medium: the tool itself wants a word for each call"),
        ("t.pay", '{"to": 5}', 1, "refuse: schema: $.to: 5 is not of type 'string'"),
        ("t.look", "{}", 0, "allow: allowed: a.ai names it"),
    ],
)
def test_explain_judges_a_call_as_the_gate_would(till, tool, args, code, said):
    done = till("explain", "a", tool, "--args", args)

    assert (done.code, done.out.splitlines()[-1]) == (code, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "t.nothing"), "a.ai has no tool 't.nothing'; `folkmoot explain a` lists what it has"),
        (("a", "--args", "{}"), "`--args` goes with TOOL"),
        (("a", "t.pay", "--args", "[]"), "`--args` must be a JSON object"),
        (("a", "t.pay", "--args", "{"), "`--args` is no JSON"),
    ],
)
def test_explain_says_what_it_cannot_explain(till, arguments, said):
    done = till("explain", *arguments)

    assert done.code == 2
    assert said in done.err


def waiting(till):
    return till("run", "a.ai", "x", "--json").json["waiting"][0]


def test_always_adds_a_rule_and_later_runs_do_not_ask(till):
    """Issue 5: bound to the arguments; to take it back is to take the rule out."""
    said = till("approvals", "approve", waiting(till), "--always", "--resume")
    assert "folkmoot.yaml has a rule for this call now" in said.err
    assert till("run", "a.ai", "x").code == 0
    assert paid(till) == ["bob"] * 4

    (started,) = {
        event["data"]["decision"]
        for event in map(json.loads, till("log", "export", "last").out.splitlines())
        if event["type"] == "tool.started"
    }
    assert started.startswith("allowed: rule 1: always, said ")
    settings = till.folder / "folkmoot.yaml"
    assert '  # {"arguments":{"to":"bob"},"tool":"t__pay"}\n' in settings.read_text()
    settings.write_text(RULES)
    assert till("run", "a.ai", "x").code == 6


@pytest.mark.parametrize(("typed", "asked"), [(b"run\n", 1), (b"always\n", 1)])
def test_on_a_terminal_one_word_may_hold_for_equal_calls(till, typed, asked):
    code, written = till.on_a_terminal("run", "a.ai", "x", when=[("y to approve", typed)])

    assert code == 0
    assert written.count("needs your word") == asked
    assert paid(till) == ["bob", "bob"]
    assert ("always, said" in (till.folder / "folkmoot.yaml").read_text()) is (typed == b"always\n")


def test_tools_are_taken_from_a_session_listed_and_given_back(till):
    """E-67: gate, query, approve; from another process while the run is held."""
    process = till.started("run", "a.ai", "x", "--wait")
    wait_for(process.stderr, "waits for somebody to approve")
    (item,) = till("approvals", "list", "--json").json
    session = item["sessionId"]

    assert (
        ended(till.started("sessions", "gate", session, "t.pay", "t.look", "--reason", "not yet")).code == 0
    )
    assert ended(till.started("sessions", "ungate", session, "t.look")).code == 0
    assert [(row["id"], row["tools"]) for row in till("sessions", "gates", "--json").json] == [
        (session, ["t__pay"])
    ]
    assert "t__pay" in till("sessions", "gates", "last").out
    till("approvals", "approve", item["id"])
    done = ended(process)

    assert (done.code, paid(till)) == (0, [])
    assert till("sessions", "gate", session, "t.pay").code == 2


def test_an_approval_for_the_run_holds_for_equal_calls(till):
    """Issue 5: `--for-run`."""
    done = till("approvals", "approve", waiting(till), "--for-run", "--resume")

    assert (done.code, done.out) == (0, "fine\n")
    assert paid(till) == ["bob", "bob"]


@pytest.mark.parametrize(
    ("decision", "to", "code", "said"),
    [
        ("deny", "x" * 40 + "!", 6, "folkmoot approvals approve"),
        ("deny", "x" * 60_000, 0, "fine"),
        ("allow", "x" * 150_000, 6, "folkmoot approvals approve"),
        ("allow", "x" * 40, 0, "fine"),
    ],
)
def test_no_text_of_a_model_makes_a_rule_compute_for_ever(folkmoot, decision, to, code, said):
    """K-13: what is too long to be decided is never allowed, and always denied."""
    rule = f"rules:\n  - {{tool: t.pay, arguments: {{to: {{regex: '(x+x+)+'}}}}, decision: {decision}}}\n"
    script = {"a": [{"calls": [{"tool": "t.pay", "arguments": {"to": to}}]}, {"report": "fine"}]}
    opened(folkmoot, {"a": "tools: [t]"}, script, TOOLS + rule)

    done = ended(folkmoot.started("run", "a.ai", "x"))

    assert done.code == code
    assert said in done.out + done.err
    assert len(paid(folkmoot)) == (decision == "allow" and code == 0)


def test_a_rule_that_cannot_be_decided_in_bounded_time_is_a_load_error(folkmoot):
    """K-13: with its place and a remedy."""
    rule = "rules:\n  - {tool: '*', arguments: {to: {regex: '(a)\\1'}}, decision: deny}\n"
    folkmoot.write({"a": ""}, {}, SETTINGS + rule)

    done = folkmoot("check")

    assert done.code == 4
    assert (
        "`to` has a `regex` that refers back to a group, which cannot be decided in bounded time" in done.out
    )
    assert "write two rules, or `glob`, `under` or `host`" in done.out
