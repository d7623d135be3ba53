"""Which installation started a run: runs continue by themselves only where they began, or where they were adopted.

Each run bears a proof in its first event, made from its id and the files it is pinned to with a secret of the
installation: so neither a foreign journal nor a changed copy of one's own can pass off its runs as started here.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ADOPTIONS, RunAdopted, RunStarted
from folkmoot.domain.run_row import OPEN_STATUSES
from folkmoot.engine.history import append_last
from folkmoot.errors import ForeignRun
from folkmoot.ports import Clock, Journal, Query, RunQuery
from folkmoot.tools.consent import state_folder


class Installation:
    """What runs of a journal are recognised by. Its secret is read when the first run needs it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._file = state_folder() / "installation"
        self._secret = b""

    async def proof(self, run: str, graph: str) -> str:
        """Empty where no secret can be kept; such a run continues only after it was adopted somewhere."""
        if not self._secret:
            self._secret = await self._journal.installation_secret() or secret_in(self._file)
        return (
            hmac.digest(self._secret, f"{run} {graph}".encode(), "sha256").hex()[:32] if self._secret else ""
        )

    async def require(self, run: str, started: RunStarted) -> None:
        """Raises `ForeignRun` for a run that neither began nor was adopted here."""
        proof = await self.proof(run, started.graph)
        if proof and hmac.compare_digest(started.origin, proof):
            return
        async for entry in self._journal.read(Query(stream=ADOPTIONS)):
            if (
                isinstance(entry.event, RunAdopted)
                and (entry.event.run, entry.event.proof) == (run, proof)
                and proof
            ):
                return
        raise ForeignRun(run)

    async def adopt(self, clock: Clock, runs: Mapping[str, RunStarted]) -> list[str]:
        """Let these runs continue here; those that could not until now."""
        adopted = []
        for run, started in runs.items():
            try:
                await self.require(run, started)
            except ForeignRun:
                event = RunAdopted(run, await self.proof(run, started.graph))
                await append_last(self._journal, ADOPTIONS, Draft(clock.now(), event))
                adopted.append(run)
        return adopted


async def unfinished_runs(journal: Journal) -> dict[str, RunStarted]:
    """Every run that has not ended, by its id."""
    begun: dict[str, RunStarted] = {}
    for run in await journal.runs(RunQuery(statuses=OPEN_STATUSES, sort="started")):
        async for entry in journal.read(Query(stream=run.run, limit=1)):
            if isinstance(entry.event, RunStarted):
                begun[run.run] = entry.event
    return begun


def secret_in(file: Path) -> bytes:
    """Made when it is first needed; empty if this user may keep none."""
    with suppress(OSError):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = file.with_suffix(f".{os.getpid()}")
            fresh.write_text(os.urandom(32).hex())
            fresh.chmod(0o600)
            with suppress(FileExistsError):
                os.link(fresh, file)  # of several processes, the first one's counts
            fresh.unlink()
        return bytes.fromhex(file.read_text().strip())
    return b""
