"""What was spent, folded entry by entry."""

import pytest

from folkmoot.domain.budget import Budget
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import LlmFailed, LlmRequest, LlmResponse, RunPruned, RunStarted
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.message import Message, Usage
from folkmoot.views.costs import Amount, Costs, Wanted, limits


def request(reserved=0.5):
    return LlmRequest(1, 1, "p/m", max_output=10, reserved_tokens=100, reserved_usd=reserved)


def answer(usd, model="p/m"):
    return LlmResponse(
        turn=1,
        attempt=1,
        model=model,
        message=Message("assistant", ""),
        usage=Usage(tokens_in=3, tokens_out=2),
        cost_usd=usd,
        latency_ms=1,
    )


def entries(*told):
    """Of (stream, day, agent, event)."""
    for seq, (stream, day, agent, event) in enumerate(told, start=1):
        draft = Draft(f"{day}T10:00:00.000Z", event, "s", "0", agent, f"ws_{stream}")
        yield Entry(seq, seq, "", "", stream, draft)


def booked(*told):
    book = Costs()
    for entry in entries(*told):
        book.fold(entry)
    return book


BOOK = booked(
    ("r1", "2026-03-01", "desk", answer(1.0)),
    ("r1", "2026-03-02", "clerk", answer(2.0, "p/big")),
    ("r2", "2026-03-02", "desk", answer(4.0)),
    ("r2", "2026-03-02", "desk", LlmFailed(1, 2, "p/m", "busy", retryable=True)),
)


@pytest.mark.parametrize(
    ("by", "shares"),
    [
        ("agent", [("desk", 5.0, 1.0), ("clerk", 2.0, 0.4)]),
        ("model", [("p/m", 5.0, 1.0), ("p/big", 2.0, 0.4)]),
        ("day", [("2026-03-02", 6.0, 1.0), ("2026-03-01", 1.0, pytest.approx(1 / 6))]),
    ],
)
def test_costs_are_summed_by_agent_model_and_day(by, shares):
    assert [(each.name, each.amount.usd, each.part) for each in BOOK.shares(Wanted(), by)] == shares


@pytest.mark.parametrize(
    ("wanted", "usd"),
    [
        (Wanted(), 7.0),
        (Wanted(work_session="ws_r1"), 3.0),
        (Wanted(run="r2"), 4.0),
        (Wanted(since="2026-03-02"), 6.0),
        (Wanted(until="2026-03-01"), 1.0),
        (Wanted(run="r1", since="2026-03-02", until="2026-03-02"), 2.0),
        (Wanted(run="nobody"), 0.0),
    ],
)
def test_costs_are_of_the_days_the_run_and_the_work_session_that_are_wanted(wanted, usd):
    assert BOOK.total(wanted).usd == usd


def test_a_failed_attempt_is_a_request():
    assert BOOK.total(Wanted(run="r2")) == Amount(requests=2, failed=1, tokens_in=3, tokens_out=2, usd=4.0)


def test_a_fork_does_not_pay_again_for_what_it_was_taken_from():
    book = booked(
        ("f", "2026-03-01", "a", answer(1.0)),
        ("f", "2026-03-01", "a", RunForked("r", 1)),
        ("f", "2026-03-01", "a", answer(2.0)),
    )

    assert book.total(Wanted()).usd == 2.0


def test_of_a_pruned_run_nothing_is_left():
    gone = RunPruned("a.ai", "completed", "2026-03-01", "2026-03-01")

    assert booked(("r", "2026-03-01", "a", answer(1.0)), ("r", "2026-03-01", "a", gone)).runs(Wanted()) == []


def test_what_is_left_counts_what_is_held_and_follows_the_tightest_limit():
    book = booked(
        ("r", "2026-03-01", "a", RunStarted("a.ai", "x", "1", "seed", "")),
        ("r", "2026-03-01", "a", answer(1.0)),
        ("r", "2026-03-01", "a", request(0.5)),
    )
    (run,) = book.runs(Wanted())

    found = {limit.name: limit for limit in limits(run, Budget(usd=10.0, tokens=1000), Budget(usd=2.0))}

    assert (found["usd"].most, found["usd"].used, found["usd"].held, found["usd"].left) == (
        2.0,
        1.0,
        0.5,
        0.5,
    )
    assert found["tokens"].left == 1000 - 5 - 100
    assert "requests" not in found
