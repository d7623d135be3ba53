"""Every operation on runs, their inbox and their sessions does the same and refuses with the same code everywhere."""

from __future__ import annotations

import json
import re

import pytest

from folkmoot.operations import agent_sessions as sessions
from folkmoot.operations import conversations, events, inbox, runs, sinks
from tests.operations.interfaces import Interfaces

FILES = {"asker": "tools: [ask_user]"}
SCRIPT = {
    "asker": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]},
        {"report": "so"},
    ]
}
SETTINGS = "sinks: {log: {kind: ndjson}}\n"
_IDS = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}|q_[0-9a-f]{12}")
"""Of runs and questions: each interface has a project of its own."""


async def prepared(project):
    """A run that waits for an answer; its id, and that of the question."""
    result = await project.run("asker", "Choose.")
    return {"run": result.run_id, "item": result.waiting[0]}


RUN = {"id": lambda known: known["run"]}
BEGINNING = {"id": lambda known: known["run"][:18]}
ITEM = {"id": lambda known: known["item"]}
NOTHING = {"id": "nothing"}

CASES = [
    ("runs", runs.ListRuns, {}, ""),
    ("runs", runs.ListRuns, {"status": "dreaming"}, "bad_value"),
    ("runs", runs.ShowRun, BEGINNING, ""),
    ("runs", runs.ShowRun, NOTHING, "run_not_found"),
    ("runs", runs.StopRun, {**BEGINNING, "reason": "enough"}, ""),
    ("runs", runs.StopRun, NOTHING, "run_not_found"),
    ("runs", runs.AuditRun, {"id": "last"}, ""),
    ("runs", runs.AuditRun, NOTHING, "run_not_found"),
    ("runs", runs.ReplayRun, RUN, ""),
    ("runs", runs.ReplayRun, NOTHING, "run_not_found"),
    ("runs", runs.DiffRuns, {**RUN, "other": "last"}, ""),
    ("runs", runs.DiffRuns, {**RUN, "other": "nothing"}, "run_not_found"),
    ("inbox", inbox.ListInbox, {"all": True}, ""),
    ("inbox", inbox.ListInbox, {"kind": "wish"}, "bad_value"),
    ("inbox", inbox.ShowItem, ITEM, ""),
    ("inbox", inbox.ShowItem, NOTHING, "item_not_found"),
    ("inbox", inbox.AnswerQuestion, {**ITEM, "text": " "}, "bad_value"),
    ("inbox", inbox.AnswerQuestion, {**NOTHING, "text": "The blue one."}, "item_not_found"),
    ("inbox", inbox.SettleCall, {**ITEM, "decision": "done"}, "wrong_use"),
    ("inbox", inbox.SettleCall, {**ITEM, "decision": "perhaps"}, "bad_value"),
    ("approvals", inbox.ListApprovals, {}, ""),
    ("approvals", inbox.ListApprovals, {"run_id": "nothing"}, ""),
    ("approvals", inbox.ApproveCall, ITEM, "wrong_use"),
    ("approvals", inbox.ApproveCall, NOTHING, "item_not_found"),
    ("approvals", inbox.DenyCall, {**ITEM, "reason": "no"}, "wrong_use"),
    ("approvals", inbox.DenyCall, NOTHING, "item_not_found"),
    ("approvals", inbox.RevokeApproval, ITEM, "wrong_use"),
    ("approvals", inbox.RevokeApproval, NOTHING, "item_not_found"),
    ("sessions", sessions.ListSessions, RUN, ""),
    ("sessions", sessions.ListSessions, NOTHING, "run_not_found"),
    ("sessions", sessions.ListGates, RUN, ""),
    ("sessions", sessions.ListGates, NOTHING, "run_not_found"),
    ("sessions", sessions.DestroySession, RUN, "session_not_found"),
    ("sessions", sessions.DestroySession, NOTHING, "run_not_found"),
    ("sessions", sessions.GateSession, {**RUN, "tools": ["ask_user"], "reason": "enough"}, ""),
    ("sessions", sessions.GateSession, {**NOTHING, "tools": ["ask_user"]}, "run_not_found"),
    ("sessions", sessions.UngateSession, {**RUN, "tools": ["ask_user"]}, ""),
    ("sessions", sessions.UngateSession, {**NOTHING, "tools": ["ask_user"]}, "run_not_found"),
    ("sinks", sinks.ListSinks, {}, ""),
    ("sinks", sinks.MoveSink, {"id": "log", "to": "end"}, ""),
    ("sinks", sinks.MoveSink, {"id": "lug", "to": "end"}, "sink_not_found"),
    ("sinks", sinks.MoveSink, {"id": "log", "to": "home"}, "bad_value"),
    ("conversations", conversations.ListConversations, {"all": True}, ""),
    ("conversations", conversations.ShowConversation, NOTHING, "conversation_not_found"),
    ("", events.ListEvents, {"agent": "asker", "since": "2h"}, ""),
    ("", events.ListEvents, {"since": "soon"}, "bad_value"),
]


@pytest.mark.parametrize(("group", "operation", "values", "code"), CASES)
async def test_an_operation_is_the_same_in_every_interface(tmp_path, group, operation, values, code):
    interfaces = Interfaces(tmp_path, group, FILES, prepared, str)
    interfaces.settings, interfaces.script = SETTINGS, json.dumps({"agents": SCRIPT})

    outcomes = await interfaces.outcomes(operation, values, agent="asker")

    assert {each.code for each in outcomes.values()} == {code}, outcomes
    assert len({_IDS.sub("", repr(each.events)) for each in outcomes.values()}) == 1, outcomes
    assert len({each.actors for each in outcomes.values()}) == 1, outcomes


def test_every_operation_of_people_is_tried_with_something_good_and_something_bad():
    known = (*runs.OPERATIONS, *inbox.OPERATIONS, *sessions.OPERATIONS, *sinks.OPERATIONS)
    tried = {operation for _, operation, _, _ in CASES}

    assert {each for each in (*known, *conversations.OPERATIONS, *events.OPERATIONS) if each.command} <= {
        *tried,
        sessions.ListSessionsOfWork,
    }
