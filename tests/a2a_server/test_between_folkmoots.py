"""One Folkmoot asks the agents of another, which a real `folkmoot serve` offers."""

import asyncio

import httpx
import pytest

from folkmoot import Folkmoot, MemoryJournal, Surroundings
from folkmoot.engine.clock import SystemClock
from folkmoot.models import a2a
from tests.a2a_server.conftest import behind_the_door
from tests.desk import Desk
from tests.ports import free_port


@pytest.fixture(autouse=True)
def goodbye(monkeypatch):
    """Who is no longer waited for hears it before a test looks, however busy the machine is."""
    monkeypatch.setattr(a2a, "_GOODBYE", 60.0)


def desk(folder, server, script, **agents):
    """A project whose remote agents are those of the server."""
    remote = {
        name: f"---\ndescription: Far away.\nremote: {{url: {server.address}/a2a/{name}}}\n---\n"
        for name in ("clerk", "asker", "slow", "doubler")
    }
    made = Desk(folder, {**agents, **remote}, script)
    made.clock = SystemClock()
    made.identity = type(made.identity)(f"run-{folder.name}", "a seed nobody knows")
    return made


async def test_an_agent_asks_one_of_another_installation(tmp_path, server):
    script = {"front": [{"report": "There are three, I hear."}]}
    played = await desk(tmp_path, server, script, front="advisors: [clerk.ai]").run("front.ai", "How much?")

    assert played.report == "There are three, I hear."
    assert "Dear customer, there are **three**." in played.prompt("front")
    (known,) = [row for row in server.read("runs?agent=clerk") if row["request"] == "How much?"][:1]
    assert known["status"] == "completed"


async def test_what_the_other_side_asks_nobody_answers(tmp_path, server):
    """It fails with the question, and no run waits there for ever."""
    played = await desk(tmp_path, server, {}).run("asker.ai", "Do it from afar.")

    assert played.result.error == (
        "no model answered after 1 attempt; the last: remote:asker.ai asks back,"
        " and a remote agent is told no more than its request: Which one?"
    )
    (there,) = [row for row in server.read("runs?agent=asker") if row["request"] == "Do it from afar."]
    assert there["status"] == "cancelled"


async def test_a_cancel_reaches_the_other_side(tmp_path, server):
    made = desk(tmp_path, server, {})
    async with made.open() as moot, httpx.AsyncClient(base_url=server.address, timeout=60) as http:
        running = asyncio.create_task(moot.run("slow.ai", "Slowly, from afar."))
        there = await begun(http, "Slowly, from afar.")
        await moot.cancel(made.identity.run)
        assert (await running).status == "cancelled"
        assert (await http.get(f"/api/runs/{there}")).json()["status"] == "cancelled"


async def begun(http, request):
    async with asyncio.timeout(60):
        while True:
            rows = (await http.get("/api/runs", params={"agent": "slow"})).json()
            if known := [row["runId"] for row in rows if row["request"] == request]:
                return known[0]


async def test_who_asks_in_a_circle_comes_to_an_end(tmp_path):
    """E-71: every hop is counted, also over the network, and the sixth is refused."""
    port = free_port()
    echo = f"---\nremote: {{url: 'http://127.0.0.1:{port}/a2a/echo'}}\n---\n"
    (tmp_path / "echo.ai").write_text(echo)
    around = Surroundings(env={}, journal=MemoryJournal(SystemClock().monotonic))
    async with Folkmoot.open(tmp_path, around=around) as moot, behind_the_door(moot, port):
        await moot.run("echo.ai", "Who knows?")
        runs = await moot.runs()

    assert len(runs) == 6
    assert "the matter was passed on 6 times; `limits.a2aHops` here is 5" in runs[0].error
