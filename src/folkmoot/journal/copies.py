"""Copies of a journal or of some of its runs: backups, bundles and exported logs, written and read."""

from __future__ import annotations

import asyncio
import io
import re
import sqlite3
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from folkmoot.domain.catalogue import named_by
from folkmoot.domain.value import Value
from folkmoot.errors import JournalDamaged, JournalTooNew, OperationFailed, WrongUse
from folkmoot.journal.codec import UNREADABLE, Head, broken_link, hash_of, place_of, stored_line, to_line
from folkmoot.journal.database import FILE, FOLDER, connect_readonly, explain, written_whole
from folkmoot.journal.sqlite import MemoryJournal, SqliteJournal
from folkmoot.ports import Journal, Query, Stored

LONGEST = 64 * 1024 * 1024
"""Bytes of a line; a file from elsewhere may be anything."""
_TURN = 100
"""Entries that are read before the event loop gets its turn."""


class Lines:
    artifacts = False
    """It names some and holds none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        with self._path.open("rb") as file:
            async for stored in chosen_lines(file, query):
                yield stored

    async def artifact(self, id: str) -> bytes:
        raise KeyError(id)

    async def close(self) -> None:
        pass


async def chosen_lines(file: IO[bytes], query: Query) -> AsyncIterator[Stored]:
    """Those of one stream, or all."""
    for number, stored in enumerate(_lines(file), start=1):
        if query.stream in ("", stored.stream) or stored.fault:
            yield stored
        if number % _TURN == 0:
            await asyncio.sleep(0)


def _lines(file: IO[bytes]) -> Iterator[Stored]:
    """A line that is none is passed on as a fault, because those behind it may be sound."""
    number = seq = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise JournalDamaged(f"line {number} is longer than {LONGEST} bytes")
        try:
            stored = stored_line(line)
        except JournalDamaged as error:
            stored = Stored(seq, "", 0, "", "", b"", f"line {number}: {error}")
        seq = stored.seq
        yield stored


FORMAT = 1
LARGEST = 4 * 1024**3
"""Bytes that a bundle may unfold to."""
IN_MEMORY = 1024**3
"""Bytes of one that is held in memory."""
_JOURNAL, _MANIFEST = "journal.ndjson", "manifest.json"
_NAMES = re.compile(rf"{re.escape(_JOURNAL)}|{re.escape(_MANIFEST)}|artifacts/[0-9a-f]{{64}}")
_TORN = (zipfile.BadZipFile, zlib.error, EOFError, OSError)
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BundledRun(Value):
    run_id: str
    events: int
    last: str
    """The id of its last entry."""


class Manifest(Value):
    format: int
    runs: tuple[BundledRun, ...]
    artifacts: int


async def write_bundle(journal: Journal, runs: Collection[str], target: Path) -> Manifest:
    """These runs; none named: all. Refuses what is damaged, so that nobody is handed it."""
    heads: dict[str, Head] = {}
    named: dict[str, str] = {}
    with written_whole(target) as place, zipfile.ZipFile(place, "w") as packed:
        with packed.open(_member(_JOURNAL), "w", force_zip64=True) as member:
            only = next(iter(runs)) if len(runs) == 1 else ""
            async for entry in journal.read(Query(stream=only)):
                if runs and entry.stream not in runs:
                    continue
                where = place_of(entry.seq, entry.stream, entry.run_seq)
                if fault := broken_link(heads.get(entry.stream), entry):
                    raise JournalDamaged(f"{where}: {fault}")
                heads[entry.stream] = Head(entry.run_seq, entry.id)
                named.update((id, where) for id in named_by(entry.event))
                member.write(to_line(entry))
        for id in sorted(named):
            packed.writestr(_member(f"artifacts/{id}"), await _content(journal, id, named[id]))
        bundled = tuple(BundledRun(run, head.run_seq, head.id) for run, head in heads.items())
        manifest = Manifest(FORMAT, bundled, len(named))
        packed.writestr(_member(_MANIFEST), msgspec.json.encode(manifest))
        if sum(member.file_size for member in packed.infolist()) > LARGEST:
            raise WrongUse("these runs are too large for a bundle; name one, or make a `journal backup`")
    return manifest


async def _content(journal: Journal, id: str, where: str) -> bytes:
    try:
        return await journal.artifact(id)
    except KeyError:
        raise JournalDamaged(f"{where}: it names the artifact {id}, which is missing") from None


def _member(name: str) -> zipfile.ZipInfo:
    """Without a time, so that the same content is the same file."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o600 << 16
    return member


class Bundle:
    """A bundle as a source of entries; only its frame has been checked."""

    artifacts = True

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self._path = path
        self._largest = largest
        try:
            self._packed = zipfile.ZipFile(path)
        except (*_TORN, NotImplementedError) as error:
            raise JournalDamaged(f"{path} is no bundle: {error}") from error
        try:
            self._members = self._checked_members()
            self.manifest = self._read_manifest()
        except BaseException:
            self._packed.close()
            raise

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        try:
            with self._open(_JOURNAL) as member:
                async for stored in chosen_lines(_buffered(member), query):
                    yield stored
        except _TORN as error:
            raise JournalDamaged(f"{self._path}: {_JOURNAL}: {error}") from error

    async def artifact(self, id: str) -> bytes:
        name = f"artifacts/{id}"
        if name not in self._members:
            raise KeyError(id)
        content = self._read(name)
        if hash_of(content) != id:
            raise JournalDamaged(f"artifact {id} in {self._path}: its content does not match its hash")
        return content

    @property
    def ids(self) -> list[str]:
        """Of all artifacts in it."""
        return [name.partition("/")[2] for name in self._members if name.startswith("artifacts/")]

    async def close(self) -> None:
        self._packed.close()

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for member in self._packed.infolist():
            if not _NAMES.fullmatch(member.filename) or member.filename in members:
                raise JournalDamaged(f"{self._path}: {member.filename!r} has no place in a bundle")
            if member.compress_type not in _PACKED or member.flag_bits & 1:
                raise JournalDamaged(f"{self._path}: {member.filename!r} is packed in a way no bundle is")
            members[member.filename] = member
        if (size := sum(member.file_size for member in members.values())) > self._largest:
            raise WrongUse(f"{self._path} unfolds to {size:,} bytes; at most {self._largest:,} are read")
        if missing := {_JOURNAL, _MANIFEST} - members.keys():
            raise JournalDamaged(f"{self._path} is no bundle: it has no {', '.join(sorted(missing))}")
        return members

    def _read_manifest(self) -> Manifest:
        content = self._read(_MANIFEST)
        try:
            shape: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
            if isinstance(found := shape.get("format"), int) and found > FORMAT:
                raise JournalTooNew(f"{self._path} has format {found}, this release reads {FORMAT}")
            return msgspec.convert(shape, Manifest)
        except UNREADABLE as error:
            raise JournalDamaged(f"{self._path}: {_MANIFEST}: {error}") from error

    def _open(self, name: str) -> IO[bytes]:
        return self._packed.open(self._members[name])

    def _read(self, name: str) -> bytes:
        try:
            with self._open(name) as member:
                return member.read()
        except _TORN as error:
            raise JournalDamaged(f"{self._path}: {name}: {error}") from error


def _buffered(member: IO[bytes]) -> IO[bytes]:
    """The lines of a member of a zip come one by one only from a buffer."""
    return io.BufferedReader(cast(io.RawIOBase, member))


Source = SqliteJournal | Bundle | Lines


def open_source(path: Path) -> Source:
    """By how the file begins, not by its name."""
    try:
        with path.open("rb") as file:
            begins = file.read(16)
    except OSError as error:
        raise WrongUse(f"cannot read {path}: {error.strerror}") from None
    if begins.startswith(b"PK"):
        return Bundle(path)
    if begins == b"SQLite format 3\0":
        return SqliteJournal.open_copy(path)
    if begins.startswith(b"{"):
        return Lines(path)
    raise WrongUse(f"{path} is no backup, no bundle and no exported log")


async def open_bundle(path: Path) -> MemoryJournal:
    """The runs of a bundle as a journal of their own, checked: to show, replay or go on with them."""
    bundle = Bundle(path, IN_MEMORY)
    try:
        journal = MemoryJournal()
        streams: dict[str, list[Stored]] = {}
        async for stored in bundle.stored(Query()):
            streams.setdefault(stored.stream, []).append(stored)
        for stream, entries in streams.items():
            await journal.restore(stream, entries)
        for id in bundle.ids:
            journal.keep(await bundle.artifact(id))
        return journal
    finally:
        await bundle.close()


_PAGES = 2_000
"""Copied at a time."""


def back_up(project: Path, target: Path, told: Callable[[float], None] = lambda part: None) -> int:
    """Its size. The copy is of one moment; `told` learns how much of it is done, from 0 to 1."""
    path = project / FOLDER / FILE
    source = connect_readonly(path)
    try:
        with written_whole(target) as place:
            copy = sqlite3.connect(place)
            try:
                # Without a transaction of its own, the copy would begin anew whenever somebody writes.
                source.execute("BEGIN")
                source.execute("SELECT count(*) FROM release").fetchone()
                source.backup(
                    copy, pages=_PAGES, progress=lambda _, left, total: told(1 - left / max(total, 1))
                )
                source.execute("ROLLBACK")
                _take_along(copy, path.parent / "artifacts")
                copy.execute("PRAGMA journal_mode = DELETE")  # so that it stays one file when it is opened
            finally:
                copy.close()
            return place.stat().st_size
    except sqlite3.Error as error:
        raise explain(error, path, source) from error
    finally:
        source.close()


def _take_along(copy: sqlite3.Connection, artifacts: Path) -> None:
    """The large artifacts. None that the copy names can be missing: what it names was written before it."""
    for file in sorted(artifacts.glob("??/" + "?" * 64)):
        try:
            content, kept = file.read_bytes(), file.stat().st_mtime
        except FileNotFoundError:
            continue  # nobody named it any more
        except OSError as error:
            raise OperationFailed(f"cannot read {file}: {error.strerror}") from error
        copy.execute(
            "INSERT OR IGNORE INTO artifact (id, content, kept) VALUES (?, ?, ?)",
            (bytes.fromhex(file.name), content, kept),
        )
        copy.commit()
