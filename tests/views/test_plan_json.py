"""Plans as files: the same plans give the same bytes, with the fields that others expect."""

import json

from folkmoot.coordination.plans import (
    BudgetWish,
    PlanWish,
    PolicyWish,
    StepWish,
    planned,
)
from folkmoot.views.plans import projected

POLICY = PolicyWish(("files.write",), "ask", BudgetWish("10m", 500, 3))
PLAN = planned(
    PlanWish(
        "Add export",
        (StepWish("Schreib es – jetzt", "coder", "The tests pass.", tool_policy=POLICY), "Test it"),
        tools_requested=("web.fetch",),
        task="task_1",
        work_session="ws_1",
    ),
    "plan_1",
    "coder",
    "",
)


def test_a_plan_is_a_json_file_with_its_fields():
    """E-75, D-4, U-2: those of the plan and of each step."""
    (path, text), *others = projected({"plan_1": PLAN}).items()
    plan = json.loads(text)

    assert (path, others) == ("plans/plan_1.json", [])
    assert {key: plan[key] for key in ("id", "agentId", "taskId", "workSessionId", "title", "status")} == {
        "id": "plan_1",
        "agentId": "coder",
        "taskId": "task_1",
        "workSessionId": "ws_1",
        "title": "Add export",
        "status": "draft",
    }
    assert {"toolsRequested", "submittedAt", "decidedAt", "decidedBy", "rejectReason", "goal"} <= plan.keys()
    first, second = plan["steps"]
    assert (first["id"], first["owner"], first["description"], first["acceptance"], first["status"]) == (
        "s1", "coder", "Schreib es – jetzt", "The tests pass.", "pending",
    )  # fmt: skip
    assert first["toolPolicy"] == {
        "tools": ["files.write"],
        "approval": "ask",
        "budget": {"time": 600.0, "tokens": 500, "filesChanged": 3},
    }
    assert (second["owner"], second["toolPolicy"]["tools"]) == (None, None)
    assert "Schreib es – jetzt" in text
    assert text.endswith("}\n")


def test_the_same_plans_give_the_same_bytes():
    """E-75, O-10."""
    assert projected({"plan_1": PLAN}) == projected({"plan_1": PLAN})
    assert projected({}) == {}
