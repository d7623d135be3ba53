"""What a run spent on models: one row per request, folded from its events. Pure."""

from __future__ import annotations

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import LlmFailed, LlmResponse, RunPruned
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.message import Usage
from folkmoot.domain.value import Value

SPEND_EVENTS = frozenset((LlmResponse.type, LlmFailed.type, RunForked.type, RunPruned.type))


class Spend(Value):
    """A row of the table `spend`: one attempt at a model."""

    run: str
    place: int
    """The `run_seq` of the entry that says so."""
    at: str
    session: str
    agent: str
    model: str
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0


class SpendSum(Value):
    """Of several of these rows."""

    name: str
    """The agent, the model, the day or the run."""
    requests: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    sessions: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class SpendFold:
    """Takes the entries of one run in their order; whoever reads `rows` empties them."""

    __slots__ = ("erased", "rows")

    def __init__(self) -> None:
        self.rows: list[Spend] = []
        self.erased = False
        """Whether the rows from before `rows` are void."""

    def take(self, entry: Entry) -> None:
        draft, event = entry.draft, entry.draft.event
        if isinstance(event, RunForked | RunPruned):  # another run has paid for it, or nobody knows any more
            self.rows.clear()
            self.erased = True
        elif isinstance(event, LlmResponse | LlmFailed):
            place = entry.stream, entry.run_seq, draft.ts, draft.session_id, draft.agent_id, event.model
            if isinstance(event, LlmFailed):
                self.rows.append(Spend(*place, failed=1))
            else:
                self.rows.append(Spend(*place, 0, *_tokens(event.usage), event.cost_usd))


def _tokens(usage: Usage) -> tuple[int, int, int, int]:
    return usage.tokens_in, usage.tokens_out, usage.tokens_cache_read, usage.tokens_cache_write
