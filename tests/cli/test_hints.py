"""What the program tells people to type is typed as it stands, in the project in which it was said."""

import shlex

import pytest

from tests.cli.conftest import SETTINGS, interrupted, wait_for
from tests.docs.sense import hints

GOAL = "Add a health check to the shop"


def type_hints(folkmoot, said, **words):
    """Type every command that was said; `words` are what a person puts in for those in capitals."""
    typed = []
    for hint in hints(said):
        for word, meant in words.items():
            hint = hint.replace(word.replace("_", "="), meant)
        done = folkmoot(*shlex.split(hint)[1:])
        assert done.code in (0, 6), f"{hint}: {done.err}"
        typed.append(hint)
    return typed


def last(commands):
    """Their names alone."""
    return [" ".join(word for word in each.split()[1:3] if word.isalpha()) for each in commands]


def test_a_team_that_waits_for_an_approval(shop):
    """K-64, D-24."""
    shop.edit("folkmoot.yaml", "decision: allow", "decision: ask")

    assert last(type_hints(shop, shop("collaborate", GOAL).err)) == ["inbox list", "collaborate"]


def test_a_paused_team(shop):
    """K-64."""
    shop("collaborate", GOAL)
    shop("work", "open", "Another goal")
    shop("work", "team", "last", "lead=lead", "planner=planner", "worker=coder")
    shop("work", "pause", "last")

    assert last(type_hints(shop, shop("collaborate", "--resume", "last").err)) == [
        "work resume",
        "collaborate",
    ]


def test_a_work_session_without_a_team(shop):
    """K-64."""
    shop("work", "open", GOAL)
    said = shop("collaborate", "--resume", "last")

    assert last(
        type_hints(shop, said.err, lead_AGENT="lead=lead", worker_AGENT="planner=planner worker=coder")
    ) == [
        "work team",
        "collaborate",
    ]


def test_a_member_that_declines_a_step(shop):
    """K-64, D-18."""
    shop.edit("script.yaml", "accept. I know the alarms.", '"decline: no time"')
    said = shop("collaborate", GOAL)

    assert last(type_hints(shop, said.err, AGENT="coder")) == ["plans reassign", "collaborate"]


def test_a_tie_that_the_lead_does_not_break(shop):
    """K-64, D-16: a person does."""
    shop.edit(
        "script.yaml",
        r"(?s)calls:\n +- tool: decision_commit.*?Whoever[^}]+}",
        "report: I cannot decide.",
    )
    said = shop("collaborate", GOAL)

    assert last(type_hints(shop, said.err, OPTION="reassign-operator")) == ["decisions commit", "collaborate"]
    assert shop("collaborate", "--resume", "last", "--json").json["state"] == "Completed"


def test_a_reviewer_that_says_nothing_about_the_steps(shop):
    """K-64, D-37: a person does."""
    shop.edit("script.yaml", r"(?s)report: \|\n +s1: accept\n.*?how long", "report: It is all fine.")
    said = shop("collaborate", GOAL)

    assert last(type_hints(shop, said.err)) == ["plans review", "plans review", "collaborate"]
    assert shop("collaborate", "--resume", "last", "--json").json["state"] == "Completed"


def test_a_step_that_fails_again_and_again(shop):
    """K-64."""
    shop.edit(
        "script.yaml",
        r"(?s)(when: Carry out step s1\n +delay: 0ms\n +)calls:.*?\\n\"}",
        r"\1error: {message: broken, retryable: false}",
    )
    shop.edit("script.yaml", "option: (retry|reassign-operator)", "option: retry")
    said = shop("collaborate", GOAL)

    assert last(type_hints(shop, said.err)) == ["plans show", "collaborate"]


def test_a_run_that_waits_for_an_approval_and_an_answer(folkmoot):
    """K-64, O-22."""
    write = {"tool": "files.write", "arguments": {"path": "note.md", "content": "x"}}
    ask = {"tool": "ask_user", "arguments": {"question": "Which one?"}}
    rule = "rules: [{tool: files.write, decision: ask, reason: a person looks}]\n"
    script = {"a": [{"calls": [write, ask]}, {"report": "done"}]}
    folkmoot.write({"a": "tools: [files.write, ask_user]"}, script, SETTINGS + rule)
    said = [line for line in folkmoot("run", "a.ai", "x").err.splitlines() if "approvals deny" not in line]

    assert last(type_hints(folkmoot, "\n".join(said))) == [
        "approvals approve", "inbox answer", "runs resume", "runs show",
    ]  # fmt: skip
    assert folkmoot("runs", "resume", "last").out == "done\n"


def test_a_call_of_which_nobody_knows_whether_it_was_made(folkmoot):
    """K-64, O-22."""
    source = "import os\n\n\n@tool(effect='once')\nasync def send() -> str:\n    os._exit(9)\n"
    folkmoot.write_with_tool("send", source)
    folkmoot.started("run", "a.ai", "x").communicate(timeout=60)
    parked = folkmoot("runs", "resume", "last")
    said = [line for line in parked.err.splitlines() if not line.endswith(" fail")]
    (folkmoot.folder / "t.py").write_text(
        "from folkmoot import tool\n\n" + source.replace("os._exit(9)", "return ''")
    )
    folkmoot("trust", "--yes")

    assert last(type_hints(folkmoot, "\n".join(said)))[:2] == ["inbox settle", "runs resume"]


def test_a_folder_whose_name_has_a_space(folkmoot, tmp_path, monkeypatch):
    """K-64: what a shell would take apart is quoted."""
    home = tmp_path / "my desk"
    home.mkdir()
    folkmoot.folder = home
    folkmoot.write_with_tool("send", "@tool\nasync def send() -> str:\n    return ''\n", trusted=False)
    said = folkmoot("run", str(home / "a.ai"), "x")

    assert said.code == 4
    assert [hint for hint in hints(said.err) if hint.startswith("folkmoot trust ")] == [
        f"folkmoot trust '{home}'"
    ]


@pytest.mark.parametrize(
    "arguments",
    ["runs show 7", "runs audit 7", "runs resume 7", "runs cancel 7", "runs replay 7", "sessions list 7", "sessions destroy 7:x",
     "sessions gate 7 shell", "tasks show 7", "tasks cancel 7", "work show 7", "work pause 7", "plans show 7", "plans submit 7",
     "decisions show 7", "decisions vote 7 x", "conversations show 7", "inbox show 7", "inbox answer 7 x", "approvals approve 7",
     "explain coder nothing", "log export 7", "verify 7", "docs xyzzy", "test -k nothing", "collaborate", "run coder.ai",
     "collaborate --resume 7", "collaborate --resume ws_7", "run coder.ai x --work-session 7", "plans list", "decisions list",
     "work resume last"],
)  # fmt: skip
def test_a_message_that_something_is_not_there(shop, arguments):
    """K-64: the command in it shows what there is."""
    shop("run", "coder.ai", "x")
    done = shop(*arguments.split())

    type_hints(shop, done.err, ID=shop("work", "open", "a goal").out.strip())


def test_an_interrupted_team(shop):
    """K-64, D-27."""
    shop.edit("script.yaml", r"(Carry out step s1\n +)delay: 0ms", r"\1delay: 3s")
    process = shop.started("collaborate", GOAL)
    wait_for(process.stderr, "coder works on step s1")

    assert last(type_hints(shop, interrupted(process).err)) == ["collaborate"]


@pytest.mark.parametrize(
    "command",
    [
        *(f"{group} show last" for group in ("runs", "tasks", "plans", "decisions", "work", "conversations")),
        *("runs audit last", "runs replay last", "runs diff last last", "runs cancel last", "sessions gates"),
    ],
)
def test_where_nothing_has_run_every_command_about_something_says_so_and_how_to_begin(folkmoot, command):
    folkmoot.write({"a": "description: a"}, {})

    refused = folkmoot(*command.split(), "--json")

    assert (refused.code, refused.json["code"]) == (2, "nothing_has_run")
    assert "`folkmoot run AGENT TEXT` starts something" in refused.err


def test_where_nothing_has_run_lists_are_empty(folkmoot):
    folkmoot.write({"a": "description: a"}, {})

    for command in (
        "runs list",
        "sessions list",
        "inbox list",
        "tasks list",
        "work list",
        "conversations list",
    ):
        listed = folkmoot(*command.split(), "--json")
        assert (listed.code, listed.json) == (0, []), command
