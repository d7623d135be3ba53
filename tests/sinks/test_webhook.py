"""Events as signed JSON."""

import hmac
from hashlib import sha256

from folkmoot import FakeClock, MemoryJournal
from folkmoot.journal.codec import from_line, to_line
from folkmoot.sinks.http import WebhookSink
from tests.sinks.receiver import Receiver, happen, steps


async def test_a_batch_is_signed_together_with_the_time_at_which_it_was_sent():
    """E-59: a webhook gets the events as an export has them, and can tell who sent them."""
    entries = await happen(MemoryJournal(), *steps(1, 2))
    async with Receiver() as receiver:
        sink = WebhookSink(receiver.url, "a key of ours", FakeClock(), to_line)
        await sink.deliver(entries, "")
        await sink.close()
        came = await receiver.next()

    moment = came.headers["X-Folkmoot-Timestamp"]
    expected = hmac.new(b"a key of ours", f"{moment}.".encode() + came.raw, sha256).hexdigest()
    assert came.headers["X-Folkmoot-Signature"] == f"sha256={expected}"
    assert moment == "1767225600"
    assert [event["id"] for event in came.json["events"]] == [entry.id for entry in entries]
    assert came.raw == b'{"events":[' + b",".join(to_line(entry)[:-1] for entry in entries) + b"]}"
    assert from_line(to_line(entries[0])) == entries[0]


async def test_a_batch_that_comes_again_has_the_same_name():
    entries = await happen(MemoryJournal(), *steps(1, 3))
    async with Receiver() as receiver:
        sink = WebhookSink(receiver.url, "", FakeClock(), to_line)
        for batch in (entries[:2], entries[:2], entries[2:]):
            await sink.deliver(batch, "")
        await sink.close()

    first, again, other = (came.headers["X-Folkmoot-Delivery"] for came in receiver.received)
    assert first == again != other
    assert "X-Folkmoot-Signature" not in receiver.received[0].headers
