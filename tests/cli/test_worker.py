"""Workers as processes: runs are left to them, they die, and nothing is lost or done twice."""

import os
import signal

import pytest

from tests.cli.conftest import ended
from tests.journal.postgres.server_time import ServerTime
from tests.workers import Shop


@pytest.fixture
def shop(folkmoot, storage):
    shop = Shop(folkmoot, storage)
    yield shop
    shop.close()


def calls(*tools):
    return {"calls": [{"tool": f"t.{tool}"} for tool in tools]}


SOON = "4s"
"""Until a worker that is gone loses its runs: many times what one that is alive needs to keep them."""
SIMPLE = {"a": [calls("book"), {"report": "fine"}]}


def test_a_run_that_is_left_to_the_workers_is_finished_by_one(shop):
    shop.write(SIMPLE)
    left = shop.program("run", "a.ai", "hello", "--queue")
    run = left.out.strip()
    queued = shop.program("runs", "list", "--json").json[0]["status"]
    shown = shop.program("runs", "show", run).out

    shop.worker()
    followed = shop.program("run", "a.ai", "hello", "--queue", "--json")

    shop.ended([run, followed.json["runId"]])
    assert (left.code, queued) == (0, "queued")
    assert "the next worker that has room takes it" in shown
    assert (followed.code, followed.json["finalReport"]["content"]) == (0, "fine")


def test_two_workers_share_twenty_runs_and_each_is_finished_once(shop):
    shop.write(SIMPLE)
    with shop.gate():
        workers = [shop.worker("--concurrency", "3"), shop.worker("--concurrency", "3")]
        runs = shop.submit(times=20)
        shop.calls_made(6)  # more than one of them has room for
    shop.ended(runs)
    done = shop.done()
    assert len(done) == len({key for _, _, key in done}) == 20
    assert {pid for _, pid, _ in done} == {str(worker.pid) for worker in workers}


def test_another_worker_takes_over_from_one_that_was_killed(shop):
    """C3: only what was under way is repeated, a `keyed` call with its key, and `once` waits for a person."""
    shop.write({"a": [calls("book"), calls("book", "look", "send"), {"report": "fine"}]})
    (run,) = shop.submit()
    with shop.gate(turn=2):
        first = shop.worker()
        shop.calls_made(4)
        second = shop.worker(lease=SOON)
        before = shop.done()
        os.kill(first.pid, signal.SIGKILL)
    waiting = shop.until(run, "run.parked")
    (item,) = waiting[-1].event.waiting
    settled = shop.program("inbox", "settle", item, "done", "--text", "sent")
    shop.ended([run])

    after = [(effect, key) for effect, pid, key in shop.done() if pid == str(second.pid)]
    assert sorted(after) == sorted((effect, key) for effect, _, key in before[1:] if effect != "once")
    assert f"a worker goes on with run {run}" in settled.err
    asked = [entry for entry in shop.until(run, "run.completed") if entry.event.type == "llm.request"]
    assert len(asked) == 3


def test_a_worker_that_was_stopped_too_long_is_fenced_off(shop):
    """C2: when it goes on, it writes nothing."""
    shop.write(SIMPLE)
    with shop.gate():
        stopped = shop.worker(lease=SOON)
        (run,) = shop.submit()
        shop.calls_made(1)
        os.kill(stopped.pid, signal.SIGSTOP)
        second = shop.worker(lease=SOON)
        shop.calls_made(2)
    shop.ended([run])
    before = shop.until(run, "run.completed")

    os.kill(stopped.pid, signal.SIGCONT)
    stopped.send_signal(signal.SIGTERM)
    ended(stopped)

    assert shop.until(run, "run.completed") == before
    assert [pid for _, pid, _ in shop.done()] == [str(stopped.pid), str(second.pid)]
    assert len({key for _, _, key in shop.done()}) == 1


@pytest.mark.parametrize("jump", [3_600, -3_600])
def test_a_server_whose_clock_is_set_gives_the_run_of_a_silent_worker_to_another_and_no_other_run(
    shop, postgres, jump
):
    """K-8: a step forward handed every run over at once, a step back kept the runs of those that are gone."""
    shop.write(SIMPLE)
    with shop.gate():
        alive = shop.worker("--concurrency", "1")
        (held,) = shop.submit()
        shop.calls_made(1)
        silent = shop.worker("--concurrency", "1", lease=SOON)
        (left,) = shop.submit()
        shop.calls_made(2)
        heir = shop.worker(lease=SOON)
        os.kill(silent.pid, signal.SIGSTOP)
        ServerTime(postgres, shop.storage).step(jump)
        shop.calls_made(3)
    shop.ended([held, left])

    makers = [(key.split("/")[0], pid) for _, pid, key in shop.done()]
    assert makers == [(held, str(alive.pid)), (left, str(silent.pid)), (left, str(heir.pid))]


def test_a_worker_that_was_taken_for_dead_registers_anew_without_a_word(shop, postgres):
    """K-12: it printed the statement of the server, 40 lines of it."""
    shop.write(SIMPLE)
    worker = shop.worker()
    shop.ended(shop.submit())
    postgres.query(f'DELETE FROM "folkmoot-queue_{shop.storage.project}".procrastinate_workers')
    runs = shop.submit()
    shop.ended(runs)
    worker.send_signal(signal.SIGTERM)

    said = ended(worker).err.splitlines()

    assert said[-1] == f"worker {worker.pid}: stopped"
    assert f"worker {worker.pid}: run {runs[0]}: completed" in said
    assert all(line.startswith(f"worker {worker.pid}: ") for line in said)
    assert not [line for line in said if "procrastinate" in line.lower()]


def test_a_worker_that_is_told_to_stop_hands_its_runs_over(shop):
    """What is under way ends, nothing new begins, and no run is cancelled."""
    shop.write({"a": [calls("send"), calls("send"), {"report": "fine"}]})
    with shop.gate():
        first = shop.worker()
        (run,) = shop.submit()
        shop.calls_made(1)
        first.send_signal(signal.SIGTERM)
        shop.stops_taking_runs(first)
    assert ended(first).code == 0
    status = shop.program("runs", "list", "--json").json[0]["status"]

    second = shop.worker()
    shop.ended([run])

    types = [entry.event.type for entry in shop.until(run, "run.completed")]
    assert status == "queued"
    assert not {type for type in types if "cancel" in type or "doubt" in type}
    assert [pid for _, pid, _ in shop.done()] == [str(first.pid), str(second.pid)]


def test_what_takes_longer_than_the_grace_is_cut(shop):
    """A second signal does the same at once. The call is in doubt only if it must not be repeated."""
    shop.write({"a": [calls("book"), {"report": "fine"}]})
    with shop.gate():
        first = shop.worker("--grace", "100ms")
        (run,) = shop.submit()
        shop.calls_made(1)
        first.send_signal(signal.SIGTERM)
        assert ended(first).code == 0
        second = shop.worker("--grace", "1h")
        shop.calls_made(2)
        second.send_signal(signal.SIGTERM)
        second.send_signal(signal.SIGINT)
        assert ended(second).code == 0

    shop.worker()
    shop.ended([run])

    assert len({key for _, _, key in shop.done()}) == 1
    assert not [e for e in shop.until(run, "run.completed") if "cancel" in e.event.type]


def test_an_answer_wakes_a_run_that_nobody_holds(shop):
    """O-22: a run that waits takes no room; the answer may come from any host."""
    shop.write({"a": [calls("pay"), {"report": "fine"}], "b": [{"report": "fine"}]})
    shop.worker("--concurrency", "1")
    (run,) = shop.submit()
    (item,) = shop.until(run, "run.parked")[-1].event.waiting
    shop.ended(shop.submit("b.ai"))

    said = shop.program("approvals", "approve", item)

    shop.ended([run])
    assert f" goes on with run {run}" in said.err  # a worker, or the one that has taken it up meanwhile


def test_a_run_that_nobody_answers_in_time_is_woken_by_a_worker(shop):
    """It is parked, and nobody would look at it otherwise."""
    shop.write({"a": [calls("pay"), {"report": "not paid"}]}, settings="approvals: {expires: 1s}\n")
    shop.worker()
    (run,) = shop.submit()

    shop.ended([run])
    types = [entry.event.type for entry in shop.until(run, "run.completed")]
    assert types.index("run.parked") < types.index("approval.expired")
    assert shop.done() == []


def test_a_run_is_cancelled_from_another_process(shop):
    """C5."""
    shop.write(SIMPLE)
    with shop.gate():
        shop.worker()
        (run,) = shop.submit()
        shop.calls_made(1)

        assert shop.program("runs", "cancel", run).code == 0

        shop.until(run, "run.cancelled")


def test_the_doctor_looks_at_workers_and_at_runs_that_nobody_has(shop, postgres):
    def found():
        return {found["id"]: found for found in shop.program("doctor", "--json").json}

    shop.write(SIMPLE)
    runs = shop.submit()
    worker = shop.worker()
    shop.ended(runs)
    alive = found()
    worker.send_signal(signal.SIGTERM)
    ended(worker)
    shop.submit(times=2)
    queued = found()
    postgres.query(f'TRUNCATE "folkmoot-queue_{shop.storage.project}".procrastinate_jobs CASCADE')
    forsaken = found()

    assert alive["workers"]["text"].startswith("1 worker alive")
    assert (queued["workers"]["status"], queued["workers"]["text"]) == (
        "warning",
        "none is alive, 2 runs queued: start one with `folkmoot worker`",
    )
    assert "forsaken runs" not in queued
    assert forsaken["forsaken runs"]["text"].startswith("2 runs without an owner or a job: ")
    assert "Procrastinate 03." in forsaken["schemas"]["text"]


def test_without_a_shared_journal_there_is_nothing_for_workers(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})

    refused = [folkmoot("worker"), folkmoot("run", "a.ai", "x", "--queue")]

    assert [done.code for done in refused] == [2, 2]
    assert all("set `storage.url`" in done.err for done in refused)


def test_a_second_knock_for_a_run_that_is_held_changes_nothing(shop, postgres):
    """Delivery is at least once; whose a run is says its claim."""
    shop.write(SIMPLE)
    with shop.gate():
        workers = [shop.worker(), shop.worker()]
        (run,) = shop.submit()
        shop.calls_made(1)
        for _ in workers:
            shop.wake(run)
            shop.no_job_left(postgres)
    shop.ended([run])

    assert len(shop.done()) == 1


def test_a_run_that_used_a_working_folder_goes_on_only_there(shop, postgres):
    """B-37: the folder is on one host."""
    settings = "orchestration: {enable_agent_tool: true, auto_approve: true, sub_agent_work_dir: scratch}\n"
    call = {"tool": "call_agent", "arguments": {"mission": "look", "specialist": "b"}}
    script = {"a": [{"calls": [call]}, {"report": "fine"}], "b": [calls("look"), {"report": "seen"}]}
    shop.write(script, settings=settings)
    with shop.gate():
        here = shop.worker("--label", "here")
        (run,) = shop.submit()
        shop.calls_made(1)
        os.kill(here.pid, signal.SIGKILL)
    there = shop.worker("--label", "there", lease=SOON)
    shop.has_job(postgres, "at:here")
    shown = shop.program("runs", "show", run)
    refused = shop.program("runs", "resume", run)

    again = shop.worker("--label", "here")
    shop.ended([run])

    assert "waits for a worker with --label here" in shown.out
    assert refused.code == 1
    assert "leave it to a worker started there with --label here" in refused.err
    assert {pid for _, pid, _ in shop.done()} == {str(here.pid), str(again.pid)}
    assert there.poll() is None


def test_jobs_that_are_lost_are_made_anew_from_the_journal(shop, postgres):
    """Under a worker that goes on, and with none."""
    shop.write(SIMPLE)
    schema = f'"folkmoot-queue_{shop.storage.project}"'
    first = shop.worker(lease=SOON)
    postgres.query(f"DROP TABLE {schema}.procrastinate_jobs CASCADE")
    more = shop.submit(times=2)
    shop.ended(more)
    first.send_signal(signal.SIGTERM)
    assert ended(first).code == 0
    postgres.query(f"DROP SCHEMA {schema} CASCADE")
    rest = shop.submit(times=2)

    shop.worker("--rebuild")

    shop.ended(rest)
