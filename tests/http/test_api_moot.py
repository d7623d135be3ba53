"""What outlives runs, over HTTP: tasks, plans, decisions, work sessions; and whoever asks for what cannot be."""

import pytest

from tests.http.api_client import served

STEPS = [
    {"description": "Write it", "owner": "desk", "acceptance": "It is there."},
    {"description": "Test it", "owner": "boss", "acceptance": "The tests pass."},
]
OPTIONS = [{"id": "sqlite", "text": "SQLite"}, {"id": "postgres"}]
VOTERS = [{"name": "ann"}, {"name": "bob", "weight": 2}]


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


async def test_a_task_goes_through_all_that_may_happen_to_it(api):
    """Issue 7, E-31's data: the actions of the tools, for a person."""
    task = await api.post("/api/tasks", 201, agent="desk", description="Mend it", steps=["find", "mend"])
    at = f"/api/tasks/{task['id']}"

    assert task["stepCounts"] == {"total": 2, "done": 0, "in_progress": 1, "pending": 1, "skipped": 0}
    updated = await api.post(f"{at}/update", action="complete_step", stepId="s1", progress="found")
    assert (updated["stepCounts"]["done"], updated["progress"]) == (1, ["found"])
    assert (await api.post(f"{at}/complete", 409))["detail"].startswith("stop_guard: ")
    blocked = await api.post(f"{at}/block", reason="no key", unblockBy=["boss"])
    assert (blocked["status"], blocked["unblockedBy"]) == ("blocked", ["boss"])
    assert await api.get("/api/agents/desk/blocked") == [blocked]
    await api.post(f"{at}/block", 409, reason="no key", unblockBy=["boss"])
    assert (await api.post(f"{at}/resume"))["status"] == "in_progress"
    assert (await api.get("/api/agents/desk/current"))["id"] == task["id"]
    done = await api.post(f"{at}/complete", summary="mended", force=True)
    assert done["outcome"] == {"kind": "completed", "summary": "mended"}
    assert await api.get("/api/agents/desk/current") is None
    assert await api.get("/api/agents/desk/history", month=done["endedAt"][:7]) == [done]
    assert await api.get("/api/agents/desk/history", month="1999-01") == []
    assert await api.get("/api/tasks") == []
    assert await api.get("/api/tasks", all="true") == await api.get("/api/agents/desk/tasks") == [done]
    assert await api.get(f"/api/agents/desk/tasks/{task['id']}") == done
    await api.get(f"/api/agents/boss/tasks/{task['id']}", 404)
    await api.post(f"{at}/cancel", 409)


async def test_a_backlog_is_filled_and_taken_from(api):
    add = {"agent": "desk", "estimatedEffort": "small"}
    later = await api.post("/api/tasks/backlog", 201, description="Later", **add)
    first = await api.post("/api/tasks/backlog", 201, description="First", priority="urgent", **add)
    waits = await api.post("/api/tasks", 201, agent="boss", description="Sign", requiresApproval=True)

    assert (await api.post("/api/tasks/pick", agent="desk"))["id"] == first["id"]
    await api.post("/api/tasks/pick", 409, agent="desk")
    await api.post(f"/api/tasks/{later['id']}/pick", 409)
    assert (await api.post(f"/api/tasks/{first['id']}/fail", error="gone"))["status"] == "interrupted"
    assert (await api.post(f"/api/tasks/{later['id']}/pick"))["status"] == "in_progress"
    assert (await api.post(f"/api/tasks/{waits['id']}/approve"))["status"] == "in_progress"
    await api.get("/api/agents/nobody/tasks", 404)
    await api.get("/api/agents/desk/history", 400, month="march")


async def test_a_plan_is_agreed_on_and_carried_out(api):
    """D-4: steps with owner, description, acceptance, policy and status."""
    plan = await api.post("/api/plans", 201, title="Export", steps=STEPS, tools_requested=["files.write"])
    at = f"/api/plans/{plan['id']}"

    assert [(step["id"], step["owner"], step["acceptance"], step["status"]) for step in plan["steps"]] == [
        ("s1", "desk", "It is there.", "pending"),
        ("s2", "boss", "The tests pass.", "pending"),
    ]
    assert plan["steps"][0]["toolPolicy"]["approval"] == "usual"
    await api.post(f"{at}/approve", 409)
    await api.post(f"{at}/review", verdict="change", text="Say which format.", by="ann")
    await api.post(f"{at}/revise", title="Export CSV", steps=STEPS)
    await api.post(f"{at}/submit")
    await api.post(f"{at}/reject", reason="Too dear.")
    await api.post(f"{at}/submit")
    assert (await api.post(f"{at}/approve"))["status"] == "approved"
    await api.post(f"{at}/steps/s1/start", 409)
    assert (await api.post(f"{at}/commit"))["status"] == "committed"
    await api.post("/api/plans/plan_nope/submit", 404)


async def test_a_decision_is_proposed_voted_on_and_recorded(api):
    """D-5: topic, options, votes, committed option, rationale, participants and time."""
    made = await api.post(
        "/api/decisions", 201, topic="Which database?", options=OPTIONS, participants=VOTERS, window=0
    )
    at = f"/api/decisions/{made['id']}"

    await api.post(f"{at}/comment", text="We have no server.", references=["docs/hosting.md"])
    await api.post(f"{at}/vote", 409, option="sqlite", by="eve")
    await api.post(f"{at}/vote", 400, option="oracle", by="ann")
    await api.post(f"{at}/commit", 409)
    await api.post(f"{at}/vote", option="postgres", by="ann")
    voted = await api.post(f"{at}/vote", option="sqlite", reason="simple", by="bob")
    done = await api.post(f"{at}/commit", rationale="The simplest that works.")

    assert voted["tally"]["counts"] == {"sqlite": 2, "postgres": 1}
    assert (done["status"], done["committedOption"], done["how"]) == ("committed", "sqlite", "vote")
    assert [voter["name"] for voter in done["participants"]] == ["ann", "bob"]
    assert done["timestamp"] == done["committedAt"]
    record = await api.get(f"{at}/adr")
    assert record["markdown"].startswith("# ")
    assert "The simplest that works." in record["markdown"]
    assert [row["id"] for row in await api.get("/api/decisions", status="committed")] == [made["id"]]
    await api.post(f"{at}/vote", 409, option="sqlite", by="bob")
    await api.post("/api/decisions", 400, topic="x", options=OPTIONS, participants=VOTERS, rule="dice")
    await api.post("/api/decisions", 400, topic="x", options=OPTIONS[:1], participants=VOTERS)
    await api.get("/api/decisions/decision_nope", 404)


async def test_a_work_session_is_shown_with_its_timeline_and_what_came_of_it(api):
    """D-1, D-6: goal, constraints, timeline and artifacts."""
    goal = {"goal": "Fix the parser bug", "constraints": ["No new dependency"]}
    work = await api.post("/api/work-sessions", 201, **goal)
    at = f"/api/work-sessions/{work['id']}"

    await api.post(f"{at}/artifacts", kind="test_result", title="Tests", content="12 passed")
    shown = await api.get("/api/work-sessions/last")
    (artifact,) = await api.get(f"{at[:-20]}/artifacts")

    assert shown["constraints"] == ["No new dependency"]
    assert shown["timeline"] == await api.get(f"{at}/timeline")
    assert shown["timeline"][0]["type"] == "work_session.opened"
    assert (artifact["kind"], artifact["title"]) == ("test_result", "Tests")
    content = await api.ask("GET", f"/api/artifacts/{artifact['id']}")
    assert (content.text, content.headers["content-type"]) == ("12 passed", "text/plain; charset=utf-8")
    assert content.headers["content-disposition"].startswith("attachment; ")
    assert content.headers["content-security-policy"].startswith("sandbox")
    await api.get("/api/artifacts/" + "0" * 64, 404)


async def test_a_person_says_what_work_is_about_and_that_holds(tmp_path):
    """E-10, E-12: one of ten, with where it comes from; it survives reclassification and a restart."""
    async with served(tmp_path) as api:
        work = (await api.post("/api/work-sessions", 201, goal="Fix the parser bug in the code"))["id"]
        at = f"/api/work-sessions/{work}"
        (before,) = await api.get("/api/work-sessions", category="engineering_build", subTag="bug")
        answer = await api.ask("PATCH", f"{at}/category", json={"category": "legal_compliance"})
        await api.post(f"{at}/label", label="Build the code of the parser")
        await api.get("/api/work-sessions", 400, viewCategory="gardening")
        await api.get("/api/work-sessions", 400, category="gardening")
        categories = await api.get("/api/categories")
    async with served(tmp_path) as again:
        (after,) = await again.get("/api/work-sessions", viewCategory="legal_compliance")
        assert await again.get("/api/work-sessions", category="engineering_build") == []

    assert (before["categorySource"], len(categories)) == ("rule", 10)
    assert answer.json["category"] == after["category"] == "legal_compliance"
    assert answer.json["categorySource"] == after["categorySource"] == "manual"


async def test_work_sessions_are_found_by_what_happened_in_them(api):
    task = await api.post("/api/tasks", 201, agent="desk", description="Water the plants")
    work = await api.post("/api/work-sessions", 201, goal="Ship the release", label="Release 2")

    assert [row["id"] for row in await api.get("/api/work-sessions", type="task.*")] == [
        task["workSessionId"]
    ]
    assert [row["id"] for row in await api.get("/api/work-sessions/search", q="RELEASE")] == [work["id"]]
    assert await api.get("/api/work-sessions", status="ARCHIVED") == []
    assert len(await api.get("/api/work-sessions", role="orchestration.task")) == 2
    assert len(await api.get("/api/work-sessions", limit=1)) == 1
    await api.get("/api/work-sessions/ws_nope", 404)
    await api.get("/api/work-sessions/search", 400)


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("/api/tasks", {"agent": "desk", "description": "a"}, {"agent": "desk", "description": "b"}),
        ("/api/plans", {"title": "a", "steps": ["x"]}, {"title": "b", "steps": ["x"]}),
        ("/api/work-sessions", {"goal": "a"}, {"goal": "b"}),
        (
            "/api/decisions",
            {"topic": "a", "options": OPTIONS, "participants": VOTERS},
            {"topic": "b", "options": OPTIONS, "participants": VOTERS},
        ),
    ],
)
async def test_what_is_created_under_a_key_is_created_once_over_restarts(tmp_path, path, body, other):
    async with served(tmp_path) as first:
        made = await first.post(path, 201, key="k", **body)
        assert await first.post(path, 201, key="k", **body) == made
        await first.post(path, 422, key="k", **other)
    async with served(tmp_path) as second:
        again = await second.post(path, 201, key="k", **body)
        rows = await second.get(path)
        assert (await second.post(path, 201, key="another", **body))["id"] != made["id"]
    async with served(tmp_path) as third:
        await third.post(path, 422, key="k", **other)

    assert again["id"] == made["id"]
    assert len(rows) == 1
