"""Runs over HTTP: started, shown, stopped, continued, forked; and asked for twice."""

import asyncio
from base64 import b64encode

import pytest

from folkmoot.domain.trace import trace_id
from tests.files import PNG
from tests.http.api_client import served


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


async def test_a_run_is_started_with_its_name_at_once_and_goes_on_in_the_server(api):
    """Issue 7: the answer does not wait for the run."""
    begun = await api.post("/api/runs", 202, agent="slow", request="work")
    await api.bench.busy.wait()
    during = await api.get(f"/api/runs/{begun['runId']}")
    api.bench.go_on.set()
    after = await api.ended(begun["runId"])

    assert during["status"] == "running"
    assert (after["status"], after["finalReport"]["content"]) == ("completed", "Done.")
    assert after["opTree"]["agentId"] == "slow"
    assert [row["name"] for row in after["accounting"] if row["type"] == "tool"] == ["work"]
    assert (after["traceId"], after["traceUrl"]) == (trace_id(begun["runId"]), None)


async def test_a_run_that_cannot_start_is_refused_and_leaves_nothing_behind(api):
    await api.post("/api/runs", 404, agent="nobody", request="hello")
    await api.post("/api/runs", 400, agent="desk", request="  ")
    await api.post("/api/runs", 400, agent="desk")
    await api.post("/api/runs", 400, agent="desk", request="x", colour="red")
    await api.post("/api/runs", 400, agent="desk", request="x", workSessionId="no id of one")
    work = (await api.post("/api/work-sessions", 201, goal="Ship it"))["id"]
    await api.post(f"/api/work-sessions/{work}/pause", reason="the budget")

    refused = await api.post("/api/runs", 409, agent="desk", request="x", workSessionId=work)

    assert refused["detail"].startswith(f"work session {work} is paused (the budget)")
    assert await api.get("/api/runs") == []


async def test_files_go_with_a_request_and_are_part_of_what_a_key_stands_for(api):
    """Issue 8: base64 parts with their media type."""
    png = b64encode(PNG).decode()
    photo = {"name": "photo.png", "mediaType": "image/png", "data": png}
    run = (await api.post("/api/runs", 202, key="k", agent="desk", request="x", attachments=[photo]))["runId"]
    await api.ended(run)
    (first, *_) = await api.get(f"/api/runs/{run}/events")
    (part,) = first["data"]["errand"]["attachments"]

    assert (part["name"], part["media"], part["size"]) == ("photo.png", "image/png", len(PNG))
    async with api.session.get(f"{api.base}/api/artifacts/{part['artifact']}") as kept:
        assert (await kept.read(), kept.content_type) == (PNG, "image/png")
        assert kept.headers["content-disposition"].startswith("attachment;")
        assert kept.headers["content-security-policy"].startswith("sandbox")
    again = await api.post("/api/runs", 202, key="k", agent="desk", request="x", attachments=[photo])
    assert again["runId"] == run
    await api.post("/api/runs", 422, key="k", agent="desk", request="x")


@pytest.mark.parametrize(
    ("attached", "why"),
    [
        ({"name": "a.png", "data": "%%"}, "attachments[0].data"),
        ({"name": "a.png", "data": b64encode(b"PK\0").decode()}, "a.png is nothing that a model reads"),
        (
            {"name": "a.png", "mediaType": "image/jpeg", "data": b64encode(PNG).decode()},
            "said to be image/jpeg",
        ),
        ({"name": "a.png", "url": "https://example.com/a.png"}, "attachments[0]"),
    ],
)
async def test_a_file_that_is_none_is_refused(api, attached, why):
    refused = await api.post("/api/runs", 400, agent="desk", request="x", attachments=[attached])

    assert why in refused["detail"]
    assert await api.get("/api/runs") == []


async def test_a_run_is_cancelled_and_then_it_is_over(api):
    run = (await api.post("/api/runs", 202, agent="slow", request="work"))["runId"]
    await api.bench.busy.wait()

    stopped = await api.post(f"/api/runs/{run}/cancel", reason="wrong customer")
    shown = await api.ended(run)

    assert stopped == {"runId": run, "status": "cancelled"}
    assert (shown["status"], shown["error"]) == ("cancelled", "wrong customer")
    await api.post(f"/api/runs/{run}/cancel", 409)
    assert (await api.post(f"/api/runs/{run}/resume", 202))["status"] == "cancelled"
    await api.post("/api/runs/nope/cancel", 404)


async def test_a_client_that_goes_away_stops_its_run_only_if_it_was_tied_to_it(api):
    """Issue 7: `cancelOnDisconnect`."""
    free = (await api.post("/api/runs", 202, agent="slow", request="work"))["runId"]
    body = {"agent": "slow", "request": "work", "cancelOnDisconnect": True}
    tied = asyncio.create_task(api.ask("POST", "/api/runs", json=body, headers={"Idempotency-Key": "k"}))
    await api.bench.busy.wait()
    while len(rows := await api.get("/api/runs", status="running")) < 2:
        pass
    tied.cancel()
    (name,) = {row["runId"] for row in rows} - {free}

    assert (await api.ended(name))["error"] == "its client has gone"
    assert (await api.get(f"/api/runs/{free}"))["status"] == "running"
    api.bench.go_on.set()
    assert (await api.ended(free))["status"] == "completed"


async def test_a_run_left_by_a_server_that_stopped_is_continued_by_the_next(tmp_path):
    async with served(tmp_path) as first:
        run = (await first.post("/api/runs", 202, agent="slow", request="work"))["runId"]
        await first.bench.busy.wait()
    async with served(tmp_path) as second:
        second.bench.go_on.set()
        before = await second.get(f"/api/runs/{run}")
        await second.post(f"/api/runs/{run}/resume", 202)
        after = await second.ended(run)

    assert (before["status"], after["status"]) == ("interrupted", "completed")


async def test_a_request_that_comes_again_under_its_key_starts_nothing_twice(tmp_path):
    """Issue 7: in the memory of the server, and by the name of the run after a restart."""
    async with served(tmp_path) as first:
        one, two = await asyncio.gather(
            *(first.post("/api/runs", 202, key="order 66", agent="desk", request="hello") for _ in range(2))
        )
        await first.ended(one["runId"])
        await first.post("/api/runs", 422, key="order 66", agent="desk", request="good bye")
    async with served(tmp_path) as second:
        again = await second.post("/api/runs", 202, key="order 66", agent="desk", request="hello")
        await second.post("/api/runs", 422, key="order 66", agent="boss", request="hello")
        runs = await second.get("/api/runs")

    assert one == two
    assert (again["runId"], again["status"]) == (one["runId"], "completed")
    assert len(runs) == 1


async def test_lists_come_in_pages_that_lead_to_each_other(api):
    """DESIGN 8: an array of objects with id and status; `Link` leads on."""
    runs = [(await api.post("/api/runs", 202, agent="desk", request=f"hello {n}"))["runId"] for n in range(3)]
    for run in runs:
        await api.ended(run)

    first = await api.ask("GET", "/api/runs", params={"limit": 2, "status": "completed"})
    link = first.headers["link"]
    second = await api.ask("GET", link[1 : link.index(">")])

    assert link.endswith('; rel="next"')
    assert [row["runId"] for row in (*first.json, *second.json)] == runs[::-1]
    assert "link" not in second.headers
    await api.get("/api/runs", 400, after="nope")
    await api.get("/api/runs", 400, limit=0)
    await api.get("/api/runs", 400, status="lost")
    await api.get("/api/runs", 400, colour="red")
    assert await api.get("/api/runs", agent="boss") == []


async def test_an_act_that_is_asked_for_twice_under_one_key_happens_once(api):
    """Issue 7: also where nothing is created that could be named after the key."""
    options, voters = [{"id": "a"}, {"id": "b"}], [{"name": "ann"}]
    made = await api.post("/api/decisions", 201, topic="Which?", options=options, participants=voters)
    at = f"/api/decisions/{made['id']}/comment"

    one, two = await asyncio.gather(*(api.post(at, key="k", text="Hm.") for _ in range(2)))
    await api.post(at, 422, key="k", text="Oh.")
    await api.post(at, 400, key="wrong", text="")
    three = await api.post(at, key="wrong", text="Oh.")

    assert one == two
    assert [comment["text"] for comment in three["comments"]] == ["Hm.", "Oh."]
