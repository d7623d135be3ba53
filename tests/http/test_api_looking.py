"""What one looks at over HTTP: agents, events, the inbox, conversations, costs, health; and the document itself."""

import msgspec
import pytest

from folkmoot.http.openapi import document
from tests.http.api_client import served


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


async def test_agents_are_listed_with_what_they_are_and_can(api):
    """D-3: id, type, capabilities, tools, status."""
    rows = {row["id"]: row for row in await api.get("/api/agents")}
    shown = await api.get("/api/agents/clerk")

    assert set(rows) == {"desk", "clerk", "boss", "slow"}
    assert {key: rows["clerk"][key] for key in ("type", "capabilities", "tools", "status")} == {
        "type": "specialist",
        "capabilities": ["money"],
        "tools": ["pay", "ask_user"],
        "status": "ready",
    }
    assert shown == await api.get("/api/agents/clerk/info")
    assert shown["models"] == ["scripted/any"]
    await api.get("/api/agents/nobody", 404)


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


async def test_always_is_a_rule_and_a_denial_is_read_by_the_agent(api):
    first = (await api.post("/api/runs", 202, agent="clerk", request="pay"))["runId"]
    await api.ended(first)
    (item,) = await api.get("/api/approvals")
    await api.post(f"/api/approvals/{item['id']}/deny", reason="too much", by="ann")
    denied = await api.ended(first)
    second = (await api.post("/api/runs", 202, agent="clerk", request="pay"))["runId"]
    await api.ended(second)
    (item,) = await api.get("/api/approvals", run=second)
    await api.post(f"/api/approvals/{item['id']}/approve", scope="always", by="ann")
    await api.ended(second)

    assert any("approval_denied: too much" in said.get("text", "") for said in denied["conversation"])
    assert "always, said ann" in (api.moot.folder / "folkmoot.yaml").read_text()


async def test_a_question_is_answered(api):
    run = (await api.post("/api/runs", 202, agent="clerk", request="ask"))["runId"]
    await api.ended(run)
    (item,) = await api.get("/api/inbox", kind="question")

    assert (item["question"], item["runId"]) == ("Which one?", run)
    await api.post(f"/api/approvals/{item['id']}/approve", 409)
    await api.post(f"/api/inbox/{item['id']}/settle", 409, decision="done")
    await api.post(f"/api/inbox/{item['id']}/settle", 400, decision="maybe")
    await api.post(f"/api/inbox/{item['id']}/answer", text="The blue one.")
    done = await api.ended(run)
    assert any(said.get("text") == "The blue one." for said in done["conversation"])


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


async def test_costs_are_told_by_agent_model_and_day(api):
    for agent in ("desk", "boss", "desk"):
        await api.ended((await api.post("/api/runs", 202, agent=agent, request="hello"))["runId"])

    by_agent = await api.get("/api/costs")
    by_model = await api.get("/api/costs", by="model")
    by_day = await api.get("/api/costs", by="day")

    requests = {row["id"]: row["totals"]["modelRequests"] for row in by_agent["rows"]}
    assert requests == {"desk": 2, "boss": 1}
    assert [row["id"] for row in by_model["rows"]] == ["scripted/any"]
    assert by_agent["totals"] == by_model["totals"] == by_day["totals"]
    assert sum(row["totals"]["modelRequests"] for row in by_day["rows"]) == 3
    assert by_agent["budgets"][0].keys() == {"id", "budget"}
    assert (await api.get("/api/costs", until="2000-01-01"))["rows"] == []
    await api.get("/api/costs", 400, by="colour")
    await api.get("/api/costs", 400, since="soon")


async def test_there_is_nothing_to_see_in_an_empty_project(api):
    for path in ("conversations", "sinks", "inbox", "tasks", "plans", "decisions", "work-sessions", "events"):
        assert await api.get(f"/api/{path}") == []
    await api.get("/api/conversations/conv_nope", 404)


async def test_what_an_agent_may_call_is_explained_and_a_call_is_judged(api):
    """Issue 7: what the terminal does with `explain`."""
    whole = await api.get("/api/agents/clerk/explain")
    one = await api.get("/api/agents/clerk/explain", tool="pay")
    judged = await api.post("/api/agents/clerk/explain", tool="pay", arguments={"to": "ann"})

    assert {"pay", "ask_user"} <= {tool["tool"] for tool in whole["tools"]}
    assert [tool["because"] for tool in one["tools"]] == ["clerk.ai names 'pay' in `tools`"]
    assert (whole["decision"], judged["decision"]) == (None, "ask")
    assert "risk high" in judged["reason"]
    assert (await api.get("/api/agents/desk/explain"))["tools"] == []
    await api.get("/api/agents/clerk/explain", 404, tool="fly")
    await api.post("/api/agents/clerk/explain", 404, tool="fly")
    await api.get("/api/agents/nobody/explain", 404)
    assert await api.get("/api/events") == []


async def test_what_is_recorded_is_verified_and_exported_as_the_terminal_does_it(api):
    """Issue 7: `verify` and `log export`; C1 to C7."""
    run = (await api.post("/api/runs", 202, agent="desk", request="hello"))["runId"]
    await api.ended(run)
    whole, one = await api.get("/api/verify"), await api.get(f"/api/runs/{run}/verify")
    log, of_run = await api.ask("GET", "/api/log"), await api.ask("GET", f"/api/runs/{run}/log")

    assert (whole["holds"], one["holds"], whole["faults"]) == (True, True, [])
    assert set(one["checked"]) == {"C1", "C2", "C3", "C4", "C5", "C6", "C7"}
    assert (one["runs"], one["stateHash"] is not None) == (1, True)
    assert of_run.headers["content-type"] == "application/x-ndjson"
    lines = [msgspec.json.decode(line) for line in of_run.text.splitlines()]
    assert lines == await api.get(f"/api/runs/{run}/events")
    assert log.text == of_run.text
    await api.get("/api/runs/nope/verify", 404)
    await api.get("/api/runs/nope/log", 404)


async def test_settings_are_shown_with_their_sources(tmp_path):
    """Issue 7: `config show`, with the values that this server goes by."""
    async with served(tmp_path) as first:
        (first.moot.folder / "desk.ai").write_text("---\nmaxTurns: 7\n---\nYou are desk.\n")
    async with served(tmp_path) as api:
        of_desk = [row for row in await api.get("/api/settings") if row.get("file") == "desk.ai"]

    (turns,) = [row for row in of_desk if row["key"] == "maxTurns"]
    assert (turns["value"], turns["source"]) == (7, "desk.ai:2")


async def test_a_sink_goes_on_from_another_place(tmp_path):
    """Issue 7: `sinks move`."""
    async with served(tmp_path):
        pass
    settings = tmp_path / "folkmoot.yaml"
    settings.write_text(settings.read_text() + "sinks: {log: {kind: ndjson, path: events.ndjson}}\n")
    async with served(tmp_path) as api:
        await api.ended((await api.post("/api/runs", 202, agent="desk", request="hello"))["runId"])
        end = await api.moot.position()
        moved = [await api.post("/api/sinks/log/move", to=to) for to in ("end", "start", 2, end + 1_000)]
        (row,) = await api.get("/api/sinks")
        await api.post("/api/sinks/log/move", 400, to="middle")
        await api.post("/api/sinks/chat/move", 404, to="end")

    assert [each["position"] for each in moved][:3] == [end, 0, 2]
    assert row["position"] == moved[-1]["position"] > end


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
    assert document()["paths"].keys() == shown["paths"].keys()


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
