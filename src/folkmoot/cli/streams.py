"""stdin, stdout and stderr, so that the program can rely on them."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def make_usable() -> None:
    """One that is closed leads nowhere; one that cannot write a character spells it out instead of failing."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(
                os.devnull, os.O_RDWR
            )  # never closed: a file would get its number, and what is said
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", closefd=False))
        elif hasattr(stream, "reconfigure") and name != "stdin":
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = _lasting(sys.stderr)


def lead_nowhere(stream: int) -> None:
    """Its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


class _Lasting(io.FileIO):
    """What is told beside a run cannot end the run: neither a reader that leaves nor a disk that is full."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            lead_nowhere(self.fileno())
            return super().write(data)


def _lasting(stream: TextIO) -> TextIO:
    """Without a buffer, because a signal handler may write in the middle of a write."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, io.FileIO):  # no stream of the system
        return stream
    lasting = _Lasting(raw.fileno(), "w", closefd=False)
    return io.TextIOWrapper(lasting, stream.encoding, "backslashreplace", write_through=True)
