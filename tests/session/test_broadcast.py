"""The exit of a team, as tables."""

from msgspec.structs import replace

from folkmoot.domain.events import (
    LlmRequest,
    LlmResponse,
    SessionCompleted,
    SessionStarted,
    ToolFinished,
)
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, Broadcast
from folkmoot.session.decide import decide
from folkmoot.session.exits import leads_broadcast, members_broadcast
from folkmoot.session.state import folded
from folkmoot.session.steps import Call, Finish, Refuse
from tests.session.test_decide import FREELY

START = SessionStarted("ann.ai", "hello")
SAY = ToolCall("id", BROADCAST, {"message": "hi"})


def member(begun, **more):
    brief = begun().brief
    exits = (members_broadcast("bob, carl"),)
    own = replace(brief.toolset, exits=exits, offered=(*brief.toolset.tools, *exits))
    return replace(brief, toolset=own, **more)


def answered(*calls, text="", turn=1, final=False):
    asked = LlmRequest(turn, 1, "p/first", 4096, 5000, final=final)
    return asked, LlmResponse(turn, 1, "p/first", Message("assistant", text, calls), Usage(100, 20))


def test_a_broadcast_ends_a_members_session_after_the_calls_beside_it(begun):
    """O-24, A-75."""
    brief = member(begun)
    past = [START, *answered(ToolCall("a", "look"), SAY)]
    assert isinstance(decide(folded(brief, past), FREELY), Call)

    past.append(ToolFinished(1, 1, "look", "a tree", "ev_1"))
    step = decide(folded(brief, past), FREELY)
    assert isinstance(step, Finish)
    assert step.outcome.exit == BROADCAST
    assert step.outcome.broadcast == Broadcast(message="hi", call=2)

    state = folded(brief, [*past, SessionCompleted(step.outcome)])
    assert [(m.answers, m.text[:6]) for m in state.messages[-2:]] == [("a", "a tree"), ("id", "Sent. ")]


def test_turns_are_counted_on_where_a_conversation_goes_on(begun):
    """A-81."""
    before = (Message("system", "You are Ann."), Message("user", "hello"), Message("assistant", "hi"))
    step = decide(folded(member(begun, before=before, turns_before=9), [START]), FREELY)

    assert (step.event.turn, step.event.final) == (10, True)
    assert [spec.name for spec in step.tools] == [BROADCAST]


def test_a_lead_that_reports_and_broadcasts_at_once_has_reported(begun):
    """A-79."""
    brief, own = begun().brief, begun().brief.toolset
    own = replace(own, exits=(*own.exits, leads_broadcast("bob")), last_exits=own.exits)
    brief = replace(brief, toolset=own)
    report = ToolCall("b", FINAL_REPORT, {"report_format": "text", "report_content": "done"})
    step = decide(folded(brief, [START, *answered(SAY, report)]), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.report.content == "done"


def test_in_its_last_turn_a_lead_can_only_report(begun):
    """A-80."""
    brief, own = begun().brief, begun().brief.toolset
    own = replace(own, exits=(*own.exits, leads_broadcast("bob")), last_exits=own.exits)
    brief = replace(brief, toolset=own)
    step = decide(folded(brief, [START, *answered(SAY, final=True)]), FREELY)

    assert isinstance(step, Refuse)
    assert "offered are agent__final_report" in step.refusals[0][2].reason
