"""Agents that would talk in circles are stopped, and told by which rule."""

import pytest

from folkmoot import FakeClock
from folkmoot.orchestration.other_runs import LoopGuard, SentMessage


def test_a_message_to_oneself_is_not_delivered():
    """E-69."""
    assert LoopGuard().objection(SentMessage("ann", "ann", 0.0)) == "self_message: ann writes to itself"


async def test_a_pair_has_ten_messages_a_minute_and_both_directions_count_together():
    """E-70: the 11th is blocked; after 60 s it is allowed."""
    clock, guard, sent = FakeClock(), LoopGuard(), []
    for number in range(10):
        message = SentMessage(*(("ann", "bob") if number % 2 else ("bob", "ann")), clock.monotonic())
        assert guard.objection(message, sent) == ""
        sent.append(message)
        await clock.advance(1)

    eleventh = SentMessage("ann", "bob", clock.monotonic())
    assert guard.objection(eleventh, sent) == "pair_window: 10 messages within 60 s; try again in 50 s"
    assert guard.objection(SentMessage("ann", "cid", clock.monotonic()), sent) == ""
    await clock.advance(50)
    assert guard.objection(SentMessage("ann", "bob", clock.monotonic()), sent) == ""


@pytest.mark.parametrize(("hops", "passes"), [(5, True), (6, False)])
def test_five_hops_pass_and_six_do_not(hops, passes):
    """E-71."""
    said = LoopGuard().objection(SentMessage("ann", "bob", 0.0, hops))

    assert said == ("" if passes else "hops: passed on 6 times; the most is 5")
