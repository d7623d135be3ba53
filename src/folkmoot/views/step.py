"""One step of a run: a session, a request to a model, a call, a wait, or something that just happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from folkmoot.domain.spans import is_in_chain
from folkmoot.views.marks import Kind

State = Literal["open", "done", "failed", "waiting", "doubt"]


@dataclass(eq=False)
class Step:
    seq: int
    """The `runSeq` of the entry that began it: its name."""
    kind: Kind
    who: str
    what: str = ""
    begun_at: str = ""
    start: float = 0.0
    """Seconds since the run began."""
    end: float | None = None
    last: int = 0
    """The `runSeq` of the entry that ended it; 0 as long as there is none."""
    state: State = "open"
    span: str = ""
    session: str = ""
    agent: str = ""
    turn: int = 0
    call: int = 0
    attempt: int = 1
    evidence: str = ""
    tokens: int = 0
    """With all below it; so is the cost."""
    cost: float = 0.0
    held: tuple[int, float] = (0, 0.0)
    """Tokens and dollars that are reserved for it as long as it is open."""
    cause: str = ""
    changed: int = 0
    """The `runSeq` of the last entry that changed it, or anything below it."""
    reach: float = 0.0
    """When anything of it or below it happened last."""
    under_way: int = 0
    """How much of it and below it has not ended."""
    parent: Step | None = field(default=None, repr=False)
    children: list[Step] = field(default_factory=list, repr=False)

    @property
    def is_gem(self) -> bool:
        """It happens, and takes no time."""
        return self.end == self.start and self.last == self.seq

    @property
    def contains(self) -> bool:
        """It holds what others do; its own time is theirs."""
        return self.kind in ("session", "advisor", "team") and not self.is_gem

    @property
    def is_in_chain(self) -> bool:
        return is_in_chain(self.span) and self.kind in ("session", "team")

    def as_of(self, at: int) -> State:
        """Its state after that entry; 0, or one before it began: at the end."""
        if not at or at < self.seq or 0 < self.last <= at:
            return self.state
        return "waiting" if self.kind == "wait" else "open"

    def above(self) -> Iterator[Step]:
        step = self.parent
        while step is not None:
            yield step
            step = step.parent

    @property
    def level(self) -> int:
        return 1 + sum(1 for _ in self.above())
