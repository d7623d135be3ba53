"""How an agent stands, as people look at it."""

from folkmoot.domain.agent import Agent, Member
from folkmoot.domain.task import Task
from folkmoot.views.team import FAILING, teammates

AGENT = Agent("a", "a.ai", "", description="Sweeps.")
TASK = Task("task_1", "a", "sweep", "blocked", "2026-01-01T00:00:00.000Z", "eve")


def stands(member: Member, *tasks: Task):
    [mate] = teammates([member], [AGENT], {task.id: task for task in tasks})
    return mate


def test_failures_in_a_row_make_an_agent_unsteady_then_failing():
    """E-6."""
    seen = [stands(Member("a", "worker", "idle", consecutive_failures=n)).health for n in range(FAILING + 1)]

    assert seen == ["well", "unsteady", "unsteady", "failing"]


def test_whoever_is_blocked_is_unsteady_and_the_task_is_shown():
    mate = stands(Member("a", "worker", "idle"), TASK)

    assert (mate.health, mate.task, mate.description) == ("unsteady", TASK, "Sweeps.")
