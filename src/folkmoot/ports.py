"""Every place where the house touches the world, on one page.

The core asks for these; the adapters (`models`, `tools`, `journal`, `sinks`) answer them; only `app` knows both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Any, Literal, Protocol, TypeVar

from folkmoot.domain.agent import ModelChoice, Tuning
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.inbox import Item
from folkmoot.domain.message import Answer, Message, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.read_model import RecordRow
from folkmoot.domain.run_row import RunSort, RunSummary, SpendSum
from folkmoot.domain.sources import Sources
from folkmoot.domain.spans import call_span
from folkmoot.domain.value import Value

T = TypeVar("T")

Hear = Callable[[str], None]
"""Told each piece of an answer as it comes. Ephemeral: pieces are shown, never stored."""


class Request(Value):
    """One question to a model. `agent`, `session`, `turn` and `part` say who asks; they are never sent."""

    model: str
    """The provider's own name of the model."""
    messages: tuple[Message, ...]
    """The same objects from turn to turn, so that an adapter can encode each once."""
    tools: tuple[ToolSpec, ...]
    tuning: Tuning
    max_output: int
    agent: str
    session: str
    turn: int
    attempt: int = 1
    part: str = ""
    """Which part of its work, for an agent that works by a plan: `planner`, `executor`, `step`, …"""
    again: bool = False
    """The same may have been sent before, without an answer that came back."""
    hops: int = 0
    """How often the matter was passed on from agent to agent before; a remote agent is told."""
    contents: dict[str, bytes] = {}
    """What the parts of the messages hold, by artifact."""
    trace: dict[str, str] = {}
    """Headers that say which span of which trace it belongs to."""


class Model(Protocol):
    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        """Make one attempt. Raises `ModelFailed`; retrying, and how long one may take, is the session's business."""


class Models(Protocol):
    def choose(self, choice: ModelChoice) -> Model:
        """The adapter that speaks to this choice's provider."""


class Site(Value):
    """Where a tool call was made: its place in the journal, never the provider's id of it."""

    run: str
    session: str
    span: str
    turn: int
    call: int
    """Position in the model's answer, from 1."""
    work_dir: str = ""
    """Where its tools work: relative to the project, or absolute."""
    agent: str = ""
    """The id of the agent that made it."""
    work_session: str = ""
    """What its run belongs to."""
    sources: Sources = ()
    """What its session had read."""
    trace: dict[str, str] = {}
    """Headers that say which span of which trace it belongs to."""

    @property
    def below(self) -> str:
        """The span of whatever the call starts."""
        return call_span(self.span, self.turn, self.call)

    @property
    def key(self) -> str:
        """The idempotency key: the same when the call is repeated after a crash."""
        return f"{self.run}/{self.below}"


class Tools(Protocol):
    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What these names of an agent file stand for; the same objects each time."""

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        """Do it. Whatever goes wrong is a result that says so to the model."""


class Clock(Protocol):
    def now(self) -> str:
        """UTC, ISO 8601 with milliseconds and `Z`. For people and order, not for measuring."""

    def monotonic(self) -> float:
        """Seconds that never jump."""

    def readings(self) -> tuple[float, float]:
        """Seconds by the boot-time clock, which goes on while the machine sleeps, and by the wall clock."""

    async def sleep(self, seconds: float) -> None: ...

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        """Raise TimeoutError when `work` takes longer; 0 means without end."""


class Sink(Protocol):
    """A place outside that events are sent on to."""

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        """Pass these on together. Raises `SinkFailed`; then the same ones come again.

        What it returns is recorded with its position and given to the next call, as `kept`, over restarts too.
        """

    async def close(self) -> None: ...


class NewRun(Value):
    """Expect that the stream does not exist; it then belongs to `owner` with epoch 1."""

    owner: str
    """Empty: nobody's yet, and a worker is woken to take it."""
    lease: float
    """Seconds."""


class Epoch(Value):
    """Expect that the run is still owned under this epoch."""

    number: int


class Version(Value):
    """Expect that the stream ends with this `run_seq`; 0 for a stream that does not exist."""

    number: int


class Claim(Value):
    """Who owns a run, and until when if nobody renews it."""

    run: str
    owner: str
    epoch: int
    live: bool
    """Whether the lease still holds, as it seems; for people to see."""


class Post(Value):
    """What anyone left in a run's inbox: a cancel, later an answer."""

    id: int
    run: str
    kind: str
    body: str = ""


class Query(Value):
    """Which entries to read. Empty fields do not restrict."""

    stream: str = ""
    prefix: str = ""
    """Only streams whose names begin with this: all records of a kind."""
    types: tuple[str, ...] = ()
    after: int = 0
    """Only entries with a greater `seq`."""
    limit: int = 0
    newest_first: bool = False
    seqs: tuple[int, ...] = ()
    """Only the entries at these places, as far as they are still there."""


class Filter(Value):
    """Which entries somebody looks for, newest first unless they say otherwise. Empty fields do not restrict."""

    work_session: str = ""
    run: str = ""
    """Or the name of another stream: a task, a plan, a decision."""
    session: str = ""
    agent: str = ""
    step: str = ""
    """A step of a plan: what happened to it, and everything in the runs that carried it out."""
    role: str = ""
    types: tuple[str, ...] = ()
    """Names of events, or their beginnings with a `*`: `task.*`."""
    since: str = ""
    """UTC, as events have it."""
    until: str = ""
    before: int = 0
    """Only entries with a smaller `seq`: the next page."""
    limit: int = 100
    after: int = 0
    """Only entries with a greater `seq`."""
    oldest_first: bool = False


class RunQuery(Value):
    """Which runs to list. Empty fields do not restrict; an empty tuple fits none."""

    runs: tuple[str, ...] | None = None
    prefix: str = ""
    """Only runs whose ids begin with this."""
    statuses: tuple[str, ...] | None = None
    """As they are stored: empty for a run whose status depends on who holds it."""
    agents: tuple[str, ...] | None = None
    """Files of root agents."""
    agent: str = ""
    """The root agent, by its file or its id."""
    through: str = ""
    """Only runs whose request went through this agent."""
    work_session: str = ""
    since: str = ""
    """Only runs that started then or later; UTC, as events have it."""
    words: tuple[str, ...] = ()
    """In lower case; each must occur in what the row says."""
    sort: RunSort = "-started"
    before: tuple[str, int] | None = None
    """Only runs after the one that began then, in the order `-started`."""
    limit: int = 0
    offset: int = 0


class ItemQuery(Value):
    """Which items to list, the oldest first. Empty fields do not restrict."""

    id: str = ""
    run: str = ""
    status: str = ""


class RecordQuery(Value):
    """Which records to list, in the order in which they were created. Empty fields do not restrict."""

    kind: str = ""
    """How their ids begin, without `_`."""
    prefix: str = ""
    """Only those whose ids begin with this."""
    agent: str = ""
    """Of this, of `work_session` and in one of `statuses` is also what cannot be read."""
    statuses: tuple[str, ...] | None = None
    work_session: str = ""
    last: bool = False
    """Only the one that was created last."""


class SpendQuery(Value):
    """Which spending on models to sum up. Empty fields do not restrict."""

    by: Literal["", "agent", "model", "day", "run"] = ""
    """What there is a sum for; empty: one of everything."""
    runs: tuple[str, ...] | None = None
    work_session: str = ""
    since: str = ""
    """UTC, as events have it."""
    until: str = ""
    """Before this."""


class Stored(Value):
    """An entry as it lies in a journal, a backup or an exported file: nothing of it has been checked."""

    seq: int
    stream: str
    run_seq: int
    type: str
    id: str
    text: bytes
    """What was hashed, whole. Empty if a part of it is missing; `fault` then says which."""
    fault: str = ""


class Swept(Value):
    """What was removed for good."""

    artifacts: int = 0
    size: int = 0
    """Bytes."""


class Journal(Protocol):
    progress: Callable[[int, int], None]
    """Told how many entries of how many are applied when the read model is behind; from any thread."""

    @property
    def shared(self) -> bool:
        """Whether workers on any host may go on with its runs, and are woken for it."""

    async def installation_secret(self) -> bytes:
        """Of a shared journal, known to whoever may use it; empty where each user's installation has its own."""

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        """Take the drafts over at once, in the order of the calls; the future is done when all are durable.

        It fails with `Conflict` (NewRun, Version) or `StaleOwner` (Epoch); then none of them was written.
        """
        ...

    def keep(self, content: bytes) -> str:
        """Hand content over by its hash; durable no later than the next append of this process."""

    async def artifact(self, id: str) -> bytes:
        """Raises KeyError for an id that nobody kept."""

    def read(self, query: Query) -> AsyncIterator[Entry]:
        """What is durable now, in order."""

    def follow(self, after: int = 0) -> AsyncIterator[Entry]:
        """What is durable, then what becomes durable, in order, without end."""

    async def claim(self, run: str, owner: str, lease: float, after: str = "") -> Claim:
        """Take a run over under a higher epoch. Raises `Held` while the lease of another owner than `after` holds: who
        claims a run of a shared journal must have watched its owner for a whole lease.

        `after` is an owner that is known to have died: its lease need not be waited for.
        """

    async def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        """Say that their owner lives. The runs that are still owned under these claims."""

    async def release(self, claim: Claim, *, wake: bool = False) -> None:
        """Let go at once, so that the next claim need not wait. `wake`: and leave the run to a worker."""

    async def claims(self, runs: Collection[str] | None = None) -> Sequence[Claim]:
        """Who owns or last owned each run, or each of these."""

    async def post(self, run: str, kind: str, body: str = "", *, wake: bool = True) -> None:
        """Leave something in a run's inbox without owning the run. If nobody owns it a worker is woken, unless the
        sender goes on with it."""

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        """What lies in these inboxes and was not taken yet."""

    async def take(self, post: Post) -> None:
        """Mark as taken in; its owner has recorded it as an event."""

    async def runs(self, query: RunQuery) -> list[RunSummary]:
        """Rows of the table of runs, as of what is durable now."""

    async def count_runs(self, query: RunQuery) -> int:
        """How many runs fit, whatever page is asked for."""

    async def group_runs(self, query: RunQuery, by: Sequence[str]) -> list[tuple[Any, ...]]:
        """The different values of these columns of the runs that fit, each with how many have them."""

    async def items(self, query: ItemQuery) -> list[Item]:
        """Rows of the inbox of all runs, without replies that no run has acknowledged yet."""

    async def records(self, query: RecordQuery) -> list[RecordRow]:
        """Rows of tasks, plans, decisions, work sessions and whatever else outlives a run."""

    async def spend(self, query: SpendQuery) -> list[SpendSum]:
        """Sums over the spending of all runs, by name."""

    async def rebuild(self) -> None:
        """Make the tables of the read model anew from the entries."""

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        """As `read`, but unchecked: for whoever checks entries, or passes them on as they are."""

    async def restore(self, stream: str, entries: Sequence[Stored]) -> None:
        """Add a whole stream as another journal wrote it: texts, times and ids stay, only `seq` is new.

        Nobody owns it. Fails with `Conflict` if there is such a stream; all of it is written, or nothing.
        """

    async def prune(self, run: str, expected: Version, tombstone: Draft) -> int:
        """Put a `run.pruned` at the end of a run and remove all before it, in one step; how many entries that were.

        `prev` of the tombstone keeps the last hash. Fails with `Conflict`; then nothing was removed.
        """

    async def sweep(self, young: float) -> Swept:
        """Remove the artifacts that no entry names, unless they were kept within the last `young` seconds."""

    async def close(self) -> None: ...
