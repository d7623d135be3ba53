"""The step of a plan, carried out by a run over HTTP: the run is completed, and with it the step."""

import pytest

from folkmoot.engine.collaboration import complete_finished_steps
from folkmoot.engine.history import Fork
from tests.http.api_client import served

STEPS = [
    {"description": "Write it", "owner": "desk", "acceptance": "It is there."},
    {"description": "Dig it", "owner": "slow", "acceptance": "It is deep."},
    {"description": "Read it", "owner": "user", "acceptance": "You know it."},
]


async def planned(api):
    plan = await api.post("/api/plans", 201, title="Export", steps=STEPS, submitted=True)
    await api.post(f"/api/plans/{plan['id']}/approve", commit=True)
    return f"/api/plans/{plan['id']}"


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


async def step(api, at, number=0):
    return (await api.get(at))["steps"][number]


async def test_the_owner_of_a_step_carries_it_out_and_with_its_run_the_step_is_done(api):
    """Issue 7: what the terminal does with `plans run`; D-15, D-37."""
    at = await planned(api)
    run = await api.post(f"{at}/steps/s1/run", 202, by="ann")
    ended = await api.ended(run["runId"])
    (started,) = await api.get(f"/api/runs/{run['runId']}/events", limit=1)
    done = await step(api, at)

    assert (ended["status"], done["status"], done["note"]) == ("completed", "done", "Hello.")
    assert started["data"]["request"] == "Write it\n\nIt is accepted when: It is there."
    assert started["data"]["errand"]["step"] == "s1"
    assert [row["runId"] for row in await api.get("/api/runs")] == [run["runId"]]
    assert "is done; reopen it first" in (await api.post(f"{at}/steps/s1/run", 409))["detail"]


async def test_what_runs_already_is_not_begun_twice_and_can_be_stopped(api):
    at = await planned(api)
    run = (await api.post(f"{at}/steps/s2/run", 202, text="Dig deep."))["runId"]
    await api.bench.busy.wait()
    twice = await api.post(f"{at}/steps/s2/run", 409)
    await api.post(f"/api/runs/{run}/cancel")
    await api.ended(run)
    stopped = await step(api, at, 1)
    api.bench.go_on.set()
    again = await api.post(f"{at}/steps/s2/run", 202)
    await api.ended(again["runId"])

    assert f"run {run} carries out step s2" in twice["detail"]
    assert stopped["status"] == "in_progress"
    assert (await step(api, at, 1))["status"] == "done"


async def test_what_cannot_be_carried_out_is_refused_and_what_comes_again_is_one(tmp_path):
    async with served(tmp_path) as first:
        draft = await first.post("/api/plans", 201, title="Later", steps=STEPS)
        await first.post(f"/api/plans/{draft['id']}/steps/s1/run", 409)
        at = await planned(first)
        run = await first.post(f"{at}/steps/s1/run", 202, key="k")
        await first.ended(run["runId"])
    async with served(tmp_path) as second:
        again = await second.post(f"{at}/steps/s1/run", 202, key="k")
        await second.post(f"{at}/steps/s9/run", 404)
        await second.post(f"{at}/steps/s3/run", 404)
        await second.post("/api/plans/plan_nope/steps/s1/run", 404)
        await second.post(f"{at}/steps/s1/run", 400, by="desk")
        of_person = await step(second, at, 2)
        runs = await second.get("/api/runs")
    assert (again["runId"], again["status"]) == (run["runId"], "completed")
    assert of_person["status"] == "pending"
    assert len(runs) == 1


async def test_a_step_whose_run_ended_when_its_process_died_is_completed_by_the_next(tmp_path, monkeypatch):
    """The next look of the watch finds what was left; what was reopened since is another matter, and so is a fork."""

    async def died_before(result):
        pass

    async with served(tmp_path) as first:
        at = await planned(first)
        monkeypatch.setattr(first.moot._engine, "after", died_before)
        run = (await first.post(f"{at}/steps/s1/run", 202))["runId"]
        await first.ended(run)
        left = await step(first, at)
    async with served(tmp_path) as second:
        await second.moot.watch().tick()
        done = await step(second, at)
        await second.post(f"{at}/steps/s1/reopen", reason="No umlauts.")
        await second.post(f"{at}/steps/s1/start")
        fork = await second.moot.fork(run, Fork(1))
        nothing = await complete_finished_steps(second.moot.moot)
        reopened = await step(second, at)

    assert (left["status"], done["status"]) == ("in_progress", "done")
    assert (fork.success, nothing, reopened["status"]) == (True, [], "in_progress")
