"""`inbox`, `approvals`, and a run that waits for somebody, as people meet them."""

import json
import re

import pytest

from tests.cli.conftest import ended, wait_for
from tests.cli.till import opened, paid

PAY = {"tool": "t.pay", "arguments": {"to": "ann \x1b[2J\u202egnp"}}


@pytest.fixture
def till(folkmoot):
    """An agent that pays after somebody approved, and another that asks."""
    script = {
        "a": [{"calls": [PAY]}, {"report": "fine"}],
        "q": [
            {"calls": [{"tool": "ask_user", "arguments": {"question": "Which \x1b[31mone?"}}]},
            {"report": "so"},
        ],
    }
    return opened(folkmoot, {"a": "tools: [t]", "q": "tools: [ask_user]"}, script)


def waiting(till, agent="a"):
    """The id of what a new run waits for."""
    done = till("run", f"{agent}.ai", "x", "--json")
    assert done.code == 6
    assert done.json["status"] == "waiting"
    return done.json["waiting"][0]


def test_a_run_that_waits_exits_6_and_says_what_waits_and_how_to_answer(till):
    """O-22, B-31: nobody is at the terminal."""
    done = till("run", "a.ai", "x")
    (item,) = till("inbox", "list", "--json").json

    assert done.code == 6
    assert done.out == ""
    assert f"folkmoot approvals approve {item['id']}" in done.err
    assert f"folkmoot runs resume {item['runId']}" in done.err
    assert paid(till) == []
    assert till("runs", "list", "--json").json[0]["status"] == "waiting"
    assert item["id"] in till("runs", "show", "last").out


def test_an_approval_is_shown_whole_and_nothing_in_it_can_hide(till):
    """B-32, O-17: the complete canonical call, escaped."""
    id = waiting(till)
    shown = till("inbox", "show", id)
    listed = till("approvals", "list")

    for text in (shown.out, listed.out):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\u001b[2J\\u202egnp" in text
    assert "medium" in listed.out
    item = till("inbox", "show", id, "--json").json
    assert item["hash"]
    assert json.loads(item["call"]) == {"tool": "t__pay", "arguments": PAY["arguments"]}


def test_approving_leaves_the_word_and_names_the_command_that_goes_on(till):
    """DESIGN 8: the answer is recorded; nobody holds the run."""
    id = waiting(till)
    said = till("approvals", "approve", id)
    run = till("runs", "list", "--json").json[0]["runId"]

    assert said.code == 0
    assert f"folkmoot runs resume {run}" in said.err
    assert paid(till) == []
    done = till("runs", "resume", run)
    assert (done.code, done.out) == (0, "fine\n")
    assert len(paid(till)) == 1


def test_an_inbox_where_nothing_ever_ran_is_empty(folkmoot):
    folkmoot.write({"a": ""}, {"a": [{"report": "x"}]})

    assert folkmoot("inbox", "list", "--json").json == []
    assert folkmoot("inbox", "list").err == "nothing waits for anybody\n"


def test_a_run_that_stays_is_woken_by_another_process(till):
    """O-22: `--wait`; a live owner goes on by itself."""
    process = till.started("run", "a.ai", "x", "--wait")
    wait_for(process.stderr, "waits for somebody to approve")
    (item,) = till("approvals", "list", "--json").json
    said = till("approvals", "approve", item["id"])
    done = ended(process)

    assert "goes on with run" in said.err
    assert (done.code, done.out) == (0, "fine\n")
    assert len(paid(till)) == 1


def test_on_a_terminal_the_person_is_asked_there_and_then(till):
    """O-22: what was typed before it was shown is no answer, and one that is not understood is asked again."""
    code, written = till.on_a_terminal(
        "run", "a.ai", "x", when=[("y to approve", b"what?\n"), ("y to approve", b"y\n")]
    )

    assert code == 0
    assert "needs your word, risk medium" in written
    assert "\\u001b[2J\\u202egnp" in re.sub(r"\s", "", written)
    assert len(paid(till)) == 1


def test_on_a_terminal_an_empty_line_leaves_it_for_later(till):
    code, written = till.on_a_terminal("run", "q.ai", "x", when=[("your answer", b"\n")])

    assert code == 6
    assert "left for later" in written
    code, written = till.on_a_terminal("runs", "resume", "last", when=[("your answer", b"the red one\n")])
    assert code == 0
    assert "so" in written


def test_what_was_typed_too_early_approves_nothing(till):
    code, _ = till.on_a_terminal("run", "a.ai", "x", typed=b"y\n", when=[("y to approve", b"n no\n")])

    assert code == 0
    assert paid(till) == []


def test_the_time_in_which_a_run_waited_for_somebody_is_no_active_time(till):
    """K-80: `runs show` divides the time as the page does."""
    id = waiting(till, "q")
    till("inbox", "answer", id, "this one")
    till("runs", "resume", "last")

    assert re.search(r"time     .* active", till("runs", "show", "last").out)


def test_a_denial_reaches_the_agent_with_its_reason(till):
    """U-7."""
    done = till("approvals", "deny", waiting(till), "--reason", "too much", "--resume", "--json")

    assert paid(till) == []
    assert done.json["conversation"][-2]["text"] == "(tool failed: approval_denied: too much)"


def test_a_question_is_answered_and_the_answer_is_the_result(till):
    id = waiting(till, "q")
    assert "Which \\u001b[31mone?" in till("inbox", "list").out
    empty = till("inbox", "answer", id, " ")
    assert (empty.code, empty.err) == (2, f"there is nothing in the answer to {id}; give it a text\n")
    done = till("inbox", "answer", id, "the blue one", "--resume", "--json")

    assert done.json["conversation"][-2]["text"] == "the blue one"
    assert till("inbox", "list").err == "nothing waits for anybody\n"
    assert till("inbox", "list", "--all", "--json").json[0]["status"] == "answered"


def test_a_call_that_was_cut_off_is_settled_from_the_inbox(folkmoot):
    """C3, DESIGN 8: the process died in the middle of it. K-7: it cannot be made again at once."""
    source = "import os\n\n\n@tool(effect='once')\nasync def send() -> str:\n    os._exit(9)\n"
    folkmoot.write_with_tool("send", source)
    assert ended(folkmoot.started("run", "a.ai", "x")).code == 9
    parked = folkmoot("runs", "resume", "last")
    (item,) = folkmoot("inbox", "list", "--json").json

    assert parked.code == 6
    assert f"can be made again, with `retry`, from {item['retryFrom']} on" in parked.err
    assert (item["kind"], item["call"]) == ("in_doubt", '{"arguments":{},"tool":"t__send"}')
    early = folkmoot("inbox", "settle", item["id"], "retry")
    assert early.code == 2
    assert f"{item['id']} can be made again from {item['retryFrom']} on" in early.err
    done = folkmoot("inbox", "settle", item["id"], "done", "--text", "receipt 4711", "--resume", "--json")
    assert done.code == 0
    assert done.json["conversation"][-2]["text"] == "receipt 4711"
