"""A team reaches its goal over HTTP: begun by a client, carried on by the server, also the next one."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from folkmoot import Folkmoot, Surroundings
from folkmoot.engine.claims import WorkerOptions
from folkmoot.engine.collaboration import Collaboration
from folkmoot.http.server import run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.ports import Query
from tests.examples import copied
from tests.http.api_client import Bench, Client

GOAL = "Add a health check to the shop"
WAITS = ("Submit a plan\n        delay: 0ms", "Submit a plan\n        delay: 1h")


@pytest.fixture
def shop(tmp_path):
    """The example of five agents, whose models answer at once."""
    copied("collaboration", tmp_path)
    return tmp_path


def edit(folder, file, old, new):
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@asynccontextmanager
async def served(folder):
    """As `folkmoot serve` does it: with everything that goes on by itself."""
    async with Folkmoot.open(folder, around=Surroundings(env={})) as moot:
        house = ServerState(moot=moot, door=ServerOptions(port=0))
        async with run_server(house) as base, aiohttp.ClientSession() as session, house.room, house.carrying:
            yield Client(house, base.rstrip("/"), session, Bench())
            house.room.leave_at_once()


async def seen(api, type, stream=""):
    """The stream in which such an event stands, as soon as there is one."""
    async with asyncio.timeout(240):
        async for entry in api.moot.events(stream, follow=True):
            if entry.event.type == type:
                return entry.stream
    raise AssertionError


async def types(api, stream):
    return [entry.event.type async for entry in api.moot.events(stream)]


async def test_a_client_that_goes_away_gets_the_work_of_its_team_all_the_same(shop):
    """Issue 7: what the terminal does with `collaborate`; D-39: the whole of a collaboration."""
    async with served(shop) as api:
        begun = await api.post("/api/collaborations", 202, goal=GOAL, constraints=["no downtime"], by="ann")
        await api.session.close()
        await seen(api, "work_session.completed", begun["id"])
    async with served(shop) as again:
        shown = await again.get(f"/api/collaborations/{begun['id']}")
        listed = {row["runId"] for row in await again.get("/api/runs")}
        record = await again.get(f"/api/work-sessions/{begun['id']}")
        sent = [e.event.request async for e in again.moot.events() if e.event.type == "session.started"]

    assert [request for request in sent if "- no downtime" not in request] == [], "K-61"
    assert begun["status"] == "running"
    assert (shown["status"], shown["state"], shown["waiting"]) == ("completed", "Completed", [])
    assert shown["summary"].startswith("The shop has a health check")
    assert shown["plan"]["status"] == "done"
    assert len(shown["decisions"]) == 1
    assert {member["runId"] for member in shown["asked"]} == listed
    assert (record["constraints"], record["createdBy"]) == (["no downtime"], "ann")


async def test_the_next_server_carries_on_what_one_left_and_asks_nobody_twice(shop):
    """Issue 7: it survives a restart; D-27."""
    edit(shop, "script.yaml", *WAITS)
    async with served(shop) as api:
        work = (await api.post("/api/collaborations", 202, goal=GOAL))["id"]
        run = await seen(api, "llm.request")
        going = await api.get(f"/api/collaborations/{work}")
    edit(shop, "script.yaml", *reversed(WAITS))
    async with served(shop) as again:
        await seen(again, "work_session.completed", work)
        started = [entry async for entry in again.moot.moot.journal.read(Query(types=("run.started",)))]
        told = await types(again, work)

    assert (going["status"], [each["runId"] for each in going["asked"]]) == ("running", [run])
    assert len({entry.stream for entry in started}) == len(started) == told.count("work_session.asked")


async def test_it_goes_on_when_a_person_has_answered_and_when_it_is_let_go_on(shop):
    """A pause holds the whole; the run that was resting and the work as such go on together."""
    async with served(shop) as api:
        work = (await api.post("/api/work-sessions", 201, goal=GOAL))["id"]
        lone = await api.post(f"/api/collaborations/{work}/resume", 202)
        without = await api.get(f"/api/collaborations/{work}")
        await api.post(f"/api/work-sessions/{work}/pause")
        paused = await api.get(f"/api/collaborations/{work}")
        roles = ("lead", "planner", "coder", "operator", "reviewer")
        members = [{"agent": name, "role": api.moot.agent(name).role} for name in roles]
        await api.post(f"/api/work-sessions/{work}/team", members=members)
        await api.post(f"/api/work-sessions/{work}/resume")
        await seen(api, "work_session.completed", work)

    assert lone["status"] == "running"
    assert (without["status"], len(without["waiting"])) == ("waiting", 1)
    assert "has no team with a lead" in without["waiting"][0]
    assert paused["status"] == "paused"


async def test_a_run_that_somebody_cancelled_is_not_begun_anew_before_somebody_says_so(shop):
    """D-27: by itself a server undoes nobody's word, also not after a restart."""
    edit(shop, "script.yaml", *WAITS)
    async with served(shop) as api:
        work = (await api.post("/api/collaborations", 202, goal=GOAL))["id"]
        run = await seen(api, "llm.request")
        await api.post(f"/api/runs/{run}/cancel", reason="not like this")
        await seen(api, "run.cancelled", run)
        await api.post(f"/api/work-sessions/{work}/label", label="something happens in it")
    edit(shop, "script.yaml", *reversed(WAITS))
    async with served(shop) as again:
        stopped = await again.get(f"/api/collaborations/{work}")
        runs = len(await again.get("/api/runs"))
        await again.post(f"/api/collaborations/{work}/resume", 202, by="ann")
        await seen(again, "work_session.completed", work)

    assert (stopped["status"], stopped["waiting"]) == ("waiting", ["planner (plan/1) was cancelled"])
    assert runs == 1


async def test_a_word_to_continue_counts_also_while_the_server_looks_for_what_comes_next(shop, monkeypatch):
    """D-27: it had seen that the run was cancelled, and not yet said that it waits."""
    looked, told, carry_on = asyncio.Event(), asyncio.Event(), Collaboration.carry_on

    async def slow(self):
        stopped = await carry_on(self)
        looked.set()
        await told.wait()
        return stopped

    edit(shop, "script.yaml", *WAITS)
    async with served(shop) as api:
        work = (await api.post("/api/collaborations", 202, goal=GOAL))["id"]
        run = await seen(api, "llm.request")
        await api.post(f"/api/runs/{run}/cancel", reason="not like this")
        await seen(api, "run.cancelled", run)
    edit(shop, "script.yaml", *reversed(WAITS))
    monkeypatch.setattr(Collaboration, "carry_on", slow)
    async with served(shop) as again:
        await looked.wait()
        await again.post(f"/api/collaborations/{work}/resume", 202, by="ann")
        told.set()
        await seen(again, "work_session.completed", work)
        assert (await types(again, run))[-1] == "run.cancelled"


async def test_whoever_cancels_the_work_stops_all_of_it(shop):
    """Issue 7: what goes on in a server can be cancelled."""
    edit(shop, "script.yaml", *WAITS)
    async with served(shop) as api:
        work = (await api.post("/api/collaborations", 202, goal=GOAL))["id"]
        run = await seen(api, "llm.request")
        stopped = await api.post(f"/api/work-sessions/{work}/cancel", reason="no money")
        await seen(api, "run.cancelled", run)
        shown = await api.get(f"/api/collaborations/{work}")
        refused = await api.post(f"/api/collaborations/{work}/resume", 409)

    assert stopped["runs"] == [run]
    assert shown["status"] == "cancelled"
    assert "is Cancelled" in refused["detail"]


async def test_what_cannot_be_is_refused_and_what_comes_again_is_one(shop):
    """Problem details in the words of the terminal; an Idempotency-Key holds over a restart."""
    edit(shop, "script.yaml", *WAITS)
    async with served(shop) as api:
        work = await api.post("/api/collaborations", 202, key="k", goal=GOAL)
        await api.post("/api/collaborations", 422, key="k", goal="Another")
    async with served(shop) as again:
        assert await again.post("/api/collaborations", 202, key="k", goal=GOAL) == work
    async with served(shop) as third:
        await third.post("/api/collaborations", 422, key="k", goal="Another")
        alone = await third.post("/api/collaborations", 409, goal=GOAL, members=[{"agent": "coder"}])
        await third.post("/api/collaborations", 404, goal=GOAL, members=[{"agent": "nobody"}])
        await third.post("/api/collaborations", 400, goal=" ")
        await third.post("/api/collaborations", 400, goal=GOAL, members=[{"agent": "coder", "role": "king"}])
        await third.post("/api/collaborations", 400, goal=GOAL, by="coder")
        await third.get("/api/collaborations/ws_nope", 404)
        await third.post("/api/collaborations/ws_nope/resume", 404)
        works = await third.get("/api/work-sessions")

    assert "the team has no lead" in alone["detail"]
    assert [row["id"] for row in works] == [work["id"]]


async def test_in_front_of_workers_it_is_carried_on_here_and_its_members_work_there(shop, storage):
    """Issue 7: in front of PostgreSQL workers; two servers do not carry it on at once."""
    settings = shop / "folkmoot.yaml"
    where = f"storage: {{url: '{storage.url}', project: {storage.project}}}\n"
    settings.write_text(settings.read_text() + where)
    async with served(shop) as api, served(shop) as other, Folkmoot.open(shop) as moot:
        worker = moot.worker(WorkerOptions())
        working = asyncio.create_task(worker.work())
        work = (await api.post("/api/collaborations", 202, goal=GOAL))["id"]
        await other.post(f"/api/collaborations/{work}/resume", 202)
        await seen(api, "work_session.completed", work)
        worker.stop()
        await working
        told = await types(api, work)
        runs = await api.get("/api/runs")

    assert {row["status"] for row in runs} == {"completed"}
    assert len(runs) == told.count("work_session.asked") == told.count("work_session.answered")
