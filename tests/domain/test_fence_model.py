"""Every interleaving of claims, renewals, lost answers, stops, takeovers and words of a person, for one `once` call."""

import pytest

from folkmoot.domain.fence import Sign, may_take_over
from tests.domain.fence_model import DELAY, TICK, Rules, explore


def test_in_no_interleaving_does_the_call_arrive_twice():
    """C3, K-7: nor may two processes call at once, nor one whose intent is not durable or void."""
    found = explore()

    print(f"{found.states} states")
    assert (found.fault, found.way) == ("", ())
    assert found.states > 10_000


def blind_to_renewals(sign, seen, watched):
    return may_take_over(sign, seen and Sign(seen.owner, seen.epoch, sign.renewal, seen.lease), watched)


OMISSIONS = {
    "epoch": (
        Rules(settle_uncertain=lambda found, epoch, now: "written" if found else "again"),
        "a process acts on an entry of a run that it has lost",
    ),
    "renewal": (Rules(may_take_over=blind_to_renewals), "two processes may call at once"),
    "lookup": (
        Rules(settle_uncertain=lambda found, epoch, now: "written"),
        "a call is made whose intent is not durable",
    ),
    "retry delay": (Rules(retry_delay=lambda lease, timeout: 0.0), "the call arrived twice"),
    "check before the call": (Rules(may_call=lambda boot, wall, lease: True), "the call arrived twice"),
    "lease": (
        Rules(may_take_over=lambda sign, seen, watched: sign == seen),
        "two processes may call at once",
    ),
}


@pytest.mark.parametrize("omitted", OMISSIONS)
def test_each_rule_that_is_left_out_is_found(omitted):
    """K-7, K-8: with the shortest way to the fault."""
    rules, fault = OMISSIONS[omitted]

    found = explore(rules)

    print(f"{found.states} states; {'; '.join(found.way)}")
    assert found.fault == fault


def test_a_call_that_stays_away_for_longer_than_the_window_can_arrive_twice():
    """K-7: what docs/contract.md says remains, and no more: a tick longer is too long."""
    assert explore(Rules(window=DELAY + TICK)).fault == "the call arrived twice"
