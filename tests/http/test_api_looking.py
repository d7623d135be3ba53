"""What one looks at over HTTP: agents, events, the inbox, conversations, costs, health; and the document itself."""

import pytest

from folkmoot.http.openapi import get_openapi_document
from tests.http.api_client import served


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


async def test_problems_in_the_files_are_told_while_the_server_goes_on(api):
    (api.moot.folder / "desk.ai").write_text("---\nadvisors: [nobody.ai]\n---\nHi.\n")

    (problem,) = [each for each in await api.get("/api/problems") if each["severity"] == "error"]
    graph = await api.get("/api/graph")

    assert (problem["file"], "nobody.ai" in problem["message"]) == ("desk.ai", True)
    assert problem in graph["problems"]
    assert {node["id"] for node in graph["nodes"]} == {"desk", "clerk", "boss", "slow"}
    assert graph["mermaid"].startswith("flowchart")


async def test_health_and_status_say_how_agents_and_work_sessions_are(api):
    """D-31: what agents and sessions do."""
    run = (await api.post("/api/runs", 202, agent="slow", request="work"))["runId"]
    await api.bench.busy.wait()
    task = await api.post("/api/tasks", 201, agent="desk", description="Mend it")
    status = await api.get("/api/status")
    agents = {agent["id"]: agent for agent in status["agents"]}

    assert await api.get("/api/health") == {"ok": True}
    assert (agents["slow"]["status"], agents["desk"]["status"]) == ("active", "idle")
    assert (agents["boss"]["role"], agents["desk"]["currentTaskId"]) == ("lead", task["id"])
    assert (status["runs"], status["workSessions"]) == ({"running": 1}, {"ACTIVE": 2})
    team = (await api.get("/api/team-state"))["agents"]
    for each in (*team, *status["agents"]):
        each.pop("lastHeartbeat")  # the run may have recorded something in between
    assert team == status["agents"]
    api.bench.go_on.set()
    await api.ended(run)


async def test_an_approval_given_over_http_releases_the_call(api):
    """D-26, D-10: the API half; the server itself goes on with the run."""
    run = (await api.post("/api/runs", 202, agent="clerk", request="pay"))["runId"]
    assert (await api.ended(run))["status"] == "waiting"
    (item,) = await api.get("/api/approvals")

    assert (item["status"], item["tool"], item["arguments"]) == ("open", "pay", {"to": "ann"})
    assert item == await api.get(f"/api/inbox/{item['id']}") == (await api.get("/api/inbox", run=run))[0]
    await api.post(f"/api/inbox/{item['id']}/answer", 409, text="yes")
    await api.post(f"/api/approvals/{item['id']}/approve", by="ann", scope="run")
    done = await api.ended(run)
    paid = [event for event in await api.get("/api/events", run=run) if event["type"] == "tool.finished"]

    assert done["status"] == "completed"
    assert paid[0]["data"]["text"] == "paid ann"
    assert await api.get("/api/approvals") == []
    assert (await api.get("/api/approvals", all="true"))[0]["decidedBy"] == "ann"
    await api.post(f"/api/approvals/{item['id']}/deny", 409)
    await api.post("/api/approvals/ap_nope/approve", 404)
    await api.post(f"/api/approvals/{item['id']}/approve", 400, by="boss")


async def test_events_are_found_by_session_agent_step_time_and_type(api):
    """D-28: a filter for each; pages lead on; a text is found wherever it stands."""
    run = (await api.post("/api/runs", 202, agent="desk", request="a rare word"))["runId"]
    await api.ended(run)
    await api.post("/api/work-sessions", 201, goal="Sue them for the contract")
    work = (await api.get("/api/events", run=run, limit=1))[0]["workSessionId"]
    everything = await api.get("/api/events")

    assert [event["seq"] for event in everything] == list(range(len(everything), 0, -1))
    assert {event["runId"] for event in await api.get("/api/events", workSession=work)} == {run}
    assert {event["agentId"] for event in await api.get("/api/events", agent="desk")} == {"desk"}
    assert {event["sessionId"] for event in await api.get("/api/events", session=run)} == {run}
    assert [event["type"] for event in await api.get("/api/events", type="run.*")] == [
        "run.completed",
        "run.started",
    ]
    answer = await api.ask("GET", "/api/events?type=run.started&type=work_session.opened&limit=1")
    link = answer.headers["link"]
    following = await api.ask("GET", link[1 : link.index(">")])
    assert [event["type"] for event in (*answer.json, *following.json)] == [
        "work_session.opened",
        "run.started",
    ]
    assert await api.get("/api/events", step="s9") == []
    assert await api.get("/api/events", since="2100-01-01", agent="desk") == []
    assert await api.get("/api/events", until="2000-01-01", agent="desk") == []
    assert await api.get("/api/events", since="1h") == everything
    assert {event["type"] for event in await api.get("/api/events", viewCategory="legal_compliance")} == {
        "work_session.opened"
    }
    assert [event["role"] for event in await api.get("/api/events", role="orchestration.task")] == [
        "orchestration.task"
    ]
    found = await api.get("/api/events/search", q="RARE word")
    assert {event["runId"] for event in found} == {run}
    for wrong in ({"since": "soon"}, {"role": "king"}, {"viewCategory": "gardening"}, {"limit": 0}):
        await api.get("/api/events", 400, **wrong)
    await api.get("/api/events/search", 400)


async def test_there_is_nothing_to_see_in_an_empty_project(api):
    for path in ("conversations", "sinks", "inbox", "tasks", "plans", "decisions", "work-sessions", "events"):
        assert await api.get(f"/api/{path}") == []
    await api.get("/api/conversations/conv_nope", 404)


async def test_bodies_that_are_no_json_are_refused_in_words(api):
    for content in (b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000, b'{"agent": 1, "request": "x"}'):
        headers = {"content-type": "application/json"}
        answer = await api.ask("POST", "/api/runs", data=content, headers=headers)
        assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
        assert answer.json["detail"].startswith("the body is ")
    twice = await api.ask("GET", "/api/runs?limit=1&limit=2")
    long = await api.ask("POST", "/api/runs", json={}, headers={"Idempotency-Key": "k" * 201})
    assert (twice.status, long.status) == (400, 400)


async def test_the_document_names_every_operation_with_what_it_takes_and_gives(api):
    """Issue 7: OpenAPI with links; every path of the monitor is there (requirements 5.1)."""
    shown = await api.get("/api/openapi.json")
    operations = [each for path in shown["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    start = shown["paths"]["/api/runs"]["post"]

    assert len(names) == len(set(names))
    links = [
        link
        for each in operations
        for status in each["responses"].values()
        for link in status.get("links", {})
    ]
    assert set(links) <= set(names)
    assert {"showRun", "cancelRun", "runEvents"} <= set(start["responses"]["202"]["links"])
    assert set(start["responses"]) == set("202 400 401 403 404 408 409 413 415 421 422 429 431 503".split())
    assert set(shown["paths"]["/api/health"]["get"]["responses"]) == set(
        "200 400 403 408 413 421 431 503".split()
    )
    assert shown["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert not [name for name in shown["components"]["schemas"] if "." in name]
    monitor = "info tasks tasks/{task_id} current blocked history plans".split()
    for path in (
        *(f"agents/{{id}}/{each}" for each in monitor),
        *("health", "agents", "team-state", "events", "events/search"),
        *("work-sessions", "work-sessions/search", "work-sessions/{id}", "work-sessions/{id}/category"),
    ):
        assert f"/api/{path}" in shown["paths"]
    assert get_openapi_document()["paths"].keys() == shown["paths"].keys()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/api/nothing", None, 404, "there is nothing at /api/nothing; /api/openapi.json lists"),
        ("DELETE", "/api/runs", None, 405, "/api/runs takes GET, HEAD, POST, not DELETE"),
        ("GET", "/api/runs?status=odd", None, 400, "'odd' - at `$.status`; it is one of running, queued"),
        ("POST", "/api/runs", {"agent": "desk", "request": " "}, 400, "Expected some words - at `$.request`"),
    ],
)
async def test_whoever_asks_wrongly_is_told_what_would_be_right(api, method, path, body, status, words):
    answer = await api.ask(method, path, json=body)

    assert answer.status == status
    assert words in answer.json["detail"]
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, POST"


async def test_files_of_the_page_are_kept_and_nothing_else_is(api):
    style, runs = await api.ask("GET", "/static/folkmoot.css"), await api.ask("GET", "/runs")
    again = await api.ask("GET", "/static/folkmoot.css", headers={"if-none-match": style.headers["etag"]})

    assert (again.status, style.headers["cache-control"]) == (304, "no-cache")
    assert runs.headers["cache-control"] == "no-store"
