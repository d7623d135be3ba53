"""One ledger for the whole tree."""

import pytest

from folkmoot.domain.budget import LEAST_OUTPUT, Allowance, Budget, Limits
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionStarted,
)
from folkmoot.domain.message import Message, Usage
from folkmoot.engine.clock import FakeClock
from folkmoot.orchestration.ledger import BudgetLedger

REQUEST = LlmRequest(1, 1, "p/m", 100, 1000, 0.5)


def answered(tokens_in, tokens_out, cost):
    return LlmResponse(1, 1, "p/m", Message("assistant", "x"), Usage(tokens_in, tokens_out), cost)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def ledger(clock):
    return BudgetLedger(Limits(call_depth=2, children_per_parent=2), clock)


def test_without_a_budget_everything_is_allowed(ledger):
    assert ledger.allowance("0/advisor:x") == Allowance()


def test_a_request_counts_with_its_worst_case_until_its_answer_is_recorded(ledger):
    ledger.open("0", Budget(tokens=3000, usd=2.0), "'desk'")
    ledger.fold("0", REQUEST)

    allowance = ledger.allowance("0")
    assert (allowance.tokens.left, allowance.usd.left) == (2000, 1.5)
    ledger.fold("0", answered(10, 5, 0.25))
    allowance = ledger.allowance("0")
    assert (allowance.tokens.left, allowance.usd.left) == (2985, 1.75)


def test_a_failed_attempt_counts_as_a_request_and_gives_its_reservation_back(ledger):
    ledger.open("0", Budget(tokens=3000, requests=2), "'desk'")
    ledger.fold("0", REQUEST)
    ledger.fold("0", LlmFailed(1, 1, "p/m", "no", True))

    allowance = ledger.allowance("0")
    assert (allowance.tokens.left, allowance.requests.left) == (3000, 1)


def test_children_leave_the_last_request_to_the_root_and_those_in_its_place_do_not(ledger):
    """O-33."""
    ledger.open("0", Budget(requests=5), "'desk'")
    ledger.fold("0", REQUEST)

    assert ledger.allowance("0").requests.left == 4
    assert ledger.allowance("0/turn:1/call:1").requests.left == 3
    assert ledger.allowance("0/advisor:law").requests.left == 3
    assert ledger.allowance("0/route:bill/handoff:ed").requests.left == 4


def test_a_childs_budget_is_a_part_of_its_parents_and_the_narrower_one_is_named(ledger):
    ledger.open("0", Budget(tokens=3000), "'desk'")
    ledger.open("0/advisor:law", Budget(tokens=5000), "'law'")
    ledger.fold("0/advisor:law", REQUEST)

    room = ledger.allowance("0/advisor:law").tokens
    assert (room.left, room.limit) == (2000 - 2 * LEAST_OUTPUT, "3000 tokens of 'desk'")
    assert ledger.allowance("0").tokens.left == 2000


def test_what_a_sibling_spends_is_not_charged_to_a_childs_own_budget(ledger):
    ledger.open("0/advisor:law", Budget(tokens=5000), "'law'")
    ledger.fold("0/advisor:tax", REQUEST)

    assert ledger.allowance("0/advisor:law").tokens.left == 5000


async def test_wall_time_runs_from_the_start_also_over_a_restart(ledger, clock):
    ledger.open("0", Budget(wall=60.0), "'desk'", since="2025-12-31T23:59:50.000Z")
    await clock.advance(20)

    assert ledger.allowance("0").seconds.left == 30.0


def test_calls_are_bounded_in_depth_and_number(ledger):
    assert ledger.admit("0/turn:1/call:1") == ""
    assert "limits.callDepth" in ledger.admit("0/turn:1/call:1/turn:1/call:1")
    assert ledger.admit("0/turn:2/call:1") == ""
    assert "limits.childrenPerParent" in ledger.admit("0/turn:2/call:2")


def test_descendants_are_counted_once_however_often_a_span_is_taken_up(ledger):
    ledger.open("0", Budget(descendants=1), "'desk'")
    ledger.fold("0/advisor:law", SessionStarted("law.ai", "hi", parent="r"))

    assert ledger.admit("0/advisor:law") == ""
    assert ledger.admit("0/advisor:tax") == "1 descendants of 'desk'"


def test_a_member_counts_once_over_all_its_cycles_and_a_lead_stands_for_its_team(ledger):
    """A-81."""
    ledger.open("0", Budget(descendants=2, requests=2), "'team'")
    for span in ("0/member:a", "0/member:a/cycle:1", "0/member:a/cycle:2", "0/lead/cycle:1"):
        ledger.fold(span, SessionStarted("a.ai", "x"))

    assert ledger.admit("0/member:b") == ""
    assert "2 descendants" in ledger.admit("0/member:c")
    assert ledger.allowance("0/lead/cycle:2").requests.left == 2
    assert ledger.allowance("0/member:a/cycle:2").requests.left == 1
