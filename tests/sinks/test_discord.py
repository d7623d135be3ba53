"""Events in a Discord channel, as its webhook gets them."""

import asyncio

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import RunStarted, SystemError, ToolStarted
from folkmoot.domain.plan import PlanRejected, StepCompleted
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.sinking import read_sink_state
from folkmoot.errors import SinkFailed
from folkmoot.sinks.discord import DiscordSink, embed
from tests.sinks.receiver import Answer, Receiver, feeding, happen, nobody, noted, steps

DISCORD = SinkSettings("discord", url_env="HOOK")


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def clock():
    return FakeClock()


async def test_each_family_of_events_has_its_colour_and_trouble_is_red(journal, clock):
    """E-64: a local webhook receives POST with colours per type."""
    entries = await happen(
        journal,
        *steps(1, 1),
        StepCompleted("plan_1", "s1", success=True),
        HandoffRequested("chain", "a.ai", "b.ai"),
        PlanRejected(("no steps",)),
    )
    async with Receiver() as receiver:
        sink = DiscordSink(receiver.url, clock)
        await sink.deliver(entries, "")
        await sink.close()
        came = await receiver.next()

    assert (came.method, came.path) == ("POST", "/hook/token")
    assert came.titles == ["step.started", "step.completed", "handoff.requested", "plan.rejected"]
    step, done, handoff, rejected = (embed["color"] for embed in came.json["embeds"])
    assert step == done
    assert len({step, handoff, rejected}) == 3
    assert rejected == 0xE74C3C


async def test_an_event_names_its_agent_its_data_and_its_id(journal, clock):
    (entry,) = await happen(journal, *steps(1, 1))
    async with Receiver() as receiver:
        sink = DiscordSink(receiver.url, clock)
        await sink.deliver([entry], "")
        await sink.close()
        (embed,) = (await receiver.next()).json["embeds"]

    fields = {field["name"]: field["value"] for field in embed["fields"]}
    assert fields == {"agentId": "coder", "runId": "work_1", "plan": "plan_1", "step": "s1"}
    assert embed["footer"]["text"] == f"{entry.seq} · {entry.id}"
    assert embed["timestamp"] == entry.draft.ts


def test_a_card_has_no_more_than_discord_takes_and_never_the_seed_of_a_run():
    """5.1: at most 25 fields; the seed is what the randomness of a run comes from."""
    many = ToolStarted(1, 1, "t", {}, "once", "exec", "key", "allowed")
    started = RunStarted("a.ai", "Help me.", "c0ffee", "a seed nobody knows")

    for event in (many, started):
        fields = embed(Entry(1, 1, "0" * 64, "0" * 64, "run-1", Draft("2026-01-01T00:00:00.000Z", event)))[
            "fields"
        ]
        assert len(fields) <= 25
        assert all(field["value"] for field in fields)
        assert not {"seed", "graph", "tools"} & {field["name"] for field in fields}


async def test_nobody_is_called_by_what_an_agent_wrote(journal, clock):
    """5.1: mentions are neutralised, in the text and by Discord itself."""
    words = "@everyone look, <@1234> and <@&99> and @here"
    entries = await happen(journal, PlanRejected((words,)))
    async with Receiver() as receiver:
        sink = DiscordSink(receiver.url, clock)
        await sink.deliver(entries, "")
        await sink.close()
        came = await receiver.next()

    assert came.json["allowed_mentions"] == {"parse": []}
    text = came.raw.decode()
    assert not any(mention in text for mention in ("@everyone", "@here", "<@1234>", "<@&99>"))


async def test_what_is_too_long_for_discord_is_cut(journal, clock):
    """5.1: at most 10 embeds and 25 fields, values cut to 256, and no message over 6000 characters."""
    many = [PlanRejected(tuple(f"problem {number}" * 20 for number in range(40)))] * 10
    entries = await happen(journal, *many)
    async with Receiver() as receiver:
        sink = DiscordSink(receiver.url, clock)
        await sink.deliver(entries, "")
        await sink.close()
        embeds = (await receiver.next()).json["embeds"]

    fields = [field for embed in embeds for field in embed["fields"]]
    assert len(embeds) == 10
    assert max(len(field["value"]) for field in fields) == 256
    assert all(len(embed["fields"]) <= 25 for embed in embeds)
    words = sum(len(field["name"]) + len(field["value"]) for field in fields)
    assert words + sum(len(embed["title"]) + len(embed["footer"]["text"]) for embed in embeds) <= 6000


async def test_events_within_the_window_go_together_and_the_tenth_at_once(journal, clock):
    """E-65: 3 events within 5 s → 1 POST; the 10th event flushes at once."""
    async with Receiver() as receiver, feeding(journal, clock, DiscordSink(receiver.url, clock), DISCORD):
        for number in (1, 2, 3):
            await happen(journal, *steps(number, number))
            await clock.advance(1)
        assert receiver.waiting == 0
        await clock.advance(3)
        assert len((await receiver.next()).titles) == 3
        await noted(journal, "sink.moved")

        await happen(journal, *steps(4, 13))
        assert len((await receiver.next()).titles) == 10
    assert len(receiver.received) == 2


async def test_only_the_events_that_were_asked_for_are_sent(journal, clock):
    """E-65: the event filter works; by default it is how agents work together."""
    await happen(journal, *steps(1, 1), SystemError("broken"), PlanRejected(("none",)))
    async with Receiver() as receiver:
        for settings, titles in (
            (DISCORD, ["step.started", "plan.rejected"]),
            (SinkSettings("discord", events=("system.*", "plan.*")), ["system.error", "plan.rejected"]),
            (SinkSettings("discord", events=("*",)), ["step.started", "system.error", "plan.rejected"]),
            (SinkSettings("discord", events=("*",), roles=("system.observability",)), ["system.error"]),
        ):
            name = f"sink {titles}"
            await feeding(journal, clock, DiscordSink(receiver.url, clock), settings, name).once()
            assert (await receiver.next()).titles == titles


async def test_events_of_an_agent_go_to_its_own_sink(journal, clock):
    """E-59: events of agent A go to A's sink."""
    await happen(journal, *steps(1, 2), agent="coder")
    await happen(journal, *steps(3, 3), agent="tester", stream="work_2")
    async with Receiver() as coder, Receiver() as tester:
        for receiver, agent in ((coder, "coder"), (tester, "tester")):
            settings = SinkSettings("discord", agents=(agent,))
            await feeding(journal, clock, DiscordSink(receiver.url, clock), settings, agent).once()

        told = [
            [
                field["value"]
                for embed in came.json["embeds"]
                for field in embed["fields"]
                if field["name"] == "step"
            ]
            for came in (await coder.next(), await tester.next())
        ]
    assert told == [["s1", "s2"], ["s3"]]


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Answer(429, '{"retry_after": 1.5, "global": false}', {"Retry-After": "2"}), 1.5),
        (Answer(429, "slow down", {"Retry-After": "3"}), 3.0),
        (Answer(429, "slow down", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), 5.0),
        (Answer(429), 5.0),
    ],
)
async def test_whoever_is_asked_too_often_is_left_alone_as_long_as_it_says(journal, clock, answer, seconds):
    """E-66: 429 with retry-after 1 → retried after ≥ 1 s."""
    await happen(journal, *steps(1, 10))
    asleep = Asleep(clock)
    async with (
        Receiver(answer) as receiver,
        feeding(journal, asleep, DiscordSink(receiver.url, asleep), DISCORD),
    ):
        await receiver.next()
        await asleep.until(seconds)
        assert receiver.waiting == 0
        await clock.advance(seconds)
        assert len((await receiver.next()).titles) == 10
        await noted(journal, "sink.moved")


async def test_a_sink_that_is_down_is_told_of_once_and_gets_everything_when_it_is_back(journal, clock):
    """E-5, U-8: the failure is an event of system.observability; nothing is lost."""
    await happen(journal, *steps(1, 10))
    asleep = Asleep(clock)
    async with Receiver(*[Answer(503)] * 7) as receiver:
        async with feeding(journal, asleep, DiscordSink(receiver.url, asleep), DISCORD):
            for pause in (1, 2, 4, 8, 16, 32, 60):
                await receiver.next()
                await asleep.until(pause)
                await clock.advance(pause)
            assert len((await receiver.next()).titles) == 10
            await noted(journal, "sink.moved")
        failures = await noted(journal, "milestone.sync_failed")

    assert [failure.error for failure in failures] == ["127.0.0.1 answered 503"]
    assert (await read_sink_state(journal, "chat")).failed == ""


async def test_stopping_sends_what_has_come_in(journal, clock):
    """5.1: stop() flushes."""
    async with Receiver() as receiver:
        async with feeding(journal, clock, DiscordSink(receiver.url, clock), DISCORD):
            await happen(journal, *steps(1, 2))
            await clock.advance(1)
            assert receiver.waiting == 0

        assert len((await receiver.next()).titles) == 2
    assert (await read_sink_state(journal, "chat")).seq == 2


async def test_a_request_that_nobody_answers_ends_after_its_time(journal, clock):
    entries = await happen(journal, *steps(1, 1))
    never = asyncio.Event()
    async with Receiver(Answer(after=never)) as receiver:
        sink = DiscordSink(receiver.url, clock)
        delivering = asyncio.ensure_future(sink.deliver(entries, ""))
        await receiver.next()
        await clock.advance(30)
        with pytest.raises(SinkFailed, match=r"^127.0.0.1 did not answer within 30 s$"):
            await delivering
        await sink.close()
        never.set()


async def test_nothing_is_followed_to_another_address(journal, clock):
    entries = await happen(journal, *steps(1, 1))
    async with (
        Receiver() as elsewhere,
        Receiver(Answer(307, headers={"Location": elsewhere.url})) as receiver,
    ):
        sink = DiscordSink(receiver.url, clock)
        with pytest.raises(SinkFailed, match="answered 307"):
            await sink.deliver(entries, "")
        await sink.close()
        assert elsewhere.waiting == 0


async def test_an_address_that_is_a_secret_stands_in_no_error(journal, clock):
    entries = await happen(journal, *steps(1, 1))
    with nobody() as url:
        sink = DiscordSink(url, clock)

        with pytest.raises(SinkFailed, match=r"^127.0.0.1 could not be reached \(Connection refused\)$"):
            await sink.deliver(entries, "")
        await sink.close()


class Asleep:
    """A clock that knows what is waited for, so that a test goes on only when somebody waits."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._pauses: asyncio.Queue[float] = asyncio.Queue()
        self.now, self.monotonic, self.sleep = clock.now, clock.monotonic, clock.sleep

    async def within(self, seconds, work):
        self._pauses.put_nowait(seconds)
        return await self._clock.within(seconds, work)

    async def until(self, seconds: float) -> None:
        """Return when somebody waits for so long, and nobody before it for longer than a request may take."""
        async with asyncio.timeout(60):
            while (pause := await self._pauses.get()) != seconds:
                assert pause in (5.0, 30.0), pause
