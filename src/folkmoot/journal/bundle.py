"""One file with runs and everything that they name, for another machine: a zip that any program can open.

    manifest.json     what it is: {"format": 1, "runs": [{"runId", "events", "last"}], "artifacts": 3}
    journal.ndjson    the entries, as `log export` writes them
    artifacts/<hash>  each artifact that an entry names

The same runs give the same bytes. Nothing of it is ever unpacked to a disk; whoever reads it looks at names, sizes and
hashes first, because it may come from anywhere.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from folkmoot.domain.catalogue import named_by
from folkmoot.domain.value import Value
from folkmoot.errors import JournalDamaged, JournalTooNew, WrongUse
from folkmoot.journal.chain import Head, broken_link
from folkmoot.journal.codec import UNREADABLE, hash_of, place_of, to_line
from folkmoot.journal.files import written_whole
from folkmoot.journal.lines import chosen_lines
from folkmoot.ports import Journal, Query, Stored

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
