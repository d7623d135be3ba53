"""`folkmoot sinks`: sending on from the terminal, and over the death of the process that does it."""

import asyncio
import json

import pytest

from folkmoot import Folkmoot
from folkmoot.engine.workshop import open_journal
from folkmoot.ports import Query
from tests.cli.conftest import SETTINGS, ended, interrupted, soon, wait_for
from tests.sinks.receiver import Answer, Receiver, happen, steps

FILE = ".folkmoot/coordination-events.ndjson"
AGENTS = {"a": "handoff: b.ai", "b": "description: checks"}
SCRIPT = {"a": [{"report": "Done."}], "b": [{"report": "Checked."}]}


def write(folkmoot, sinks: str) -> None:
    folkmoot.write(AGENTS, SCRIPT, f"{SETTINGS}sinks:\n{sinks}")


def lines(folkmoot, file: str = FILE) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folkmoot.folder / file).read_text().splitlines()]


async def recorded(folkmoot, first: int, last: int) -> list[str]:
    """The ids of these many events, which happened in the project."""
    journal = open_journal(folkmoot.folder)
    try:
        await happen(journal, *steps(first, last))
        return [entry.id async for entry in journal.read(Query(types=("step.started",)))]
    finally:
        await journal.close()


def test_how_agents_worked_together_is_in_the_file_and_the_list_says_how_far_it_is(folkmoot):
    """E-48, O-10: `coordination-events.ndjson` holds the coordination of a run, as lines of an export."""
    write(folkmoot, "  log: {kind: ndjson}\n")
    assert folkmoot("run", "a.ai", "hello").code == 0
    before = folkmoot("sinks", "list", "--json").json

    assert folkmoot("sinks", "run", "--once").code == 0

    exported = folkmoot("log", "export").out.splitlines()
    written = (folkmoot.folder / FILE).read_text().splitlines()
    assert [json.loads(line)["type"] for line in written] == [
        "handoff.requested",
        "handoff.accepted",
        "handoff.completed",
    ]
    assert set(written) <= set(exported)
    assert before == [{"name": "log", "kind": "ndjson", "position": 0, "lag": 3, "error": None}]
    (after,) = folkmoot("sinks", "list", "--json").json
    assert (after["position"], after["lag"]) == (json.loads(written[-1])["seq"], 0)
    assert folkmoot("verify").code == 0
    assert "log   ndjson" in folkmoot("sinks", "list").out


def test_the_file_is_made_again_with_one_command_when_it_was_lost(folkmoot):
    """O-10: re-creatable with one command; editing it by hand changes nothing."""
    write(folkmoot, "  log: {kind: ndjson}\n")
    folkmoot("run", "a.ai", "hello")
    folkmoot("sinks", "run", "--once")
    before = (folkmoot.folder / FILE).read_bytes()
    (folkmoot.folder / FILE).unlink()

    moved = folkmoot("sinks", "move", "log", "--to", "start")
    folkmoot("sinks", "run", "--once")

    assert moved.err == "sink log goes on after entry 0\n"
    assert (folkmoot.folder / FILE).read_bytes() == before


def test_what_lies_behind_can_be_left_out(folkmoot):
    write(folkmoot, "  log: {kind: ndjson}\n")
    folkmoot("run", "a.ai", "hello")
    assert folkmoot("sinks", "move", "log", "--to", "end").code == 0

    assert folkmoot("sinks", "run", "--once").code == 0

    assert not (folkmoot.folder / FILE).exists()


@pytest.mark.parametrize(
    ("sinks", "command", "words"),
    [
        ("  {}\n", ("run",), "this project has no sinks; name them under `sinks` in folkmoot.yaml"),
        (
            "  chat: {kind: discord, urlEnv: CHAT}\n",
            ("run",),
            "the sink 'chat' needs $CHAT, which is not set",
        ),
        ("  log: {kind: ndjson}\n", ("move", "lug", "--to", "end"), "there is no sink 'lug'; there are log"),
        (
            "  log: {kind: ndjson}\n",
            ("move", "log", "--to", "-3"),
            "--to takes start, end or the seq of an entry, not '-3'",
        ),
    ],
)
def test_what_cannot_be_done_is_said_with_the_reason(folkmoot, sinks, command, words):
    write(folkmoot, sinks)
    folkmoot("trust", "--yes")

    refused = folkmoot("sinks", *command)

    assert refused.code == 2
    assert words in refused.err


def test_the_address_must_be_one_that_keeps_what_is_sent(folkmoot, monkeypatch):
    monkeypatch.setenv("CHAT", "http://chat.example/secret-token")
    write(folkmoot, "  chat: {kind: discord, urlEnv: CHAT}\n")
    folkmoot("trust", "--yes")

    refused = folkmoot("sinks", "run", "--once")

    assert refused.code == 2
    assert "the address in $CHAT of the sink 'chat' must begin with https://" in refused.err
    assert "secret-token" not in refused.err


async def test_a_sink_that_fails_is_shown_and_gets_everything_when_it_is_back(folkmoot):
    """U-8, E-5: the command says so, the list shows it, nothing is lost."""
    async with Receiver(Answer(410)) as receiver:
        write(folkmoot, f"  hook: {{kind: webhook, url: '{receiver.url}'}}\n")
        ids = await recorded(folkmoot, 1, 3)

        failed = await asyncio.to_thread(ended, folkmoot.started("sinks", "run", "--once"))
        listed = await asyncio.to_thread(ended, folkmoot.started("sinks", "list", "--json"))
        again = await asyncio.to_thread(ended, folkmoot.started("sinks", "run", "--once"))

    assert (failed.code, failed.err) == (1, "sink hook: 127.0.0.1 answered 410\n")
    assert listed.json == [
        {"name": "hook", "kind": "webhook", "position": 0, "lag": 3, "error": "127.0.0.1 answered 410"}
    ]
    assert again.code == 0
    assert [event["id"] for event in receiver.received[-1].json["events"]] == ids


async def test_a_process_killed_in_the_middle_loses_nothing_and_repeats_its_last_batch_at_most(folkmoot):
    """E-48, E-64, E-66: kill -9 while a batch is under way; what comes again has the same ids."""
    never = asyncio.Event()
    async with Receiver(Answer(), Answer(), Answer(after=never)) as receiver:
        write(folkmoot, f"  hook: {{kind: webhook, url: '{receiver.url}', batch: 10}}\n")
        ids = await recorded(folkmoot, 1, 45)

        process = folkmoot.started("sinks", "run")
        for _ in range(3):
            await receiver.next()
        process.kill()
        await asyncio.to_thread(process.communicate)
        never.set()
        again = await asyncio.to_thread(ended, folkmoot.started("sinks", "run", "--once"))

    batches = [[event["id"] for event in came.json["events"]] for came in receiver.received]
    assert again.code == 0
    assert batches == [ids[:10], ids[10:20], ids[20:30], ids[20:30], ids[30:40], ids[40:]]
    names = [came.headers["X-Folkmoot-Delivery"] for came in receiver.received]
    assert names[2] == names[3]


async def test_a_file_that_is_written_by_processes_which_are_killed_holds_each_event_once(folkmoot):
    """E-48, O-10: survives restarts; killed wherever it was, nothing is lost and nothing stands there twice."""
    write(folkmoot, "  log: {kind: ndjson, batch: 1, maxBytes: 20000}\n")
    ids = await recorded(folkmoot, 1, 300)
    for count in (20, 90, 170):
        process = folkmoot.started("sinks", "run")
        await asyncio.to_thread(soon, lambda count=count: len(all_lines(folkmoot)) >= count)
        process.kill()
        await asyncio.to_thread(process.communicate)

    last = await asyncio.to_thread(ended, folkmoot.started("sinks", "run", "--once"))

    assert last.code == 0
    assert [json.loads(line)["id"] for line in all_lines(folkmoot)] == ids


def test_it_sends_on_what_happens_while_it_runs_and_ends_when_it_is_told(folkmoot):
    """5.1: stop() flushes."""
    write(folkmoot, "  log: {kind: ndjson, window: 10m}\n")
    process = folkmoot.started("sinks", "run")
    wait_for(process.stderr, "sending events on")
    assert folkmoot("run", "a.ai", "hello").code == 0

    done = interrupted(process)

    assert done.code == 0
    assert [line["type"] for line in lines(folkmoot)][-1] == "handoff.completed"


async def test_what_comes_in_while_a_batch_is_sent_is_sent_before_it_ends(folkmoot):
    """5.1: stop() flushes."""
    go_on = asyncio.Event()
    async with Receiver(Answer(after=go_on)) as receiver:
        write(folkmoot, f"  hook: {{kind: webhook, url: '{receiver.url}', batch: 2, window: 1ms}}\n")
        await recorded(folkmoot, 1, 1)
        async with Folkmoot.open(folkmoot.folder) as moot, moot.sinking() as sinking:
            await receiver.next()
            ids = await recorded(folkmoot, 2, 6)
            sinking.stop()
            go_on.set()
            await sinking.ended()
    assert [event["id"] for came in receiver.received for event in came.json["events"]] == ids


def all_lines(folkmoot) -> list[str]:
    """Of all files, in their order, whole ones."""
    folder = folkmoot.folder / ".folkmoot"
    texts = [path.read_text() for path in sorted(folder.glob("coordination-events*.ndjson"))]
    return [line for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]
