"""What outlives runs, over HTTP: tasks, plans, decisions, work sessions; and whoever asks for what cannot be."""

import pytest

from tests.http.api_client import served

OPTIONS = [{"id": "sqlite", "text": "SQLite"}, {"id": "postgres"}]
VOTERS = [{"name": "ann"}, {"name": "bob", "weight": 2}]


@pytest.fixture
async def api(tmp_path):
    async with served(tmp_path) as client:
        yield client


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
