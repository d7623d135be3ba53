"""The example projects with called agents: sound, offline, and doing what their pages say."""

import pytest

from tests.examples import copied


@pytest.fixture
def example(folkmoot):
    def made(name):
        copied(name, folkmoot.folder)
        return folkmoot

    return made


ORCHESTRATORS = [
    ("research-assistant", "assistant"),
    ("code-review", "lead"),
    ("custom-agent", "orchestrator"),
]


@pytest.mark.parametrize(("name", "agent"), ORCHESTRATORS)
def test_the_orchestrators_of_the_examples_have_fifty_turns(example, name, agent):
    """B-45: and those they call at most thirty, B-38."""
    shown = example(name)("config", "show", "--all", "--json").json

    values = {(each["key"], each.get("file")): each["value"] for each in shown}
    assert values["maxTurns", f"{agent}.ai"] == 50
    assert values["planningStrategy", f"{agent}.ai"] == "native_react"
    assert values["orchestration.sub_agent_max_steps", None] == 30


def test_the_inspector_plans_without_tools_acts_by_its_plan_and_shows_what_it_rests_on(example):
    """C-6, C-13, X-1: the first plan is sent back, and a claim with nothing to cite is shown as unverified."""
    folkmoot = example("planner-executor")
    folkmoot("trust", "--yes")

    assert "no problems, no warnings" in folkmoot("check").err
    done = folkmoot("run", "inspector.ai", "Was order 1042 charged twice, and was it paid back?")
    assert done.out.startswith("**Yes, and yes.**")
    assert "a plan is rejected: $: 'stop_condition' is a required property" in done.err
    assert "unverified: The customer pressed the button twice." in done.err
    result = folkmoot("runs", "show", "last", "--json").json
    claims = result["finalReport"]["claims"]
    assert [claim["status"] for claim in claims] == ["verified", "verified", "unverified"]
    assert {id for claim in claims for id in claim.get("evidence", ())} == {
        each["id"] for each in result["evidence"]
    }
    assert [plan["status"] for plan in result["plans"]] == ["done"]
    assert folkmoot("runs", "audit", "last").out.endswith("3 snapshots, 0 orphans\n")


def test_the_collaboration_goes_from_a_goal_to_a_summary_by_one_command(example):
    """D-39, D-40, D-41, D-42: one walk through the terminal, from the team to the records of what was decided."""
    folkmoot = example("collaboration")

    assert "no problems, no warnings" in folkmoot("check").err
    done = folkmoot("collaborate", "Add a health check to the shop")
    assert done.code == 0
    assert done.out.startswith("The shop has a health check")
    for line in (
        "the plan is committed",
        "step s2 passes on to operator",
        "step s2 is reopened",
        "lead sums up",
    ):
        assert line in done.err
    adr = folkmoot("decisions", "show", "last", "--adr").out
    assert "Have the endpoint watched" in adr
    assert "lead" in adr
    (plan,) = folkmoot("plans", "list", "--json").json
    assert (plan["status"], [step["owner"] for step in plan["steps"]]) == ("done", ["coder", "operator"])
    statuses = {task["status"] for task in folkmoot("tasks", "list", "--all", "--json").json}
    assert statuses == {"completed", "cancelled"}
    told = folkmoot("work", "timeline", "last").out
    order = [
        told.index(words)
        for words in (
            *("planner makes a plan", "lead approves the plan", "coder completes step s1"),
            *(
                "coder is blocked on step s2",
                "coder votes reassign-operator",
                "operator takes over step s2",
            ),
            *("reviewer reopens step s2", "completes the work session"),
        )
    ]
    assert order == sorted(order)
    assert folkmoot("projections", "--check").code == 0, "the files followed by themselves"
    assert folkmoot("verify").code == 0


def test_a_collaboration_that_is_over_says_so_and_wrong_use_names_the_remedy(example):
    folkmoot = example("collaboration")
    folkmoot("collaborate", "Add a health check to the shop", "--quiet")

    again = folkmoot("collaborate", "--resume", "last", "--json")
    assert (again.code, again.json["state"], again.json["waiting"]) == (0, "Completed", [])
    assert "name a goal" in folkmoot("collaborate").err
    assert "not both" in folkmoot("collaborate", "a goal", "--resume", "last").err
    assert "no lead" in folkmoot("collaborate", "x", "--member", "coder").err
    assert "no role" in folkmoot("collaborate", "x", "--member", "coder=boss").err
