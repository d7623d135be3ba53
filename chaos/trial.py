"""One disturbed life, the undisturbed one that goes on after it, and what is wrong with the two together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from chaos.life import Life, Plan, promises
from chaos.oracle import (
    Book,
    differences,
    effect_faults,
    journal_faults,
    read_book,
    repeated,
    settled_keys,
)
from chaos.project import project
from chaos.witness import Seen, tell
from folkmoot.journal.sqlite import SqliteJournal

Disturb = Callable[[Life, Path], str]
"""Let a life live, as it comes or worse; what it said. The path is its project."""


class Lived(NamedTuple):
    said: str
    book: Book
    """The journal after it."""
    seen: Sequence[Seen]
    """What the witness saw of it and of the one before."""

    @property
    def last_words(self) -> str:
        return self.said.splitlines()[-1] if self.said else ""


class Trials:
    """Many disturbed lives of the same runs, each compared with one that nobody disturbed."""

    def __init__(
        self, port: int, runs: Sequence[str], before: Callable[[SqliteJournal], None] = lambda journal: None
    ) -> None:
        self._port, self._runs, self._before = port, runs, before
        with project() as folder:
            self._undisturbed = self._lived(folder, peacefully)

    def hold(self, disturb: Disturb) -> tuple[Lived, list[str]]:
        """How the disturbed life went, and what was wrong with it and with what came after."""
        with project() as folder:
            first = self._lived(folder, disturb)
            second = self._lived(folder, peacefully, first)
        faults = journal_faults(first.book, promises(first.said))
        faults += journal_faults(second.book, promises(first.said) | promises(second.said))
        faults += repeated(second.seen, 2, settled_keys(first.book.entries))
        faults += effect_faults(second.seen, self._undisturbed.seen)
        faults += differences(second.book, self._undisturbed.book, self._runs)
        if second.last_words != "ended":
            faults.append(f"it does not go on: {second.last_words}")
        return first, faults

    def _lived(self, folder: Path, disturb: Disturb, first: Lived | None = None) -> Lived:
        tell(self._port, forget=first is None)
        life = Life(
            Plan(
                folder=folder,
                port=self._port,
                runs=self._runs,
                before=self._before,
                number=2 if first else 1,
                seen=first.seen if first else (),
            )
        )
        said = disturb(life, folder)
        return Lived(said, read_book(folder), tell(self._port))


def peacefully(life: Life, folder: Path) -> str:
    life.begin()
    return life.over()
