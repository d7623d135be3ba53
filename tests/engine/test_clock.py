"""The clock that tests turn by hand, and what a clock that is set changes."""

import asyncio

from folkmoot import FakeClock, ScriptedModel
from folkmoot.domain.duration import later
from tests.desk import SETTINGS
from tests.fakes import fake


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


class SetClock(FakeClock):
    """Its time of day can be set; its monotonic time cannot."""

    ahead = 0.0

    def now(self):
        return later(super().now(), self.ahead)


async def test_a_clock_that_is_set_ends_no_time_limit_of_what_is_under_way(desk):
    """docs/contract.md: a day forward while the model thinks, and the run has most of its minute left."""
    script = {"desk": [{"delay": "10s", "text": "in time"}]}
    at = desk({"desk": "llmTimeout: 30s"}, script, settings=SETTINGS + "budget: {wall: 1m}\n")
    at.clock = SetClock()
    at.model = ScriptedModel(script, sleep=at.clock.sleep)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello"))
        await at.clock.advance(5)
        at.clock.ahead = 86_400.0
        await at.clock.advance(5)
        played = await at.played(await running)

    assert played.report == "in time"


pay = fake("pay(to)", "paid {to}", access="write", asks="medium")


async def test_an_approval_expires_by_the_time_of_day(desk):
    """docs/contract.md: nobody runs while it waits, so no other clock can tell."""
    script = {"desk": [{"calls": [{"tool": "pay", "arguments": {"to": "x"}}]}, "ok"]}
    settings = SETTINGS + "approvals: {expires: 10m}\n"
    at = desk({"desk": "tools: [pay]"}, script, tools=[pay], settings=settings)
    at.clock = SetClock()
    async with at.open() as moot:
        waiting = await moot.run("desk", "hello")
        at.clock.ahead = 3_600.0
        ended = await moot.resume("run-1")

    assert (waiting.status, ended.status) == ("waiting", "completed")
    assert "approval_expired" in at.model.heard[-1].messages[-1].text
