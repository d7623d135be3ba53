"""What was stopped goes on through the command, whatever stopped it and however busy the machine is."""

import signal
from contextlib import nullcontext

import pytest

from tests.busy import eight_busy_processes
from tests.cli.conftest import FOREVER, SETTINGS, ended, soon, wait_for

GOAL = "Add a health check to the shop"


@pytest.fixture(params=["idle", "busy"], autouse=True)
def beside(request):
    with eight_busy_processes() if request.param == "busy" else nullcontext():
        yield


@pytest.fixture
def asking(shop):
    """The same, in which the file that the first step writes needs an approval."""
    shop.edit("script.yaml", "notes/health.md", "notes/asked/health.md")
    rule = "rules:\n  - {tool: files.write, arguments: {path: {under: notes/asked}}, decision: ask, reason: look}\n"
    shop.edit("folkmoot.yaml", "rules:\n", rule)
    return shop


def going_on(folkmoot, *arguments):
    """The command that goes on with something, as a process of its own; all else is done in this one."""
    done = ended(folkmoot.started(*arguments), seconds=300)
    assert "Traceback" not in done.err, done.err
    assert "folkmoot broke" not in done.err, done.err
    return done


def waiting(folkmoot):
    """What waits for a person."""
    (item,) = folkmoot("inbox", "list", "--json").json
    return item["id"]


def is_asked(folkmoot, agent):
    done = folkmoot("events", "--type", "llm.request", "--agent", agent, "--json")
    return done.code == 0 and done.json


def in_the_middle_of_a_step(shop):
    """A collaboration whose coder is asked and never answers; it would as soon as somebody goes on with it."""
    shop.edit("script.yaml", r"(Carry out step s1\n +)delay: 0ms", r"\1barrier: nobody comes/2")
    process = shop.started("collaborate", GOAL)
    wait_for(process.stderr, "coder works on step s1")
    soon(lambda: is_asked(shop, "coder"))
    shop.edit("script.yaml", "barrier: nobody comes/2", "delay: 0ms")
    return process


def test_a_collaboration_goes_on_after_an_approval(asking):
    """K-60, D-24, D-26."""
    assert asking("collaborate", GOAL).code == 6
    asking("approvals", "approve", waiting(asking))
    done = going_on(asking, "collaborate", "--resume", "last")

    assert done.code == 0, done.err
    assert (asking.folder / "notes" / "asked" / "health.md").exists()


def test_a_collaboration_goes_on_after_a_denial(asking):
    """K-60: the member is told, and the team goes on without the file."""
    assert asking("collaborate", GOAL).code == 6
    asking("approvals", "deny", waiting(asking), "--reason", "not on a Friday")
    done = going_on(asking, "collaborate", "--resume", "last")

    assert done.code == 0, done.err
    assert not (asking.folder / "notes" / "asked").exists()


def test_a_collaboration_goes_on_after_its_process_was_killed(shop):
    """K-60, D-27."""
    process = in_the_middle_of_a_step(shop)
    process.kill()
    process.communicate()
    done = going_on(shop, "collaborate", "--resume", "last", "--json")

    assert done.json["state"] == "Completed"


def test_a_collaboration_goes_on_after_it_was_interrupted(shop):
    """K-60: the first Ctrl-C waits for what is under way, the second does not."""
    process = in_the_middle_of_a_step(shop)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # a second SIGINT could be taken for the first one
    left = ended(process, seconds=300)
    assert (left.code, "Traceback" in left.err) == (130, False), left.err

    done = going_on(shop, "collaborate", "--resume", "last", "--json")
    assert done.json["state"] == "Completed"


@pytest.fixture
def desk(folkmoot):
    """Agents that need an approval, ask a question, or never answer."""
    write = {"tool": "files.write", "arguments": {"path": "note.md", "content": "x"}}
    ask = {"tool": "ask_user", "arguments": {"question": "Which one?"}}
    script = {"w": [{"calls": [write]}, {"report": "written"}], "q": [{"calls": [ask]}, {"report": "so"}]}
    agents = {"w": "tools: [files.write]", "q": "tools: [ask_user]", "n": "description: Never answers."}
    rule = "rules: [{tool: files.write, decision: ask, reason: a person looks}]\n"
    folkmoot.write(agents, {**script, "n": [FOREVER]}, SETTINGS + rule)
    return folkmoot


def test_a_run_goes_on_with_its_approval(desk):
    """K-60, O-22."""
    assert desk("run", "w.ai", "x").code == 6
    done = going_on(desk, "approvals", "approve", waiting(desk), "--resume")

    assert (done.code, done.out) == (0, "written\n")


def test_a_run_goes_on_with_its_answer(desk):
    """K-60, O-22."""
    assert desk("run", "q.ai", "x").code == 6
    done = going_on(desk, "inbox", "answer", waiting(desk), "the blue one", "--resume")

    assert (done.code, done.out) == (0, "so\n")


def test_a_run_goes_on_after_its_process_was_killed(desk):
    """K-60, B-1."""
    process = desk.started("run", "n.ai", "x")
    soon(lambda: is_asked(desk, "n"))
    process.kill()
    process.communicate()
    desk.edit("script.yaml", "barrier: nobody comes/2", "delay: 0ms")
    done = going_on(desk, "runs", "resume", "last", "--json")

    assert done.json["status"] == "completed", done
