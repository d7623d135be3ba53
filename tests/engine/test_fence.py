"""A process that may have been stopped for its lease makes no call before it knows that the run is still its own."""

import pytest

from folkmoot import FakeClock, MemoryJournal, tool
from folkmoot.domain.events import ToolStarted
from folkmoot.errors import StaleOwner
from folkmoot.ports import Query

LEASE = 30.0


class WoundClock(FakeClock):
    """Each of its clocks can be put forward alone, as a suspended machine or a paused virtual one has them."""

    boot = wall = 0.0

    def readings(self):
        boot, wall = super().readings()
        return boot + self.boot, wall + self.wall


class StoppingJournal(MemoryJournal):
    """Its owner stands still after the intent of a call is durable: `stop` says what happens meanwhile."""

    renewals = 0

    def append(self, stream, expected, drafts):
        done = super().append(stream, expected, drafts)
        if any(isinstance(draft.event, ToolStarted) for draft in drafts):
            self.stop(stream)
        return done

    def rob(self, run):
        ((owner,),) = self._reader._select("SELECT owner FROM stream WHERE name = ?", run)
        self._submit(lambda ledger: ledger.claim(run, ("another", owner), LEASE))

    async def renew(self, claims, lease):
        self.renewals += len(claims)
        return await super().renew(claims, lease)


@pytest.fixture
def sent():
    return []


@pytest.fixture
def at(desk, sent):
    def of(effect):
        @tool(effect=effect, access="write")
        async def act() -> str:
            """Act."""
            sent.append(effect)
            return "done"

        call = {"calls": [{"tool": "act", "arguments": {}}]}
        made = desk({"a": "tools: [act]"}, {"a": [call, "ok"]}, tools=[act])
        made.clock = WoundClock()
        made.journal = StoppingJournal(made.clock.monotonic)
        return made

    return of


@pytest.mark.parametrize("effect", ["once", "keyed"])
@pytest.mark.parametrize("clock", ["boot", "wall"])
async def test_who_was_stopped_between_intent_and_call_and_robbed_meanwhile_does_not_call(
    at, sent, effect, clock
):
    """K-7: whichever clock saw the time go by."""
    at = at(effect)

    def stop(run):
        setattr(at.clock, clock, LEASE)
        at.journal.rob(run)

    at.journal.stop = stop
    async with at.open() as moot:
        with pytest.raises(StaleOwner, match="gave no sign of life for its lease"):
            await moot.run("a", "hi")

    assert sent == []
    types = [entry.event.type async for entry in at.journal.read(Query())]
    assert types[-1] == "tool.started"


async def test_who_was_stopped_and_not_robbed_renews_its_claim_and_calls(at, sent):
    """K-7."""
    at = at("once")
    at.journal.stop = lambda run: setattr(at.clock, "boot", 10 * LEASE)

    played = await at.run("a")

    assert (played.result.status, sent, at.journal.renewals) == ("completed", ["once"], 1)


async def test_a_pure_call_and_one_within_the_lease_need_no_renewal(at, sent):
    for effect, passed in (("pure", 10 * LEASE), ("once", LEASE - 1)):
        each = at(effect)
        each.journal.stop = lambda run, each=each, passed=passed: setattr(each.clock, "boot", passed)
        await each.run("a")
        assert each.journal.renewals == 0

    assert sent == ["pure", "once"]
