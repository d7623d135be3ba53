"""Commands to runs, as they lie in the inbox of a run that another process holds."""

import pytest

from folkmoot.domain.inbox import Reply
from folkmoot.domain.inbox_events import GateChanged
from folkmoot.engine.commands import (
    AnswerItem,
    CancelRun,
    ChangeGate,
    CheckPause,
    CloseSession,
    post_body,
    read_post,
)
from folkmoot.ports import Post


@pytest.mark.parametrize(
    ("kind", "body", "command"),
    [
        ("cancel", "nobody wants it", CancelRun("nobody wants it")),
        ("destroy", "run-1:sub_clerk_0 not needed", CloseSession("run-1:sub_clerk_0", "not needed")),
        (
            "gate",
            '{"session":"run-1","gated":["save"],"by":"ann"}',
            ChangeGate(GateChanged("run-1", ("save",), by="ann")),
        ),
        ("answer", '{"id":"q_1","word":"answer","text":"five"}', AnswerItem(Reply("q_1", "answer", "five"))),
        ("work_session", "ws_1", CheckPause("ws_1")),
    ],
)
def test_what_0_1_0_left_in_an_inbox_is_read_and_what_is_left_now_is_the_same(kind, body, command):
    assert read_post(Post(1, "run-1", kind, body)) == command
    assert (command.kind, post_body(command)) == (kind, body)


@pytest.mark.parametrize(("kind", "body"), [("answer", "{"), ("greeting", "hello")])
def test_what_is_no_command_is_none(kind, body):
    assert read_post(Post(1, "run-1", kind, body)) is None
