"""Server-sent events, cut out of a stream of bytes. Lines end at a line feed only: U+2028 is text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LOOKS_LIKE_EVENTS = (b"data:", b"event:", b":")


class Events:
    """Feed it what arrives; it gives back the data of each event that is complete."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._rest.append(chunk)
            return []
        if self._rest:
            lines[0] = b"".join((*self._rest, lines[0]))
        last = lines.pop()
        self._rest = [last] if last else []
        return list(self._complete(lines))

    def end(self) -> list[bytes]:
        """What was left without its closing blank line, if it is whole: some servers leave that line out."""
        left = self._complete((b"".join(self._rest), b""))
        return [data for data in left if data.rstrip().endswith((b"}", b"]"))]

    def _complete(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
