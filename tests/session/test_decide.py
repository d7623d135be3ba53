"""From what happened to the next step, as tables."""

import msgspec
import pytest

from folkmoot.domain.agent import Output
from folkmoot.domain.budget import LEAST_OUTPUT, Allowance, Room
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
)
from folkmoot.domain.events import ToolStarted as Started
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalRequested
from folkmoot.domain.message import Message, ToolCall, ToolSpec, Usage, fingerprint
from folkmoot.domain.report import FINAL_REPORT, ROUTE, Report, Selection
from folkmoot.session.calls import verdict
from folkmoot.session.decide import decide
from folkmoot.session.exits import Refusal
from folkmoot.session.state import evolve
from folkmoot.session.steps import Ask, Call, Consult, Exceed, Finish, Refuse
from tests.session.conftest import LOOK, SEND

START = SessionStarted("ann.ai", "hello")
FREELY = Allowance()


def asked(turn=1, attempt=1, model="p/first", *, final=False):
    return LlmRequest(turn, attempt, model, 4096, 5000, final=final)


def said(text="", *calls, turn=1):
    message = Message("assistant", text, calls)
    return LlmResponse(turn, 1, "p/first", message, Usage(100, 20))


def failed(attempt, model="p/first", *, retryable=True, retry_after=None):
    return LlmFailed(1, attempt, model, "overloaded", retryable, retry_after)


def call(tool, **arguments):
    return ToolCall(tool, tool, arguments)


def report(text="done"):
    return call(FINAL_REPORT, report_format="text", report_content=text)


def started(position, tool="look", effect="pure"):
    return Started(1, position, tool, {}, effect, "read", "key", "allowed")


def after(state, *events):
    for event in events:
        state = evolve(state, event)
    return state


def test_a_session_that_began_asks_the_first_model(begun):
    step = decide(after(begun(), START), FREELY)

    assert isinstance(step, Ask)
    assert (step.choice.model, step.event.turn, step.event.attempt, step.event.final, step.delay) == (
        "first",
        1,
        1,
        False,
        0.0,
    )


def test_calls_of_one_answer_are_made_together(begun):
    step = decide(after(begun(), START, asked(), said("", call("look"), call("look"))), FREELY)

    assert isinstance(step, Call)
    assert [position for position, _, _ in step.calls] == [1, 2]


def test_a_report_ends_the_session(begun):
    step = decide(after(begun(), START, asked(), said("", report())), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.report == Report(content="done")
    assert not step.outcome.failed


def test_calls_beside_a_report_are_made_before_it_takes_effect(begun):
    state = after(begun(), START, asked(), said("", report(), call("look")))

    assert isinstance(decide(state, FREELY), Call)
    done = after(state, started(2), ToolFinished(1, 2, "look", "a tree", "ev_1"))
    assert isinstance(decide(done, FREELY), Finish)


def test_plain_text_is_adopted_as_the_report(begun):
    """X-17."""
    step = decide(after(begun(), START, asked(), said("just text")), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.report.content == "just text"


def test_an_empty_answer_is_told_to_the_model_and_uses_up_a_turn(begun):
    state = after(begun(), START, asked(), said("  "))
    step = decide(state, FREELY)

    assert isinstance(step, Ask)
    assert step.event.turn == 2
    assert state.messages[-1].role == "user"
    assert state.messages[-1].text == "your answer was empty: give it in plain words, or call a tool"


def test_an_empty_report_is_refused_and_the_session_goes_on(begun):
    step = decide(after(begun(), START, asked(), said("", report("  "))), FREELY)

    assert isinstance(step, Refuse)
    assert step.refusals[0][2].reason == "report_content is empty"


def test_a_selection_wins_over_a_report_in_the_same_answer(begun):
    """O-14."""
    chosen = call(ROUTE, agent="bob", message=" hi ")
    step = decide(after(begun(router=True), START, asked(), said("", report(), chosen)), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.exit == ROUTE
    assert step.outcome.selection == Selection("bob", "hi")


@pytest.mark.parametrize("arguments", [{"agent": "eve"}, {"agent": "bob", "more": 1}, {}, {"agent": 3}])
def test_a_wrong_selection_is_refused_and_nothing_is_routed(begun, arguments):
    """A-52, A-59."""
    step = decide(after(begun(router=True), START, asked(), said("", call(ROUTE, **arguments))), FREELY)

    assert isinstance(step, Refuse)


def test_only_the_exits_are_offered_on_the_last_turn(begun):
    """A-54."""
    step = decide(after(begun(router=True, max_turns=1), START), FREELY)

    assert isinstance(step, Ask)
    assert step.event.final
    assert [spec.name for spec in step.tools] == [FINAL_REPORT, ROUTE]


def test_a_session_without_a_report_on_its_last_turn_ends_with_a_synthetic_one(begun):
    state = after(
        begun(max_turns=1), START, asked(final=True), said("", call("look")), ToolFailed(1, 1, "look", "no")
    )
    step = decide(state, FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.failed
    assert step.outcome.stop_reason == "MAX_TURNS"
    assert step.outcome.report.metadata == {"reason": "max_turns_exhausted"}


def test_tools_called_on_the_last_turn_are_refused(begun):
    step = decide(after(begun(max_turns=1), START, asked(final=True), said("", call("look"))), FREELY)

    assert isinstance(step, Refuse)
    assert "there is no tool 'look' in this turn" in step.refusals[0][2].reason


def test_calls_above_the_limit_are_refused_and_the_others_are_made(begun):
    state = after(
        begun(max_tool_calls_per_turn=1), START, asked(), said("", call("look"), call("look"), call("look"))
    )
    step = decide(state, FREELY)

    assert isinstance(step, Refuse)
    assert [position for position, _, _ in step.refusals] == [2, 3]
    refused = after(state, ToolFailed(1, 2, "look", "no"), ToolFailed(1, 3, "look", "no"))
    assert isinstance(decide(refused, FREELY), Call)


def test_results_reach_the_model_in_the_order_of_the_calls_whatever_came_first(begun):
    state = after(
        begun(),
        START,
        asked(),
        said("", ToolCall("a", "look"), ToolCall("b", "look")),
        ToolFinished(1, 2, "look", "second", "ev_2"),
        ToolFinished(1, 1, "look", "first", "ev_1"),
    )

    assert [(m.answers, m.text) for m in state.messages[-2:]] == [("a", "first"), ("b", "second")]


def test_the_next_model_is_asked_at_once_when_one_fails(begun):
    step = decide(after(begun(), START, asked(), failed(1)), FREELY)

    assert isinstance(step, Ask)
    assert (step.choice.model, step.event.turn, step.event.attempt, step.delay) == ("second", 1, 2, 0.0)


def test_a_model_that_is_asked_again_gets_a_pause_drawn_from_the_seed(begun):
    state = after(begun(), START, asked(), failed(1), asked(1, 2, "p/second"), failed(2, "p/second"))
    step = decide(state, FREELY)

    assert isinstance(step, Ask)
    assert step.choice.model == "first"
    assert 0.25 <= step.delay <= 0.75
    assert step == decide(state, FREELY)


def test_a_pause_is_at_least_what_the_provider_asked_for(begun):
    state = after(begun(models=begun().brief.agent.models[:1]), START, asked(), failed(1, retry_after=7.0))
    step = decide(state, FREELY)

    assert isinstance(step, Ask)
    assert step.delay == 7.0


@pytest.mark.parametrize("failure", [failed(1, retryable=False), failed(1, retry_after=86_400.0)])
def test_a_model_that_failed_for_good_is_not_asked_again_in_this_turn(begun, failure):
    state = after(begun(), START, asked(), failure, asked(1, 2, "p/second"), failed(2, "p/second"))
    step = decide(state, FREELY)

    assert isinstance(step, Ask)
    assert step.choice.model == "second"


def test_a_session_fails_when_its_attempts_are_used_up(begun):
    state = after(
        begun(max_retries=2), START, asked(), failed(1), asked(1, 2, "p/second"), failed(2, "p/second")
    )
    step = decide(state, FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.error == "no model answered after 2 attempts; the last: overloaded"


def test_a_session_fails_at_once_when_no_model_is_left(begun):
    state = after(begun(models=begun().brief.agent.models[:1]), START, asked(), failed(1, retryable=False))

    assert isinstance(decide(state, FREELY), Finish)


@pytest.mark.parametrize(
    ("allowance", "limit"),
    [
        (Allowance(requests=Room(0, "r")), "r"),
        (Allowance(tokens=Room(LEAST_OUTPUT, "t")), "t"),
        (Allowance(usd=Room(0.0001, "u")), "u"),
        (Allowance(seconds=Room(0.0, "s")), "s"),
    ],
)
def test_a_budget_that_does_not_reach_stops_the_request_before_it_is_sent(begun, allowance, limit):
    assert decide(after(begun(), START), allowance) == Exceed(limit)


def test_the_output_asked_for_is_lowered_to_what_the_budget_leaves(begun):
    step = decide(after(begun(), START), Allowance(tokens=Room(1000, "t")))

    assert isinstance(step, Ask)
    assert step.event.reserved_tokens == 1000
    assert LEAST_OUTPUT <= step.event.max_output < 1000


def test_the_last_request_of_a_budget_is_a_final_one(begun):
    """O-33."""
    step = decide(after(begun(), START), Allowance(requests=Room(1, "r")))

    assert isinstance(step, Ask)
    assert step.event.final


def test_a_request_whose_answer_was_never_recorded_is_made_again_as_it_was(begun):
    step = decide(after(begun(), START, asked(attempt=2, model="p/second")), FREELY)

    assert isinstance(step, Ask)
    assert (step.choice.model, step.event.attempt, step.event.reserved_tokens) == ("second", 2, 5000)


def test_a_pure_call_without_an_outcome_is_made_again_and_a_once_call_is_in_doubt(begun):
    state = after(begun(), START, asked(), said("", call("look"), call("send")))
    state = after(state, started(1), started(2, "send", "once"))

    step = decide(state, FREELY)
    assert isinstance(step, Consult)
    assert [position for position, _ in step.doubts] == [2]
    step = decide(after(state, ToolInDoubt(1, 2, "send", "doubt_1")), FREELY)
    assert isinstance(step, Call)
    assert [position for position, _, _ in step.calls] == [1, 2]


def test_a_conversation_that_outgrew_the_model_ends_with_a_context_failure(begun):
    big = SessionStarted("ann.ai", "x" * 120_000)
    step = decide(after(begun(), big), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.stop_reason == "CONTEXT"


def test_after_a_result_that_did_not_fit_the_next_turn_is_the_last(begun):
    full = ToolFailed(1, 1, "look", "(tool failed: context window budget exceeded)", overflow=True)
    state = after(begun(), START, asked(), said("", call("look")), full)

    step = decide(state, FREELY)
    assert isinstance(step, Ask)
    assert step.event.final
    ended = decide(after(state, asked(2, final=True), said("", turn=2)), FREELY)
    assert isinstance(ended, Finish)
    assert ended.outcome.stop_reason == "CONTEXT"


SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


def test_a_json_report_must_fit_its_schema(begun):
    state = begun(output=Output("json", SCHEMA), max_turns=1)
    wrong = call(FINAL_REPORT, report_format="json", content_json={"sum": "x"})
    step = decide(after(state, START, asked(final=True), said("", wrong)), FREELY)

    assert isinstance(step, Refuse)
    assert "$.sum" in step.refusals[0][2].reason
    refused = ToolFailed(1, 1, FINAL_REPORT, "no", broke_schema=True)
    ended = decide(after(state, START, asked(final=True), said("", wrong), refused), FREELY)
    assert isinstance(ended, Finish)
    assert ended.outcome.report.metadata == {"reason": "schema_violated"}


def test_json_given_as_plain_text_is_adopted_when_it_fits(begun):
    """X-17."""
    state = begun(output=Output("json", SCHEMA))
    step = decide(after(state, START, asked(), said('{"sum": 3}')), FREELY)

    assert isinstance(step, Finish)
    assert step.outcome.report.content_json == {"sum": 3}


def test_tools_that_come_and_go_are_offered_before_the_exits_and_reserved_for(begun):
    """A-94: not in the last turn, and again the same when the request is repeated after a crash."""
    passing = ToolSpec("passing", "Here for now.", {"type": "object"})
    state = evolve(begun(max_turns=2), START)
    plain, more = decide(state, FREELY), decide(state, FREELY, (passing,))

    assert [spec.name for spec in more.tools] == ["look", "send", "passing", FINAL_REPORT]
    assert more.event.reserved_tokens > plain.event.reserved_tokens
    repeated = decide(evolve(state, asked()), FREELY, (passing,))
    assert repeated.tools == more.tools
    last = decide(evolve(evolve(state, asked()), said("")), FREELY, (passing,))
    assert [spec.name for spec in last.tools] == [FINAL_REPORT]


def test_a_call_that_asks_is_put_before_someone_and_waits_beside_the_others(begun):
    """B-34."""
    state = begun()
    risky = msgspec.structs.replace(SEND, asks="high")
    own = msgspec.structs.replace(state.brief.toolset, tools=(LOOK, risky))
    state = msgspec.structs.replace(state, brief=msgspec.structs.replace(state.brief, toolset=own))
    broken = msgspec.structs.replace(call("send"), malformed="{")
    state = after(state, START, asked(), said("", call("look"), call("send"), broken))

    refused = decide(state, FREELY)
    assert isinstance(refused, Refuse)
    assert [position for position, _, _ in refused.refusals] == [3]
    state = after(state, ToolFailed(1, 3, "send", "no"))
    step = decide(state, FREELY)
    assert isinstance(step, Consult)
    assert [position for position, _, _ in step.approvals] == [2]
    requested = ApprovalRequested("ap_1", 1, 2, "send", {}, fingerprint(call("send")), "high")
    step = decide(after(state, requested), FREELY)
    assert isinstance(step, Call)
    assert [position for position, _, _ in step.calls] == [1, 2]


def test_a_word_that_was_given_for_another_call_releases_nothing(begun):
    """O-17."""
    requested = ApprovalRequested("ap_1", 1, 1, "send", {}, "the hash of something else", "high")
    state = after(begun(), START, asked(), said("", call("send")), requested)

    assert verdict(state, 1, call("send")) is None
    judged = verdict(after(state, ApprovalApproved("ap_1", "ann")), 1, call("send"))
    assert isinstance(judged, Refusal)
    assert "another call" in judged.reason
