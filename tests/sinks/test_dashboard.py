"""The team on one page: one message, edited."""

import re

import pytest

from checks.files import ROOT
from folkmoot import FakeClock, MemoryJournal
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.outlets import build_team_reader
from folkmoot.engine.sinking import read_sink_state
from folkmoot.errors import SinkFailed
from folkmoot.ports import Query, Version
from folkmoot.sinks.discord import DashboardSink, TeamRow, board
from tests.docs.pages import blocks
from tests.sinks.receiver import Answer, Receiver, feeding, noted
from tests.watching import Post

DASHBOARD = SinkSettings("dashboard", url_env="HOOK")
POSTED = Answer(200, '{"id": "4711"}')


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def clock():
    return FakeClock()


class Team:
    """As it is now; whatever a member does is in the journal too."""

    def __init__(self, journal, clock) -> None:
        self._journal = journal
        self._clock = clock
        self._rows: dict[str, TeamRow] = {}

    async def rows(self):
        return list(self._rows.values())

    async def work(self, status, task="", failure="", agent="coder"):
        self._rows[agent] = TeamRow(agent, status, task, self._clock.now(), failure)
        run = f"run-{agent}"
        version = len([entry async for entry in self._journal.read(Query(stream=run))])
        draft = Draft(
            self._clock.now(), SessionStarted("coder.ai", task), session_id=run, span="0", agent_id=agent
        )
        await self._journal.append(run, Version(version), [draft])


@pytest.fixture
def team(journal, clock):
    return Team(journal, clock)


def dashboard(receiver, journal, clock, team):
    return feeding(journal, clock, DashboardSink(receiver.url, clock, team.rows), DASHBOARD, "team")


def fields(came):
    (page,) = came.json["embeds"]
    return {field["name"]: field["value"] for field in page["fields"]}


async def test_the_team_is_posted_once_and_the_same_message_is_edited_every_30_seconds(journal, clock, team):
    """E-72, E-73: first POST then PATCH of the same id; every 30 s, and only if something has changed."""
    async with Receiver(POSTED) as receiver, dashboard(receiver, journal, clock, team):
        await team.work("active", "Mend the gate")
        await clock.advance(29)
        assert receiver.waiting == 0
        await clock.advance(1)
        posted = await receiver.next()
        await noted(journal, "sink.moved")

        await team.work("idle")
        await clock.advance(29)
        assert receiver.waiting == 0
        await clock.advance(1)
        edited = await receiver.next()
        await noted(journal, "sink.moved", 2)
        await clock.advance(600)
    assert len(receiver.received) == 2

    assert (posted.method, posted.path) == ("POST", "/hook/token?wait=true")
    assert (edited.method, edited.path) == ("PATCH", "/hook/token/messages/4711")
    assert fields(posted) == {"🟢 coder": "Mend the gate\n<t:1767225600:R>"}
    assert fields(edited) == {"🟡 coder": "<t:1767225630:R>"}


async def test_after_a_restart_the_same_message_goes_on(journal, clock, team):
    """E-72: the id is kept in the journal."""
    async with Receiver(POSTED) as receiver:
        await team.work("active", "Mend the gate")
        await dashboard(receiver, journal, clock, team).once()
        await team.work("interrupted", failure="No key fits.")
        await dashboard(receiver, journal, clock, team).once()

    assert [came.method for came in receiver.received] == ["POST", "PATCH"]
    assert fields(receiver.received[1]) == {"🔴 coder": "<t:1767225600:R>\nfailed: No key fits."}
    assert (await read_sink_state(journal, "team")).kept == "4711"


async def test_a_message_that_somebody_deleted_is_made_again(journal, clock, team):
    """5.1: re-created when deleted."""
    async with Receiver(POSTED, Answer(404), Answer(200, '{"id": "4712"}'), Answer()) as receiver:
        for request in ("one", "two", "three"):
            await team.work("active", request)
            await dashboard(receiver, journal, clock, team).once()

    assert [(came.method, came.path) for came in receiver.received] == [
        ("POST", "/hook/token?wait=true"),
        ("PATCH", "/hook/token/messages/4711"),
        ("POST", "/hook/token?wait=true"),
        ("PATCH", "/hook/token/messages/4712"),
    ]


@pytest.mark.parametrize(
    ("answer", "kept", "words"),
    [
        (Answer(500), "4711", "127.0.0.1 answered 500"),
        (Answer(200, "{}"), "", "127.0.0.1 did not say what the message is called"),
    ],
)
async def test_a_page_that_could_not_be_shown_is_no_page(clock, answer, kept, words):
    async def rows():
        return [TeamRow("coder")]

    async with Receiver(answer) as receiver:
        sink = DashboardSink(receiver.url, clock, rows)
        with pytest.raises(SinkFailed, match=words):
            await sink.deliver([], kept)
        await sink.close()


async def test_what_did_not_change_is_not_sent_again(journal, clock):
    shown = [TeamRow("coder", "active", "Mend the gate")]

    async def rows():
        return shown

    async with Receiver(POSTED) as receiver:
        sink = DashboardSink(receiver.url, clock, rows)
        kept = await sink.deliver([], "")
        assert await sink.deliver([], kept) == "4711"
        await sink.close()
    assert len(receiver.received) == 1


def test_the_page_about_sinks_shows_a_team_as_it_is_told():
    """But for how long ago it was, which Discord says in its own words."""
    page = blocks((ROOT / "docs/sinks.md").read_text())
    (shown,) = (block.text for block in page if block.text.startswith("🟢"))
    then = "2026-01-01T00:00:00.000Z"
    team = [
        TeamRow("coder", "active", "Mend the gate", then),
        TeamRow("reviewer", "idle", "", then),
        TeamRow("tester", "interrupted", "", then, "No key fits."),
    ]

    told = [f"{field['name']} {field['value']}".replace("\n", " · ") for field in board(team)["fields"]]
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert [re.sub(r"\w+ \w+ ago", "<t:1767225600:R>", line) for line in lines] == told


def test_a_large_team_is_cut_to_what_one_message_takes():
    rows = [TeamRow(f"agent {number}", task="@everyone " + "x" * 500) for number in range(40)]
    fields = board(rows)["fields"]

    assert len(fields) == 25
    assert fields[-1] == {"name": "…", "value": "and 16 more"}
    assert all(len(field["value"]) <= 256 and "@everyone" not in field["value"] for field in fields)


async def test_the_rows_are_the_state_of_the_team(journal, clock):
    """U-3, E-51: one roster, wherever it is shown."""
    post = Post(journal, clock)
    await post.task("coder", "Mend the gate")
    post.crew.errors["tester"] = "No key fits."
    await post.crew.run("tester")

    rows = {row.agent: row for row in await build_team_reader(post.moot)()}

    assert set(rows) == {"boss", "coder", "ops", "tester"}
    assert rows["coder"].task == "Mend the gate"
    assert rows["tester"].failure == "No key fits."
