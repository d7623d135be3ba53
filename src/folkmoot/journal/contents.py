"""What a journal holds between being handed something and having written it, and what an append may demand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, assert_never

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.errors import Conflict, JournalDamaged, StaleOwner
from folkmoot.journal.codec import LIMIT, data_in, data_of, encode, hash_of
from folkmoot.ports import Epoch, NewRun, Stored, Version

_REMEMBERED = 1_000
REFRESH = 600.0
"""Seconds after which content that is kept again counts as new; sooner, a write would be wasted. Whoever sweeps leaves
alone what was kept in a far longer time than this."""


class Body(msgspec.Struct, frozen=True, gc=False):
    """A draft that is encoded and waits for its place."""

    draft: Draft
    text: bytes
    data: bytes = b""
    """The hash of the event's JSON when that is too large to stand in the row."""
    data_size: int = 0

    def row(self, text: bytes) -> bytes:
        """What of the sealed text stands in the row."""
        return text[: -self.data_size - 1] if self.data else text


class StoredBody(msgspec.Struct, frozen=True, gc=False):
    """An entry that another journal wrote; `text` and `data` as they stand in the row."""

    run_seq: int
    type: str
    id: str
    text: bytes
    data: bytes = b""


Content = tuple[str, bytes]
"""Its id and itself."""


class Contents:
    """Contents go with the next job and cost no commit of their own. What was durable once is sent again after a while:
    it may grow old and be swept."""

    def __init__(self, monotonic: Callable[[], float] | None = None) -> None:
        """Without a clock everything is sent again: other hosts may sweep by clocks of their own."""
        self._monotonic = monotonic
        self._durable: dict[str, float] = {}
        """The latest that are, and when they were kept: as long as they are young, keeping them again is nothing."""
        self._waiting: dict[str, bytes] = {}
        """Those that are not durable yet, by id."""
        self._unsent: list[Content] = []
        """Those of them that the writer does not have yet."""

    def keep(self, content: bytes) -> str:
        id = hash_of(content)
        if id not in self._waiting and not self._is_young(id):
            self._waiting[id] = content
            self._unsent.append((id, content))
        return id

    def get(self, id: str) -> bytes | None:
        """Content that waits."""
        return self._waiting.get(id)

    def body(self, stream: str, draft: Draft) -> Body:
        text = encode(stream, draft)
        if len(text) <= LIMIT or len(data := data_of(draft)) <= LIMIT:
            return Body(draft, text)
        return Body(draft, text, bytes.fromhex(self.keep(data)), len(data))

    def stored_body(self, entry: Stored) -> StoredBody:
        data = data_in(entry.text) if len(entry.text) > LIMIT else b""
        if len(data) <= LIMIT:
            return StoredBody(entry.run_seq, entry.type, entry.id, entry.text)
        text, id = entry.text[: -len(data) - 1], self.keep(data)
        return StoredBody(entry.run_seq, entry.type, entry.id, text, bytes.fromhex(id))

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    def hand_over(self) -> list[Content]:
        """To the writer, which settles them."""
        contents, self._unsent = self._unsent, []
        return contents

    def settle(self, contents: Sequence[Content], *, written: bool) -> None:
        if not written:
            self._unsent += contents
            return
        for id, _ in contents:
            del self._waiting[id]
            if self._monotonic:
                self._durable.pop(id, None)
                self._durable[id] = self._monotonic()
        while len(self._durable) > _REMEMBERED:
            del self._durable[next(iter(self._durable))]

    def _is_young(self, id: str) -> bool:
        kept = self._durable.get(id)
        return kept is not None and self._monotonic is not None and self._monotonic() - kept < REFRESH


LONGEST_LEASE = 60.0
"""Seconds; nobody asks for more."""


def is_live(until: float, now: float) -> bool:
    """Whether a lease holds. One that ends later than any can is from before the machine, and its time, began anew."""
    return now < until <= now + LONGEST_LEASE


def check(stream: str, expected: NewRun | Epoch | Version, epoch: int, run_seq: int | None) -> None:
    """Refuse what does not fit a stream with this epoch (0: never owned) and this end (None: no stream)."""
    match expected:
        case Epoch():
            if expected.number != epoch or not epoch:
                raise StaleOwner(
                    f"run {stream!r} is at epoch {epoch}; what was begun under {expected.number} is void"
                )
        case NewRun():
            if run_seq is not None:
                raise Conflict(f"there is already a run {stream!r}")
        case Version():
            if expected.number != (run_seq or 0):
                raise Conflict(
                    f"{stream!r} is at version {run_seq or 0}, not {expected.number}; read it again and retry"
                )
        case _:
            assert_never(expected)


async def whole_entry(row: Sequence[Any], stream: str, artifact: Callable[[str], Awaitable[bytes]]) -> Stored:
    """A row of the entries, with its data where that lies beside it."""
    seq, _, run_seq, type, id, text, data = row
    fault = ""
    if data is not None:
        try:
            text += await artifact(data.hex()) + b"}"
        except KeyError:
            text, fault = b"", f"the artifact {data.hex()} with its data is missing"
        except JournalDamaged as error:
            text, fault = b"", str(error)
    return Stored(seq, stream, run_seq, type, id.hex(), text, fault)
