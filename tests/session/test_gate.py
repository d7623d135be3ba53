"""The gate as a pure function: every stage, in its order."""

import pytest
from msgspec.structs import replace

from folkmoot.domain.budget import Room
from folkmoot.domain.gate import Allow, Ask, Policy, Refuse, Spent, Standing, StepBudget, StepPolicy
from folkmoot.domain.message import ToolCall, ToolSpec, fingerprint
from folkmoot.domain.rules import Caller, Match, Rule
from folkmoot.domain.sources import Source
from folkmoot.session.gate import judge

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
WRITE = ToolSpec("write", "", SCHEMA, access="write")
READ = ToolSpec("read", "", SCHEMA, access="read")
ASKS = ToolSpec("pay", "", {}, access="write", asks="medium")
CALL = ToolCall("", "write", {"path": "a.txt"})
PAY = ToolCall("", "pay", {"euros": 5})
POLICY = Policy(caller=Caller(("desk", "desk.ai")))
WEB = (Source("what web__fetch gave desk in turn 1"),)
TAINTED = Standing(taint=WEB)
CLEAN = Standing()


def stepped(**fields):
    return replace(POLICY, step=StepPolicy(**fields))


def ruled(*rules):
    return replace(POLICY, rules=rules)


def test_what_an_agents_file_names_is_allowed():
    assert judge(POLICY, CLEAN, CALL, WRITE) == Allow("allowed: desk.ai names it")


def test_every_stage_refuses_before_those_that_come_after_it():
    """DESIGN 4: schema, session gate, step policy, loop guard, budget, approval."""
    policy = replace(
        ruled(Rule("deny", reason="never")),
        step=StepPolicy(tools=("read",), budget=StepBudget(tokens=1)),
    )
    standing = Standing(gated=frozenset({"write"}), loop="hops: too far", pace=Room(0, "slow down"))
    wrong = replace(CALL, arguments={"path": 5})
    codes = [judge(policy, standing, wrong, WRITE).code, judge(policy, standing, CALL, WRITE).code]
    for change in ({"gated": frozenset()},):
        standing = replace(standing, **change)
        codes.append(judge(policy, standing, CALL, WRITE).code)
    policy = replace(policy, step=replace(policy.step, tools=None))
    codes.append(judge(policy, standing, CALL, WRITE).code)
    standing = replace(standing, loop="")
    codes.append(judge(policy, standing, CALL, WRITE).code)
    standing = replace(standing, pace=Room(), spent=Spent(tokens=1))
    codes.append(judge(policy, standing, CALL, WRITE).code)
    standing = replace(standing, spent=Spent())
    codes.append(judge(policy, standing, CALL, WRITE).code)

    assert codes == ["schema", "gated", "policy", "loop", "rate_limited", "budget", "denied"]


def test_a_schema_says_what_is_wrong_and_not_more_than_can_be_read():
    wrong = judge(POLICY, CLEAN, replace(CALL, arguments={"path": ["x"] * 9999}), WRITE)

    assert wrong.code == "schema"
    assert wrong.reason.startswith("$.path: ['x', 'x'")
    assert len(wrong.reason) < 600
    assert judge(POLICY, CLEAN, replace(CALL, malformed="{"), WRITE) == Refuse(
        "schema", "the arguments are not a JSON object"
    )


@pytest.mark.parametrize(
    "wrong", [{"type": "strin"}, {"type": "string", "pattern": r"^\p{L}+$"}, {"minLength": "x"}]
)
def test_a_schema_of_another_dialect_stops_nothing(wrong):
    """A tool of somebody else's; it checks its arguments itself."""
    spec = replace(WRITE, parameters={"type": "object", "properties": {"path": wrong}})

    assert isinstance(judge(POLICY, CLEAN, CALL, spec), Allow)


def test_only_the_tools_of_a_step_may_be_used_in_it():
    """D-23."""
    policy = stepped(tools=("files.*", "read"))

    assert judge(policy, CLEAN, CALL, WRITE).code == "policy"
    assert isinstance(judge(policy, CLEAN, replace(CALL, tool="read"), READ), Allow)


def test_the_same_tool_runs_at_once_in_one_step_and_waits_in_another():
    """D-24: auto-approve or require approval."""
    assert judge(stepped(approval="auto"), CLEAN, PAY, ASKS) == Allow(
        "allowed: this step of the plan needs no word"
    )
    assert judge(stepped(approval="ask"), CLEAN, CALL, WRITE) == Ask(
        "medium", "this step of the plan asks before each call"
    )
    assert isinstance(judge(stepped(approval="ask"), CLEAN, replace(CALL, tool="read"), READ), Allow)
    assert judge(stepped(approval="auto"), CLEAN, PAY, replace(ASKS, asks="high")) == Ask("high")


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (StepBudget(time=60.0), Spent(seconds=60.0), "the step has 60 s, and they are over"),
        (StepBudget(tokens=100), Spent(tokens=120), "the step has 100 tokens, and 120 are spent"),
        (
            StepBudget(files_changed=1),
            Spent(files=frozenset({"b.txt"})),
            "the step may change 1 files, and this would be file 2",
        ),
        (StepBudget(files_changed=1), Spent(files=frozenset({"a.txt"})), ""),
        (StepBudget(time=60.0, tokens=100, files_changed=9), Spent(59.0, 99), ""),
    ],
)
def test_a_step_that_has_used_up_its_time_tokens_or_files_stops_with_a_reason(budget, spent, said):
    """D-25."""
    judged = judge(stepped(budget=budget), Standing(spent=spent), CALL, WRITE)

    assert judged == (Refuse("budget", said) if said else Allow("allowed: desk.ai names it"))


def test_before_its_plan_is_approved_a_worker_cannot_write_and_afterwards_only_what_it_requested():
    """E-68: both are a step policy."""
    before, after = stepped(tools=("read",)), stepped(tools=("read", "write"))

    assert judge(before, CLEAN, CALL, WRITE).code == "policy"
    assert isinstance(judge(after, CLEAN, CALL, WRITE), Allow)
    assert judge(after, CLEAN, PAY, ASKS).code == "policy"


def test_after_untrusted_text_came_in_what_does_more_than_read_asks():
    """K-6, DESIGN 4: the reason names its source."""
    why = "the session has read what web__fetch gave desk in turn 1"
    assert judge(POLICY, TAINTED, CALL, WRITE) == Ask("medium", why, sources=WEB)
    assert isinstance(judge(POLICY, TAINTED, replace(CALL, tool="read"), READ), Allow)
    for access in ("egress", "exec"):
        assert isinstance(judge(POLICY, TAINTED, CALL, replace(WRITE, access=access)), Ask)


def test_taint_does_not_matter_where_a_rule_or_the_plan_allows_the_arguments():
    """DESIGN 4."""
    rule = Rule("allow", arguments={"path": Match(glob="a.*")}, reason="harmless")
    plan = replace(POLICY, planned=frozenset({fingerprint(CALL)}))

    assert judge(ruled(rule), TAINTED, CALL, WRITE) == Allow("allowed: rule 1: harmless")
    assert judge(plan, TAINTED, CALL, WRITE) == Allow("allowed: the plan names this very call")
    assert isinstance(judge(plan, TAINTED, replace(CALL, arguments={"path": "b"}), WRITE), Ask)


def test_a_plan_that_was_made_under_the_influence_of_others_allows_nothing():
    plan = replace(POLICY, planned=frozenset({fingerprint(CALL)}), taint=WEB)

    assert isinstance(judge(plan, CLEAN, CALL, WRITE), Ask)


def test_a_project_can_switch_taint_off():
    assert isinstance(judge(replace(POLICY, contains=False), TAINTED, CALL, WRITE), Allow)


def test_after_a_secret_was_read_only_calls_that_go_out_ask():
    """Issue 14: what a session has read of `.env` must not get out; it may be relied on."""
    read = (Source("'.env', which fits `.env*`", secret=True),)
    standing = Standing(taint=read)

    assert isinstance(judge(POLICY, standing, CALL, WRITE), Allow)
    for access in ("egress", "exec"):
        asked = judge(POLICY, standing, CALL, replace(WRITE, access=access))
        assert asked == Ask("medium", "the session has read '.env', which fits `.env*`", sources=read)


def test_a_project_can_have_everything_asked_that_does_more_than_read():
    """O-45: `gate: {ask: all}`."""
    careful = replace(POLICY, ask_all=True)

    assert isinstance(judge(careful, CLEAN, CALL, WRITE), Ask)
    assert isinstance(judge(careful, CLEAN, replace(CALL, tool="read"), READ), Allow)


def test_what_escalates_goes_to_a_person_even_where_a_rule_allows_it():
    """D-33, X-6: risk high ends at a person."""
    env = replace(CALL, arguments={"path": ".env"})
    allowing = ruled(Rule("allow", arguments={"path": Match(glob="*")}))
    allowing = replace(allowing, approvers=("parent", "human"))

    assert judge(allowing, CLEAN, env, WRITE) == Ask("high", "'.env' fits `.env*`", ("human",))
    exact = ruled(Rule("allow", hash=fingerprint(env)))
    assert isinstance(judge(exact, CLEAN, env, WRITE), Allow), "a person has seen this very call"


def test_a_rule_that_asks_names_itself_and_its_risk():
    """D-24."""
    policy = replace(ruled(Rule("ask", risk="low", reason="look twice")), approvers=("parent", "human"))

    assert judge(policy, CLEAN, CALL, WRITE) == Ask("low", "rule 1: look twice", ("parent", "human"))


def test_a_rule_that_denies_wins_over_a_word_for_the_whole_run():
    granted = Standing(granted={fingerprint(CALL): "ap_1 by ann"})

    assert judge(POLICY, granted, CALL, WRITE) == Allow("granted: ap_1 by ann", "granted")
    assert judge(ruled(Rule("deny")), granted, CALL, WRITE) == Refuse("denied", "rule 1")


def test_in_a_fork_neither_rules_nor_words_of_the_first_run_count():
    fork = replace(WRITE, asks="fork")
    granted = Standing(granted={fingerprint(CALL): "ap_1"})

    assert judge(ruled(Rule("allow", hash=fingerprint(CALL))), granted, CALL, fork) == Ask("fork")
