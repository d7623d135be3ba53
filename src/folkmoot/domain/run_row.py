"""Rows of the read model about a run: one in the list of runs, and one per request to a model. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from msgspec.structs import replace

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import (
    LlmFailed,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunForked,
    RunParked,
    RunPruned,
    RunStarted,
    SessionStarted,
)
from folkmoot.domain.message import Usage
from folkmoot.domain.spans import is_in_chain
from folkmoot.domain.team_events import TeamStarted
from folkmoot.domain.value import Value

DECISIONS = (
    "question.answered",
    "client.answered",
    "approval.approved",
    "approval.denied",
    "approval.revoked",
    "approval.expired",
    "tool.settled",
)
"""The events after which a parked run is under way again."""
ENDED = ("completed", "failed", "cancelled")
RunSort = Literal["-started", "started", "-duration", "duration", "-tokens", "tokens", "-cost", "cost"]
OPEN_STATUSES = ("", "waiting")
"""Of rows whose status, as people see it, depends on who holds the run."""


class RunRow(Value, omit_defaults=False):
    run_id: str
    agent: str
    """The root agent's file."""
    status: str
    started_at: str
    request: str
    ended_at: str | None = None
    error: str | None = None


class RunSummary(Value):
    """A row of the table `runs`."""

    run: str
    began: int
    """Position in the journal of the entry that began it."""
    agent: str
    status: str
    """Empty for a run that has neither ended nor waits: what it is then depends on who holds it."""
    started_at: str
    request: str
    ended_at: str | None = None
    error: str | None = None
    work_session: str = ""
    label: str = ""
    part: str = ""
    """Of a plan, if it carries one out."""
    chain: tuple[str, ...] = ()
    """The agents that the request went through."""
    tokens: int = 0
    """Of an open run, as of its last event that changed this row; a journal that lists it tells those of now."""
    cost: float = 0.0
    seconds: float = 0.0
    """From its beginning to its last event that changed this row."""
    until: str = ""
    """Of a parked run: when the first item of its inbox expires."""

    @property
    def is_open(self) -> bool:
        """Whether its status depends on who holds it."""
        return self.status in OPEN_STATUSES

    def row(self, held: str = "") -> RunRow:
        """`held` is `running` or `queued`; an open run that nobody holds and that does not wait was interrupted."""
        status, ended = self.status or held or "interrupted", self.ended_at
        if status == "waiting" and held == "running":
            status, ended = held, None
        return RunRow(self.run, self.agent, status, self.started_at, self.request, ended, self.error)


def is_overdue(run: RunSummary, now: str) -> bool:
    """Whether something in a parked run has waited long enough."""
    return run.status == "waiting" and bool(run.until) and now >= run.until


def agents_of(chain: str) -> tuple[str, ...]:
    """A chain as it is stored: each agent between line ends."""
    return tuple(chain.split("\n")[1:-1])


class RunFold:
    """Takes the entries of one run in their order."""

    __slots__ = ("_cost", "_tokens", "_zero", "changed", "summary")

    def __init__(self) -> None:
        self.summary: RunSummary | None = None
        self.changed = False
        self._zero = 0.0
        """When the run began, Unix time."""
        self._tokens, self._cost = 0, 0.0

    def take(self, entry: Entry) -> None:
        """An entry of a type of `RUN_EVENTS`."""
        draft, event = entry.draft, entry.draft.event
        if isinstance(event, LlmResponse):  # too often for a row: while the run is open, `spend` has the sum
            self._tokens += event.usage.tokens_in + event.usage.tokens_out
            self._cost += event.cost_usd
            return
        if isinstance(event, RunStarted | RunPruned):
            self._begin(entry)
            self.changed = True
            return
        summary = self.summary
        if summary is None or (changes := _APPLY[event.type](summary, draft)) is None:
            return
        seconds = max(summary.seconds, _moment(draft) - self._zero)
        if isinstance(
            event, RunForked
        ):  # what stands before it happened to another run, which has paid for it
            seconds, self._tokens, self._cost = summary.seconds, 0, 0.0
            self._zero = _moment(draft) - seconds
        sums = {"tokens": self._tokens, "cost": self._cost, "seconds": seconds}
        self.summary = replace(summary, **sums, **changes)
        self.changed = True

    def _begin(self, entry: Entry) -> None:
        draft, event = entry.draft, entry.draft.event
        self._zero = _moment(draft)
        if isinstance(event, RunStarted):
            errand, work_session = event.errand, draft.work_session_id
            part = f"step {errand.step}" if errand.step else ""
            self.summary = RunSummary(
                entry.stream, entry.seq, event.agent, "", draft.ts, event.request, None, None,
                work_session, errand.label, part,
            )  # fmt: skip
        elif isinstance(event, RunPruned):
            self.summary = RunSummary(
                entry.stream, entry.seq, event.agent, "pruned", event.started_at, "", event.ended_at
            )


_Changes = dict[str, Any]


def _session(run: RunSummary, draft: Draft) -> _Changes | None:
    if draft.agent_id in run.chain or not is_in_chain(draft.span):
        return None
    return {"chain": (*run.chain, draft.agent_id)}


def _ended(run: RunSummary, draft: Draft) -> _Changes:
    ended: _Changes = {"ended_at": draft.ts, "until": ""}
    match draft.event:
        case RunFailed(error=error):
            return {"status": "failed", "error": error, **ended}
        case RunCancelled(reason=reason):
            return {"status": "cancelled", "error": reason, **ended}
        case _:
            return {"status": "completed", "error": None, **ended}


def _parked(run: RunSummary, draft: Draft) -> _Changes:
    assert isinstance(draft.event, RunParked)
    return {"status": "waiting", "ended_at": draft.ts, "error": None, "until": draft.event.until}


def _decided(run: RunSummary, draft: Draft) -> _Changes | None:
    return {"status": "", "ended_at": None, "error": None} if run.status == "waiting" else None


def _forked(run: RunSummary, draft: Draft) -> _Changes:
    return {"started_at": draft.ts}


_APPLY: dict[str, Callable[[RunSummary, Draft], _Changes | None]] = {
    SessionStarted.type: _session,
    TeamStarted.type: _session,
    RunForked.type: _forked,
    RunParked.type: _parked,
    **{end.type: _ended for end in (RunCompleted, RunFailed, RunCancelled)},
    **dict.fromkeys(DECISIONS, _decided),
}
RUN_EVENTS = frozenset((RunStarted.type, RunPruned.type, LlmResponse.type, *_APPLY))
"""The types of the events that a row follows from."""


def _moment(draft: Draft) -> float:
    return datetime.fromisoformat(draft.ts).timestamp()


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
