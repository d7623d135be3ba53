"""The clock that tests turn by hand."""

import asyncio

from folkmoot import FakeClock


async def test_who_is_due_at_one_moment_is_woken_in_the_order_in_which_they_lay_down():
    """Whatever their futures' addresses are: the same test goes the same way each time."""
    clock, woken = FakeClock(), []

    async def sleep(number):
        await clock.sleep(5)
        woken.append(number)

    sleeping = [asyncio.ensure_future(sleep(number)) for number in range(200)]
    await clock.advance(5)
    await asyncio.gather(*sleeping)

    assert woken == list(range(200))
