"""`folkmoot watch` and `folkmoot team` as their users meet them."""

import json
import signal

import pytest

from tests.cli.conftest import FOREVER, SETTINGS, ended, interrupted, wait_for
from tests.workers import Shop

QUICK = SETTINGS + "agents: {defaults: {taskContinuation: {idleThreshold: 1ms, checkInterval: 50ms}}}\n"
AGENTS = {"coder": "tools: [tasks]", "boss": "role: lead"}
COMPLETE = {
    "coder": [{"calls": [{"tool": "task_complete", "arguments": {"summary": "ok"}}]}, {"report": "did it"}]
}


@pytest.fixture
def idle(folkmoot):
    """A project with one task that nobody works on."""
    folkmoot.write(AGENTS, COMPLETE, QUICK)
    assert folkmoot("tasks", "start", "Mend the login", "--agent", "coder", "--simple").code == 0
    return folkmoot


def task_of(folkmoot) -> dict:
    (task,) = folkmoot("tasks", "list", "--all", "--json").json
    return task


def test_one_look_does_what_is_due_and_says_so_in_one_line(idle):
    """E-32, E-34."""
    done = idle("watch", "--once")

    task = task_of(idle)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"continuation.sent {task['id']} coder told to go on; idle for ")
    assert task["status"] == "completed"
    assert idle("watch", "--once").out == ""


def test_disabled_it_says_so_and_tells_nobody_anything(folkmoot):
    """E-33."""
    folkmoot.write(AGENTS, COMPLETE, QUICK.replace("idleThreshold", "enabled: false, idleThreshold"))
    folkmoot("tasks", "start", "Mend the login", "--agent", "coder", "--simple")

    done = folkmoot("watch", "--once")

    assert (done.code, done.out) == (0, "")
    assert "`agents.defaults.taskContinuation.enabled` is false" in done.err
    assert task_of(folkmoot)["status"] == "in_progress"


def test_an_interval_that_is_off_cannot_be_watched_by(folkmoot):
    folkmoot.write(AGENTS, COMPLETE, QUICK.replace("50ms", "off"))

    done = folkmoot("watch")

    assert done.code == 2
    assert "checkInterval` is off; set it, or use --once" in done.err


def test_ctrl_c_ends_it_cleanly_and_cancels_what_it_started(idle):
    idle.write(AGENTS, {"coder": [FOREVER]}, QUICK)
    watching = idle.started("watch")
    wait_for(watching.stdout, "continuation.sent")
    while not idle("runs", "list", "--json").json:
        pass

    done = interrupted(watching)

    assert (done.code, done.err.splitlines()[-1]) == (0, "stopped")
    assert [run["status"] for run in idle("runs", "list", "--json").json] == ["cancelled"]


def test_the_team_is_shown_before_anything_has_happened_and_after(idle):
    """E-51."""
    before = idle("team").out.splitlines()
    idle("watch", "--once")
    after = idle("team", "--json").json["agents"]["coder"]

    assert [line.split()[:4] for line in before[1:]] == [
        ["boss", "lead", "idle", "never"],
        ["coder", "worker", "idle", "never"],
    ]
    assert task_of(idle)["id"] in before[2]
    assert (after["currentTaskId"], after["consecutiveFailures"]) == (None, 0)
    assert after["lastHeartbeatMs"] > 0


def test_the_live_team_shows_each_change_in_a_pipe_as_a_line(idle):
    """E-51."""
    following = idle.started("team", "--live", "--json")
    first = json.loads(following.stdout.readline())
    idle("watch", "--once")
    later = json.loads(wait_for(following.stdout, '"lastHeartbeatMs": 1').splitlines()[-1])
    following.send_signal(signal.SIGINT)
    ended(following)

    assert first["agents"]["coder"]["lastHeartbeatMs"] is None
    assert later["agents"]["coder"]["status"] in ("active", "idle")


def test_two_watchers_and_two_workers_on_a_shared_journal_give_one_prompt(folkmoot, storage):
    """E-35: any number of processes; the workers run what the watch leaves to them."""
    shop = Shop(folkmoot, storage)
    shop.write(COMPLETE, AGENTS, QUICK.removeprefix(SETTINGS))
    try:
        assert folkmoot("tasks", "start", "Mend the login", "--agent", "coder", "--simple").code == 0
        shop.worker()
        shop.worker()
        watchers = [folkmoot.started("watch") for _ in range(2)]
        for watching in watchers:
            wait_for(watching.stderr, "watching, every 50ms")
        while task_of(folkmoot)["status"] != "completed":
            pass
        said = [interrupted(watching).out for watching in watchers]
        runs = folkmoot("runs", "list", "--json").json
        shop.ended([run["runId"] for run in runs])
    finally:
        shop.close()

    assert len(runs) == 1
    assert sorted("continuation.sent" in out for out in said) == [False, True]
