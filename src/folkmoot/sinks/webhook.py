"""Events as JSON to an address, signed, so that whoever takes them knows where they come from.

POST {"events": [ … ]}                   each as a line of an exported journal
X-Folkmoot-Delivery: …                   the same when a batch comes again; so are the ids of its events
X-Folkmoot-Timestamp: 1767225600         seconds since 1970
X-Folkmoot-Signature: sha256=…           HMAC of "<timestamp>.<body>", if there is a key
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256

from folkmoot.domain.entry import Entry
from folkmoot.ports import Clock
from folkmoot.sinks.http import HttpSink


class WebhookSink(HttpSink):
    def __init__(self, url: str, key: str, clock: Clock, line: Callable[[Entry], bytes]) -> None:
        """`line` writes an entry out."""
        super().__init__(url, clock)
        self._key = key.encode()
        self._line = line

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        body = b'{"events":[%b]}' % b",".join(self._line(entry).rstrip(b"\n") for entry in entries)
        ids = "\n".join(entry.id for entry in entries)
        headers = {"X-Folkmoot-Delivery": sha256(ids.encode()).hexdigest()[:32]}
        moment = str(int(datetime.fromisoformat(self._clock.now()).timestamp()))
        headers["X-Folkmoot-Timestamp"] = moment
        if self._key:
            headers["X-Folkmoot-Signature"] = f"sha256={signature(self._key, moment, body)}"
        await self._send("POST", self.url, body, headers)
        return kept


def signature(key: bytes, moment: str, body: bytes) -> str:
    return hmac.new(key, moment.encode() + b"." + body, sha256).hexdigest()
