"""`folkmoot test`: the scenarios that users write, as they meet them in the terminal."""

import json
from xml.etree import ElementTree

import pytest
import yaml

from checks.files import ROOT
from tests.cli.test_servers import write as write_server
from tests.examples import copied

DESK = {
    "front": "advisors: [policy.ai]\nrouter: {destinations: [billing.ai]}",
    "policy": "description: Knows the rules.",
    "billing": "description: Charges.",
}
SCRIPT = {
    "policy": ["Pay it back."],
    "front": {
        "rules": [{"when": "charged twice", "route": "billing"}],
        "default": {"report": "From nine to five."},
    },
    "billing": [{"report": "The second charge is paid back.\nIn five days."}],
}


@pytest.fixture
def desk(folkmoot):
    folkmoot.write(DESK, SCRIPT)
    return folkmoot


def scenario(folkmoot, file="desk.test.yaml", **said):
    """A file with one scenario for the front desk."""
    whole = {"name": "A double charge", "agent": "front.ai", "request": "I was charged twice.", **said}
    (folkmoot.folder / file).write_text(yaml.safe_dump({"scenarios": [whole]}, sort_keys=False))


def failures(folkmoot, **said):
    """What is missed, by what it is about."""
    scenario(folkmoot, **said)
    (verdict,) = folkmoot("test", "--json").json["scenarios"]
    return {each["what"]: (each["expected"], each["actual"]) for each in verdict["failures"]}


def test_a_scenario_that_finds_everything_as_expected_passes_and_leaves_no_trace(desk):
    scenario(
        desk,
        expect={
            "route": "billing",
            "agents": ["policy", "front", "billing"],
            "finalAgent": "billing",
            "report": {"contains": ["paid back", "five days"], "matches": "^The second"},
            "calls": [],
            "approvals": [],
            "questions": [],
            "tasks": [],
            "decisions": [],
            "atMost": {"usd": 0.01, "requests": 3, "tokens": 1000, "toolCalls": 0},
            "events": {"router.selected": 1, "advisor.failed": 0},
        },
    )

    done = desk("test")

    assert (done.code, done.out) == (0, "1 scenario: 1 passed\n")
    assert done.err == "passed  desk.test.yaml:2 A double charge\n"
    assert not (desk.folder / ".folkmoot").exists()


def test_what_fails_is_shown_at_its_place_with_what_was_and_what_happened(desk):
    (desk.folder / "desk.test.yaml").write_text(
        "agent: front.ai\n"
        "scenarios:\n"
        "  - name: Opening hours\n"
        "    request: When are you open?\n"
        "    expect:\n"
        "      route: billing\n"
        "      report: {contains: nine to six}\n"
    )

    done = desk("test")

    assert done.code == 1
    assert done.out == (
        "failed  desk.test.yaml:3 Opening hours\n"
        "  desk.test.yaml:6:14: expect.route\n"
        "    expected  billing\n"
        "    actual    (nothing)\n"
        "  desk.test.yaml:7:26: expect.report.contains[0]\n"
        "    expected  contains 'nine to six'\n"
        "    actual    From nine to five.\n"
        "  what happened:\n"
        "      policy starts as an advisor\n"
        "      policy is done\n"
        "    front starts\n"
        "    front is done\n"
        "1 scenario: 0 passed, 1 failed\n"
    )


def test_a_report_of_several_lines_is_compared_line_by_line(desk):
    scenario(desk, expect={"report": {"equals": "The second charge is paid back.\nIn ten days."}})

    told = desk("test").out

    assert (
        "    - expected, + actual\n      The second charge is paid back.\n    - In ten days.\n    + In five days.\n"
        in told
    )


def test_every_expectation_can_fail(desk):
    missed = failures(
        desk,
        expect={
            "status": "failed",
            "stopReason": "MAX_TURNS",
            "error": "no",
            "route": [],
            "agents": ["front"],
            "finalAgent": "front",
            "report": {"equals": "x", "matches": "^x", "json": {"a": 1}},
            "calls": ["agent.billing"],
            "approvals": ["files.write"],
            "questions": ["Which"],
            "atMost": {"usd": 0, "tokens": 1, "requests": 2},
            "events": {"router.selected": 0},
            "tasks": [{"title": "x"}],
            "decisions": [{"topic": "x"}],
        },
    )

    assert {what.removeprefix("expect.") for what in missed} == {
        *(
            "status",
            "stopReason",
            "error.contains[0]",
            "route",
            "agents",
            "finalAgent",
            "calls[0]",
            "approvals",
        ),
        *("report.equals", "report.matches", "report.json", "questions", "atMost.usd", "atMost.tokens"),
        *("atMost.requests", "events.router.selected", "tasks[0]", "decisions[0]"),
    }
    assert missed["expect.agents"] == ("front", "billing, front, policy")


def test_a_run_that_fails_fails_the_scenario_unless_that_is_expected(desk):
    script = {"agents": {"policy": ["x"], "front": [{"error": {"message": "dead", "retryable": False}}]}}

    assert failures(desk, script=script)["expect.status"][0] == "completed"
    assert failures(desk, script=script, expect={"error": "dead"}) == {}
    assert failures(desk, script=script, expect={"status": "failed", "stopReason": "SYSTEM_ERROR"}) == {}


def test_a_report_in_json_has_at_least_what_is_expected(folkmoot):
    folkmoot.write({"a": "output: {format: json}"}, {"a": [{"report": {"order": 1042, "charges": [1, 2]}}]})

    assert failures(folkmoot, agent="a", expect={"report": {"json": {"order": 1042}}}) == {}
    assert failures(folkmoot, agent="a", expect={"report": {"json": {"charges": [1, 3]}}}) == {
        "expect.report.json": ('{"charges": [1, 3]}', '{"charges": [1, 2], "order": 1042}')
    }


WRONG = """\
agent: frnt.ai
scenarios:
  - name: One
    request: Hi
    script: {agents: {policy: [{reprot: x}]}}
    recorded: nothing.zip
    answers: [{approve: x, answer: y}]
    tools: {files.red: x}
    expect:
      stauts: failed
      notCalled: [psp.refund, agent.bling]
      report: {matches: "("}
      events: {advisor.faild: 1}
      atMost: {usd: -1}
  - name: One
    requst: Hi
"""


def test_everything_that_is_wrong_in_a_file_is_said_at_once_each_at_its_place(desk):
    (desk.folder / "desk.test.yaml").write_text(WRONG)

    done = desk("test")

    assert done.code == 4
    assert done.out == ""
    assert done.err.splitlines()[:-1] == [
        "desk.test.yaml:1:8: this project has no agent 'frnt.ai'; did you mean 'front.ai'?",
        "desk.test.yaml:5:33: unknown key 'reprot' in `agents.policy[0]`; did you mean 'report'?",
        "desk.test.yaml:6:15: `script` and `recorded` both answer; keep one",
        "desk.test.yaml:6:15: there is no file 'nothing.zip'; export a run to it",
        "desk.test.yaml:7:15: say one of `approve: TOOL`, `deny: TOOL` and `answer: TEXT`",
        "desk.test.yaml:8:24: this project has no tool 'files.red'; did you mean 'files.read'?",
        "desk.test.yaml:10:7: unknown key 'stauts' in `scenarios[0].expect`; did you mean 'status'?",
        "desk.test.yaml:11:19: this project has no tool 'psp.refund'; there are none",
        "desk.test.yaml:11:31: this project has no tool 'agent.bling'; did you mean 'agent.billing'?",
        "desk.test.yaml:12:25: '(' is no regular expression: missing ), unterminated subpattern at position 0",
        "desk.test.yaml:13:31: there is no event 'advisor.faild'; did you mean 'advisor.failed'?",
        "desk.test.yaml:14:21: `scenarios[0].expect.atMost.usd` must be at least 0, not -1",
        "desk.test.yaml:16:5: unknown key 'requst' in `scenarios[1]`; did you mean 'request'?",
        "13 problems; nothing was run",
    ]
    assert done.err.endswith("more: folkmoot docs reference/scenarios\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: this must be a mapping, not empty"),
        ("agent: front.ai\n", "1:1: this needs the key 'scenarios': a list"),
        ("agent: front.ai\nscenarios: []\n", "2:12: `scenarios` must list at least 1"),
        ("scenarios: [{name: a, request: b}]\n", "1:13: name the `agent` that is asked"),
        (
            "agent: front.ai\nscenarios:\n  - {name: a, request: b}\n  - {name: a, request: b}\n",
            "4:12: a scenario is called so",
        ),
    ],
)
def test_a_file_that_says_too_little_is_told_what_is_missing(desk, text, said):
    (desk.folder / "desk.test.yaml").write_text(text)

    done = desk("test")

    assert done.code == 4
    assert f"desk.test.yaml:{said}" in done.err


def test_wrong_use_names_the_remedy(desk):
    assert "there are no scenarios in" in desk("test").err
    scenario(desk)

    for arguments, said in (
        (("nowhere",), "no file or folder 'nowhere'"),
        (("-k", "zebra"), "no scenario has 'zebra'"),
    ):
        done = desk("test", *arguments)
        assert (done.code, said in done.err) == (2, True)


def test_a_project_whose_models_nobody_speaks_for_is_refused_before_anybody_is_asked(folkmoot):
    folkmoot.write(
        {"a": ""},
        {},
        "models: {default: ollama/qwen3}\nproviders: {ollama: {kind: openai, baseUrl: 'http://127.0.0.1:9/v1', price: free, contextWindow: 8000}}\n",
    )
    scenario(folkmoot, agent="a.ai")

    done = folkmoot("test")
    assert done.code == 4
    assert "desk.test.yaml:2:3: nobody answers for the models of a.ai: write a `script`" in done.err
    assert (
        failures(
            folkmoot,
            agent="a.ai",
            script={"agents": {"a": [{"report": "Hello."}]}},
            expect={"report": "Hello"},
        )
        == {}
    )


def test_scenarios_are_chosen_by_words_listed_and_told_to_programs(desk):
    scenario(desk)
    (desk.folder / "desks").mkdir()
    scenario(
        desk,
        "desks/other.test.yaml",
        name="Opening hours",
        request="When are you open?",
        expect={"route": "x\x07"},
    )

    assert (
        desk("test", "--list").out
        == "desk.test.yaml:2 A double charge\ndesks/other.test.yaml:2 Opening hours\n"
    )
    listed = desk("test", "--list", "--json", "-k", "HOURS").json
    assert listed == [{"file": "desks/other.test.yaml", "line": 2, "name": "Opening hours", "live": False}]
    assert [each["status"] for each in desk("test", "desks", "--json").json["scenarios"]] == ["failed"]

    done = desk("test", "--junit", "report.xml")
    assert done.code == 1
    suites = ElementTree.parse(desk.folder / "report.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    assert list(cases["A double charge"]) == []
    assert "desks/other.test.yaml:6:12: expect.route" in cases["Opening hours"].find("failure").text
    assert desk("test", "--junit", "no/such/folder.xml").code == 2


TOOLS = """
import pathlib

@tool(effect="pure", access="read")
def stock(product: str) -> str:
    "How many are there."
    return f"3 of {product}"

@tool(effect="once", access="write", asks="high")
def refund(order: int) -> str:
    "Pay back."
    pathlib.Path("paid").write_text(str(order))
    return "really paid"
"""
LOOK_AND_PAY = [
    {"calls": [{"tool": "t.stock", "arguments": {"product": "lamps"}}]},
    {"calls": [{"tool": "t.refund", "arguments": {"order": 1042}}]},
    {"report": "done"},
]


@pytest.fixture
def shop(folkmoot):
    folkmoot.write_with_tool("stock", TOOLS)
    (folkmoot.folder / "script.yaml").write_text(yaml.safe_dump({"agents": {"a": LOOK_AND_PAY}}))
    return folkmoot


def results(folkmoot, **said):
    """What the tools of the scenario gave, in what was recorded of it."""
    return failures(folkmoot, agent="a", **said)


def test_a_tool_that_reads_is_called_and_one_that_does_more_fails_the_scenario_instead(shop):
    missed = results(shop, answers=[{"approve": "t.refund"}])

    assert list(missed) == ["tools"]
    assert missed["tools"][1] == (
        "a called t.refund (once, write), which does more than read: give its result under"
        " `tools: {t.refund: …}`, or say `allow: [t.refund]`"
    )
    assert not (shop.folder / "paid").exists()


def test_a_tool_gives_what_the_scenario_says_and_is_not_called(shop):
    approved = {"answers": [{"approve": "*"}]}
    calls = ["t.stock", {"tool": "t.refund", "arguments": {"order": 1042}, "agent": "a"}]
    stubs = {"t.refund": [{"arguments": {"order": 7}, "error": "closed"}, {"json": {"paid": True}}]}

    assert results(shop, **approved, tools=stubs, expect={"calls": calls, "approvals": ["t.refund"]}) == {}
    assert results(shop, **approved, tools={"t.*": "nothing"}, expect={"events": {"tool.failed": 0}}) == {}
    assert (
        results(
            shop, **approved, tools={"t.refund": {"error": "closed"}}, expect={"events": {"tool.failed": 1}}
        )
        == {}
    )
    assert not (shop.folder / "paid").exists()


def test_a_stub_that_fits_no_call_is_no_licence(shop):
    missed = results(
        shop, answers=[{"approve": "*"}], tools={"t.refund": {"arguments": {"order": 7}, "text": "x"}}
    )

    assert "no result under `tools` fits" in missed["tools"][1]


def test_a_tool_that_is_allowed_is_really_called(shop):
    assert results(shop, answers=[{"approve": "t.refund"}], allow=["t.refund"]) == {}
    assert (shop.folder / "paid").read_text() == "1042"


def test_a_tool_server_is_started_only_for_what_is_really_called(folkmoot):
    write_server(folkmoot)
    folkmoot("trust", "--yes")
    started = folkmoot.folder / "started"
    started.unlink()

    assert results(folkmoot, tools={"rogue.*": "hello"}, expect={"calls": ["rogue.echo"]}) == {}
    assert not started.exists()
    assert results(folkmoot, expect={"calls": ["rogue.echo"], "events": {"tool.failed": 0}}) == {}
    assert started.exists()


def test_a_project_that_was_not_trusted_is_not_played(shop, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_STATE", str(shop.folder / "somebody else"))
    scenario(shop, agent="a")

    done = shop("test")

    assert done.code == 4
    assert "allow it with: folkmoot trust" in done.err


def test_a_call_in_another_order_or_with_other_arguments_is_missed(shop):
    more = {"answers": [{"approve": "*"}], "tools": {"t.refund": "paid"}}

    missed = results(shop, **more, expect={"calls": ["t.refund", "t.stock"]})
    assert missed["expect.calls[1]"] == (
        "t.stock after that",
        'a calls t.stock {"product": "lamps"}\na calls t.refund {"order": 1042}',
    )
    missed = results(
        shop,
        **more,
        expect={"calls": [{"tool": "t.stock", "arguments": {"product": "/^chair/"}}], "notCalled": ["t.*"]},
    )
    assert set(missed) == {"expect.calls[0]", "expect.notCalled[0]"}


def test_what_nobody_approves_waits_and_what_is_denied_is_not_called(shop):
    assert (
        results(shop, expect={"status": "waiting", "approvals": ["t.refund"], "notCalled": ["t.refund"]})
        == {}
    )
    denied = [{"deny": "t.refund", "reason": "Too much."}]
    assert (
        results(shop, answers=denied, expect={"notCalled": ["t.refund"], "events": {"approval.denied": 1}})
        == {}
    )
    assert "waiting: ap_" in results(shop)["expect.status"][1]
    assert set(results(shop, expect={"status": "waiting", "approvals": []})) == {"expect.approvals"}


def test_questions_are_answered_by_their_words_each_answer_once(folkmoot):
    ask = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which order?"}}]}
    folkmoot.write({"a": "tools: [ask_user]"}, {"a": [ask, ask, {"report": "Thanks."}]})
    said = {"agent": "a", "answers": [{"answer": "1042", "to": "which order"}, {"answer": "1043"}]}

    assert (
        failures(
            folkmoot, **said, expect={"questions": ["Which", "order"], "events": {"question.answered": 2}}
        )
        == {}
    )
    assert set(failures(folkmoot, **said, expect={"questions": []})) == {"expect.questions"}


def test_tasks_and_decisions_are_made_in_the_memory_of_the_scenario_alone(folkmoot):
    start = {"calls": [{"tool": "task_start", "arguments": {"description": "Look at the lamps"}}]}
    options = [{"id": "red", "text": "Red"}, {"id": "blue", "text": "Blue"}]
    choice = {"topic": "Which lamp?", "options": options, "participants": [{"name": "a"}, {"name": "Kim"}]}
    propose = {"tool": "decision_propose", "arguments": choice}
    folkmoot.write(
        {"a": "tools: [tasks, decisions]"}, {"a": [start, {"calls": [propose]}, {"report": "Done."}]}
    )

    missed = failures(folkmoot, agent="a", expect={"tasks": [{"description": "/lamps/"}], "decisions": []})

    assert set(missed) == {"expect.decisions"}
    assert "Which lamp?" in missed["expect.decisions"][1]
    assert folkmoot("tasks", "list", "--all", "--json").json == []


@pytest.mark.parametrize("bundle", [False, True])
def test_a_recorded_run_answers_for_models_tools_and_people(shop, bundle):
    """What it did then is what is expected now; nothing of it is done again."""
    (shop.folder / "script.yaml").write_text(yaml.safe_dump({"agents": {"a": LOOK_AND_PAY}}))
    assert shop("run", "a.ai", "Pay it back.", "--quiet").code == 6
    shop("approvals", "approve", shop("approvals", "list", "--json").json[0]["id"], "--resume")
    assert (shop.folder / "paid").exists()
    (shop.folder / "paid").unlink()
    if bundle:
        shop("log", "export", "last", "--bundle", "run.jsonl")
    else:
        (shop.folder / "run.jsonl").write_text(shop("log", "export", "last").out)
    (shop.folder / "script.yaml").write_text("{}")
    said = {"request": "Pay it back.", "recorded": "run.jsonl"}

    assert results(shop, **said, expect={"calls": ["t.stock", "t.refund"], "report": "done"}) == {}
    assert not (shop.folder / "paid").exists()
    (shop.folder / "a.ai").write_text("---\ntools: [t.stock]\n---\nYou are a.\n")
    assert "expect.calls[1]" in results(shop, **said, expect={"calls": ["t.stock", "t.refund"]})


def test_scenarios_are_played_at_once(folkmoot):
    """Both are at their tool at the same time, or neither comes out of it."""
    meeting = "import sys, threading, types\nroom = sys.modules.setdefault('the_meeting', types.SimpleNamespace(door=threading.Barrier(2)))\n"
    folkmoot.write_with_tool(
        "meet",
        f'{meeting}\n@tool(effect="pure", access="read")\ndef meet() -> str:\n    "Wait."\n    room.door.wait(60)\n    return "met"\n',
    )
    both = [
        {"name": name, "agent": "a", "request": "Hi", "expect": {"events": {"tool.failed": 0}}}
        for name in "ab"
    ]
    (folkmoot.folder / "a.test.yaml").write_text(yaml.safe_dump({"scenarios": both}))

    assert folkmoot("test").out == "2 scenarios: 2 passed\n"


def test_time_passes_at_once_and_is_over_when_it_is_over(desk):
    """An advisor that is silent for longer than a request may take, twice, with the pauses in between."""
    late = {"agents": {**SCRIPT, "policy": {"default": {"text": "too late", "delay": "11m"}}}}

    assert failures(desk, script=late, expect={"events": {"advisor.failed": 1}, "report": "paid back"}) == {}


def test_what_a_file_says_for_all_stands_behind_what_a_scenario_says(desk):
    whole = {
        "agent": "front.ai",
        "script": {"agents": {"policy": ["x"], "front": [{"report": "for all"}]}},
        "scenarios": [
            {"name": "All", "request": "Hi", "expect": {"report": "for all"}},
            {
                "name": "Own",
                "request": "Hi",
                "script": {"agents": {"front": [{"report": "my own"}]}},
                "expect": {"report": "my own"},
            },
            {
                "name": "File",
                "request": "I was charged twice.",
                "script": "script.yaml",
                "expect": {"route": "billing"},
            },
        ],
    }
    (desk.folder / "desk.test.yaml").write_text(yaml.safe_dump(whole))

    assert desk("test").code == 0


EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/folkmoot.yaml"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_scenarios_and_they_pass(folkmoot, name):
    """B-60."""
    copied(name, folkmoot.folder)
    folkmoot("trust", "--yes")

    done = folkmoot("test", "--json")

    assert (done.code, {each["status"] for each in done.json["scenarios"]}) == (0, {"passed"}), done.out


def test_a_new_project_has_scenarios_that_pass(folkmoot):
    assert "front-desk.test.yaml" in folkmoot("init", "desk", "--json").json["files"]

    assert folkmoot("test", "desk").out == "2 scenarios: 2 passed\n"


def test_the_document_for_programs_holds_what_people_read(desk):
    scenario(desk, expect={"route": "policy"})

    (verdict,) = json.loads(desk("test", "--json").out)["scenarios"]

    assert (verdict["file"], verdict["line"], verdict["status"]) == ("desk.test.yaml", 2, "failed")
    (missed,) = verdict["failures"]
    assert (missed["line"], missed["column"], missed["expected"], missed["actual"]) == (
        6,
        12,
        "policy",
        "billing",
    )
    assert "front routes to billing" in verdict["timeline"]
