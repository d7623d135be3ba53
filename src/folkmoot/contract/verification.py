"""What a check looked at, and what it found, in words and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from folkmoot.contract.folds import TITLES, Fault, Guarantee
from folkmoot.journal.codec import Head

KEPT = 1_000
"""Faults that are told one by one; of a file that is wrong throughout, the rest is only counted."""


@dataclass
class Verification:
    counts: Counter[str] = field(default_factory=Counter)
    """How much was looked at, by the words below."""
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    """What holds, and is worth a look all the same."""
    by_guarantee: Counter[str] = field(default_factory=Counter)
    artifacts: bool = True
    """Whether the artifacts are there to be checked; an exported log has none."""
    state_hash: str = ""
    """Of one run: what its sessions knew at their ends."""

    heads: dict[str, Head] = field(default_factory=dict)
    """Where each stream ends; one that was pruned, where it ended before."""

    @property
    def holds(self) -> bool:
        return not self.by_guarantee

    def add(self, fault: Fault) -> None:
        self.by_guarantee[fault.guarantee] += 1
        if len(self.faults) < KEPT:
            self.faults.append(fault)

    def note(self, found: Fault) -> None:
        self.counts["notes"] += 1
        if len(self.notes) < KEPT:
            self.notes.append(found)

    def checked(self) -> Iterator[tuple[Guarantee, str]]:
        """One line for each guarantee: what was looked at."""
        count = self.counts
        calls = _number(count, "tool.started", "tool call")
        yield "C1", self._durability()
        yield "C2", f"{_number(count, 'streams', 'stream')}, {_entries(count)}, dense and chained"
        yield (
            "C3",
            f"{_number(count, 'llm.request', 'model request')}, {calls}"
            f" ({count['keyed']:,} keyed, {count['once']:,} once{_twice(count['notes'])})",
        )
        yield "C4", self._replay()
        yield "C5", f"{_number(count, 'run.cancel_requested', 'stop')}; what came after is no new call"
        yield "C6", self._bounds()
        yield "C7", f"{calls}, {_number(count, 'approval.approved', 'approval')}, each for exactly its call"

    def to_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "checked": {
                guarantee: {
                    "title": TITLES[guarantee],
                    "checked": words,
                    "faults": self.by_guarantee[guarantee],
                }
                for guarantee, words in self.checked()
            },
            "entries": self.counts["entries"],
            "runs": self.counts["runs"],
            "stateHash": self.state_hash or None,
            "faults": msgspec.to_builtins(self.faults),
            "notes": msgspec.to_builtins(self.notes),
        }

    def _durability(self) -> str:
        if not self.artifacts:
            return "not checked: this file holds no artifacts, and what a power cut took no file can show"
        found = _number(self.counts, "artifacts", "artifact")
        return f"{found} there and unchanged; what a power cut took no journal can show"

    def _replay(self) -> str:
        folded = _number(self.counts, "session.started", "session")
        if self.counts["session.started"] and not self.counts["graphs"]:
            return f"not checked: the agents of {folded} are an artifact, and it is not there"
        return f"{folded} folded; {self.counts['followed']:,} ends follow from what was recorded"

    def _bounds(self) -> str:
        runs, ended, pruned = (self.counts[name] for name in ("runs", "ended", "pruned"))
        budgets = "within their budgets" if self.counts["graphs"] or runs == pruned else "budgets not checked"
        total = _number(self.counts, "runs", "run")
        return (
            f"{total}: {ended:,} ended once, {runs - ended - pruned:,} not yet, {pruned:,} pruned; {budgets}"
        )


def _twice(count: int) -> str:
    return f", {count:,} of them begun under two claims" if count else ""


def _number(counts: Counter[str], name: str, word: str) -> str:
    count = counts[name]
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _entries(counts: Counter[str]) -> str:
    count = counts["entries"]
    return f"{count:,} entries" if count != 1 else "1 entry"
