"""How an agent stands follows from what its sessions did."""

from folkmoot import ScriptedModel
from folkmoot.domain.agent import Agent
from folkmoot.domain.task import Task
from folkmoot.engine.identity import Identity
from folkmoot.ports import Query
from folkmoot.views.presence import FAILING, Presences

FAULT = {"error": {"message": "no money left", "retryable": False}}


async def stands(at, *, tasks=()):
    presences = Presences()
    async for entry in at.journal.read(Query()):
        presences.take(entry)
    [mate] = presences.team([Agent("a", "a.ai", "")], tasks)
    return mate


async def test_failures_in_a_row_make_an_agent_unsteady_then_failing_and_one_success_well_again(desk):
    """E-6."""
    at, seen = desk({"a": ""}, {}), []
    for n, said in enumerate([*[FAULT] * FAILING, "fine"]):
        at.identity, at.model = Identity(f"run-{n}", "seed"), ScriptedModel({"a": [said]})
        await at.run("a")
        mate = await stands(at)
        seen.append((mate.health, mate.failures))

    assert seen == [("unsteady", 1), ("unsteady", 2), ("failing", 3), ("well", 0)]
    assert mate.last_activity == "2026-01-01T00:00:00.000Z"


async def test_whoever_is_blocked_is_unsteady(desk):
    task = Task("task_1", "a", "sweep", "blocked", "2026-01-01T00:00:00.000Z", "eve")
    mate = await stands(desk({"a": ""}, {}), tasks=[task])
    assert (mate.health, mate.task, mate.last_activity) == ("unsteady", task, "")
