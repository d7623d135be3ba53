"""Every operation on work sessions does the same, refuses with the same code and records its actor everywhere."""

import pytest

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.work_sessions import becoming, paused
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.operations import work_reading as reading
from folkmoot.operations import work_sessions as work
from tests.operations.interfaces import Interfaces, assert_all_tried

FILES = {"coder": "role: lead", "tester": "role: worker"}


async def prepared(project):
    """A work session in each state that matters; their ids."""
    desk, eve = project.moot.work_sessions, Author("eve")
    known = {}
    for name in ("new", "reviewed", "paused", "over"):
        known[name] = (await desk.open(WorkSessionOpened(name), eve, chance=name)).id
    await desk.form(known["reviewed"], [Seat("lead")], eve)
    for state in ("Planning", "Executing", "Reviewing"):
        await desk.change(known["reviewed"], becoming(state), eve)
    await desk.change(known["paused"], paused("money"), eve)
    await desk.change(known["over"], becoming("Cancelled"), eve)
    return known


def of(kind, length=None):
    return {"work": lambda known: known[kind][:length]}


NEW, OVER, NOBODY = of("new"), of("over"), {"work": "ws_nothing"}

CASES = [
    (reading.ListWorkSessions, {"category": "infra_ops"}, ""),
    (reading.ListWorkSessions, {"category": "cooking"}, "bad_value"),
    (reading.ShowWorkSession, of("new", 12), ""),
    (reading.ShowWorkSession, NOBODY, "work_session_not_found"),
    (reading.ShowTimeline, {"work": "last"}, ""),
    (reading.ShowTimeline, NOBODY, "work_session_not_found"),
    (work.OpenWorkSession, {"goal": "Ship it", "label": "it", "constraints": ["soon", "well"]}, ""),
    (work.OpenWorkSession, {"goal": "Ship more", "previous": lambda known: known["over"][:12]}, ""),
    (work.OpenWorkSession, {"goal": " "}, "bad_value"),
    (work.OpenWorkSession, {"goal": "Ship", "previous": "ws_nothing"}, "work_session_not_found"),
    (work.PauseWorkSession, {**NEW, "reason": "money"}, ""),
    (work.PauseWorkSession, OVER, "wrong_use"),
    (work.PauseWorkSession, NOBODY, "work_session_not_found"),
    (work.ResumeWorkSession, of("paused", 12), ""),
    (work.ResumeWorkSession, OVER, "wrong_use"),
    (work.CancelWorkSession, {**NEW, "reason": "enough"}, ""),
    (work.CancelWorkSession, NOBODY, "work_session_not_found"),
    (work.CompleteWorkSession, {**of("reviewed"), "summary": "done", "decisions": ["decision_1"]}, ""),
    (work.CompleteWorkSession, {**of("reviewed"), "summary": " "}, "bad_value"),
    (work.CompleteWorkSession, {**NEW, "summary": "done"}, "wrong_use"),
    (work.CategoriseWorkSession, {**NEW, "category": "infra_ops"}, ""),
    (work.CategoriseWorkSession, {**NEW, "category": "cooking"}, "bad_value"),
    (work.CategoriseWorkSession, {**NOBODY, "category": "infra_ops"}, "work_session_not_found"),
    (work.LabelWorkSession, {**NEW, "label": "The parser"}, ""),
    (work.LabelWorkSession, {**NOBODY, "label": "The parser"}, "work_session_not_found"),
    (work.FormTeam, {**NEW, "members": [{"role": "lead"}, {"agent": "tester"}], "name": "us"}, ""),
    (work.FormTeam, {**NEW, "members": [{"role": "planner"}]}, "wrong_use"),
    (work.FormTeam, {**OVER, "members": [{"role": "lead"}]}, "wrong_use"),
    (work.ChangeState, {**of("reviewed"), "state": "Executing", "reason": "more"}, ""),
    (work.ChangeState, {**NEW, "state": "Executing"}, "wrong_use"),
    (work.ChangeState, {**NEW, "state": "Dreaming"}, "bad_value"),
    (work.AddArtifact, {**NEW, "kind": "doc", "title": "It", "content": "\u00fc"}, ""),
    (work.AddArtifact, {**NEW, "kind": "poem", "title": "It", "content": "x"}, "bad_value"),
]


@pytest.mark.parametrize(("operation", "values", "code"), CASES)
async def test_an_operation_is_the_same_in_every_interface(tmp_path, operation, values, code):
    def form_of(operation, given):
        return f"/work-sessions/{given['work']}/{operation.command}"

    await Interfaces(tmp_path, "work", FILES, prepared, form_of).agree(operation, values, code, agent="coder")


def test_every_operation_of_people_is_tried_with_something_good_and_something_bad():
    assert_all_tried(work.OPERATIONS, CASES)
