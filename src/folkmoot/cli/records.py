"""The runs of a project as its journal tells them, whatever state the project's files are in by now."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from folkmoot.cli.output import say
from folkmoot.domain.entry import Draft
from folkmoot.domain.run_row import RunRow
from folkmoot.engine.owner import holder, host_of
from folkmoot.engine.runs import find_run, run_list
from folkmoot.engine.workshop import open_journal
from folkmoot.errors import JournalDamaged, WrongUse
from folkmoot.journal.database import FILE, FOLDER
from folkmoot.loader.project_file import storage_of
from folkmoot.ports import Journal, Query
from folkmoot.views.result import Result


@asynccontextmanager
async def opened(folder: Path, *, readonly: bool = True) -> AsyncIterator[Journal]:
    """Raises `WrongUse` if nothing ever ran in `folder`."""
    journal = open_journal(require_runs(folder), readonly=readonly)
    journal.progress = _tell_progress()
    try:
        yield journal
    finally:
        await journal.close()


def _tell_progress() -> Callable[[int, int], None]:
    """About lists that are brought up to date, once a second."""
    told = time.monotonic()

    def tell(done: int, entries: int) -> None:
        nonlocal told
        if time.monotonic() - told > 1:
            told = time.monotonic()
            say(f"bringing the lists of this journal up to date: {100 * done // max(entries, 1)} %")

    return tell


@asynccontextmanager
async def unbundled(file: Path) -> AsyncIterator[Journal]:
    """The runs of a bundle, as if they were this project's."""
    from folkmoot.journal.copies import open_bundle

    yield await open_bundle(file)


def require_runs(folder: Path) -> Path:
    if not has_run(folder):
        raise WrongUse(
            f"nothing has run in {folder} yet; `folkmoot run AGENT TEXT` starts something",
            code="nothing_has_run",
        )
    return folder


def has_run(folder: Path) -> bool:
    """Or may have: where the journal is shared, only reading it tells."""
    return (folder / FOLDER / FILE).is_file() or storage_of(folder, os.environ).url is not None


async def all_runs(folder: Path) -> list[RunRow]:
    """Newest first; none if nothing ever ran."""
    if not has_run(folder):
        return []
    async with opened(folder) as journal:
        return await run_list(journal)


class Record(msgspec.Struct, frozen=True):
    """Everything about one run."""

    row: RunRow
    drafts: list[Draft]
    result: Result
    owner: str
    """Who runs it now; empty if nobody does."""
    damage: str = ""
    """What is wrong with its record; empty if all of it hangs together."""

    @property
    def unended(self) -> str:
        """What a session of this run is that has no end."""
        return self.row.status if self.row.status in ("running", "queued", "waiting") else "interrupted"


async def read_record(folder: Path, name: str, bundle: Path | None = None) -> Record:
    """Reads the whole stream of a run, which checks each hash and each link of its chain."""
    async with unbundled(bundle) if bundle else opened(folder) as journal:
        row = await find_run(journal, name)
        drafts: list[Draft] = []
        damage = ""
        try:
            async for entry in journal.read(Query(stream=row.run_id)):
                drafts.append(entry.draft)
        except JournalDamaged as error:
            damage = str(error)
        owner = await holder(journal, row.run_id) if row.status == "running" else ""
        result = Result(row.run_id, drafts, unended=row.status)
        return Record(row, drafts, result, owner, damage)


def called(owner: str) -> str:
    """An owner as people know it: `host/pid/…` is a process."""
    return f"process {owner.split('/')[1]} on {host_of(owner)}"
