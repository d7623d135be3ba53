"""The parked runs in which something has waited long enough: a fold over the journal, for whoever goes on with them."""

from __future__ import annotations

from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.ports import Journal, Query

_TYPES = (RunParked.type, "run.pruned", *(end.type for end in RUN_ENDS))


class Deadlines:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen = 0
        self._until: dict[str, str] = {}
        """By run."""

    async def over(self, now: str) -> list[str]:
        """The runs that are to go on because of that, until they have."""
        async for entry in self._journal.read(Query(types=_TYPES, after=self._seen)):
            self._seen = entry.seq
            if isinstance(entry.event, RunParked) and entry.event.until:
                self._until[entry.stream] = entry.event.until
            else:
                self._until.pop(entry.stream, None)
        return [run for run, until in self._until.items() if now >= until]
