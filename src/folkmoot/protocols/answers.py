"""What chat clients are answered: the run that a client waits for, the reply about it in no wire format yet, and which
runs answered which place in a conversation, folded from the journal: a restart forgets nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import RunCompleted, RunParked, RunStarted
from folkmoot.domain.inbox import Item
from folkmoot.domain.inbox_events import ClientAnswered, ClientCalled, QuestionAnswered
from folkmoot.domain.message import Origin
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound
from folkmoot.http.problems import NO_RETRY, ChatError
from folkmoot.ports import Query
from folkmoot.protocols.conversation import ChatRequest, EarlierTurn
from folkmoot.protocols.runs import RESTS
from folkmoot.views.costs import Totals
from folkmoot.views.inbox import how_to_answer, what
from folkmoot.views.result import Result

_FOLDED = (RunStarted, RunCompleted, ClientCalled, ClientAnswered, QuestionAnswered)
_TYPES = tuple(event.type for event in _FOLDED)


class AwaitedRun(Value):
    """A run that a client waits for."""

    run: str
    entries: int = 0
    """How many the run had before."""
    spent: Totals = Totals()
    """What it had cost before."""
    answered: tuple[str, ...] = ()
    """Ids in its inbox that this request answered."""
    still: bool = False
    """Nothing happens in it before somebody else acts."""
    keyed: bool = False
    """Its client may come back for it, with the idempotency key of its request."""

    @property
    def name(self) -> str:
        """Of the answer: that of its run, and how many entries it had when it was continued."""
        return f"{self.run}.{self.entries}" if self.entries else self.run

    def is_over(self, result: Result, entries: int) -> bool:
        """Whether this result, of so many entries, is what the client waits for."""
        if result.status != "waiting":
            return result.status != "interrupted"
        return self.still or (entries > self.entries and self.has_read_answers(result))

    def has_read_answers(self, result: Result) -> bool:
        """A run may be resumed, and wait again, between two answers that its client gives at once."""
        return not any(item.id in self.answered for item in result.inbox)


class ClientCall(Value):
    """Of a tool of the client, under the client's own name and in its form."""

    id: str
    tool: Origin
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The tool's input: one text if it is freeform, otherwise JSON."""
        given = self.arguments.get("input", "") if self.tool.freeform else self.arguments
        return given if isinstance(given, str) else msgspec.json.encode(given).decode()


class ChatReply(Value):
    run: str
    work_session: str
    status: str
    text: str
    """The report, or what the run waits for."""
    usage: Totals
    """Of this request alone, also if its run was continued."""
    cost_usd: float
    """Of the whole run."""
    waiting: tuple[str, ...] = ()
    """Ids in the inbox."""
    calls: tuple[ClientCall, ...] = ()
    """Of the client's own tools; the run waits for their results."""
    error: str = ""
    """Why there is no report."""
    code: str = ""
    """The same as one word."""

    @property
    def about(self) -> dict[str, object]:
        """The field `folkmoot` of every answer, beside the fields of its format."""
        return {
            "runId": self.run,
            "workSessionId": self.work_session,
            "status": self.status,
            "waiting": list(self.waiting),
            "costUsd": self.cost_usd,
        }

    @property
    def failure(self) -> ChatError | None:
        """A client that sends such a request again runs, and pays for, everything once more."""
        if not self.error:
            return None
        status = 409 if self.status == "cancelled" else 500
        return ChatError(status, f"{self.error} (run {self.run})", code=self.code, headers=NO_RETRY)


def build_reply(result: Result, awaited: AwaitedRun, page: str) -> ChatReply:
    """`page` is the address of this server."""
    waits, report = result.status == "waiting", result.final_report
    calls = [item for item in result.inbox if item.kind == "client_call"] if waits else []
    origins = {spec.name: spec.origin for spec in result.errand.tools if spec.origin}
    well = waits or result.success
    now, before = result.totals, awaited.spent
    return ChatReply(
        run=awaited.run,
        work_session=result.work_session,
        status=result.status,
        text=_waiting_text(result, page) if waits else report.content if report else "",
        usage=Totals(*(getattr(now, name) - getattr(before, name) for name in Totals.__struct_fields__)),
        cost_usd=now.cost_usd,
        waiting=tuple(result.waiting),
        calls=tuple(
            ClientCall(item.id, origins.get(item.tool) or Origin(item.tool), item.arguments) for item in calls
        ),
        error="" if well else result.error or f"it is {result.status}",
        code="" if well else (result.stop_reason or result.status).lower(),
    )


def waiting_mark(run: str) -> str:
    """Names the run in the text of a waiting run: the conversation's next message is known to come after it."""
    return f"Run {run} waits for a person"


def _waiting_text(result: Result, page: str) -> str:
    """For whom the run waits beside its client; empty if for nobody else. Questions come first: to the person at the
    client they are the assistant's own words."""
    items = [item for item in result.inbox if item.kind != "client_call"]
    paused = [id for id in result.waiting if id.startswith("ws_")]
    if not items and not paused:
        return ""
    lines = [line for item in items if item.kind == "question" for line in (item.question, "")]
    lines += [f"_{waiting_mark(result.run_id)}._", "", *_item_lines(items, page)]
    lines += [
        f"Its work session {id} is paused: `folkmoot work resume {id}`, or {page}work/{id}" for id in paused
    ]
    return "\n".join(lines).strip()


def _item_lines(items: Sequence[Item], page: str) -> Iterator[str]:
    for item in items:
        if item.kind == "question":
            yield f"- {item.agent} asks ({item.id}): your next message here is the answer."
        elif item.kind == "approval":
            yield f"- {item.agent} may not go on without a yes or no ({item.id}): `{what(item)}`"
        else:
            yield f"- {item.agent} may or may not have done this ({item.id}): `{what(item)}`"
        commands = " or ".join(f"`{command}`" for command in how_to_answer(item))
        yield f"  Elsewhere: {page}inbox/{item.id}, or: {commands}"


class AnsweringRun(Value):
    """A run that answered a place in a conversation."""

    run: str
    work_session: str
    answer: str = ""
    """The last answer that the client has; empty if it does not say."""


class PastAnswer(Value):
    """A run up to the end of an answer to a client."""

    run: str
    entries: int
    """How many it had when that was asked."""
    drafts: tuple[Draft, ...]

    @property
    def awaited(self) -> AwaitedRun:
        return AwaitedRun(self.run, self.entries, Result(self.run, self.drafts[: self.entries]).totals)

    @property
    def is_over(self) -> bool:
        """Whether the run had ended or waited there."""
        return len(self.drafts) > self.entries and isinstance(self.drafts[-1].event, RESTS)

    def reply(self, page: str) -> ChatReply:
        return build_reply(Result(self.run, self.drafts), self.awaited, page)


async def read_entries(moot: Folkmoot, run: str) -> list[Entry]:
    entries = [entry async for entry in moot.events(run)]
    if not entries or not isinstance(entries[0].event, RunStarted):
        raise NotFound(
            f"there is no run {run!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return entries


async def read_drafts(moot: Folkmoot, run: str) -> list[Draft]:
    return [entry.draft for entry in await read_entries(moot, run)]


async def find_answer(moot: Folkmoot, name: str) -> PastAnswer:
    """By its name, see `AwaitedRun.name`. Raises `NotFound` if there is none."""
    run, _, number = name.partition(".")
    drafts = await read_drafts(moot, run)
    entries = int(number) if number.isdecimal() and number.isascii() else 0
    ends = (at for at, draft in enumerate(drafts, 1) if at > entries and isinstance(draft.event, RESTS))
    return PastAnswer(run, entries, tuple(drafts[: next(ends, len(drafts))]))


class AnsweredRuns:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._lock = asyncio.Lock()
        self._seen = 0
        self._runs: dict[str, list[AnsweringRun]] = {}
        """By thread, the oldest first."""
        self._reports: dict[str, int] = {}
        """The hash of each run's report."""
        self._calls: dict[str, AnsweringRun] = {}
        """By the id of a call of a client's tool: the run that waits for its result."""
        self._keyed: dict[str, tuple[str, str]] = {}
        """By idempotency key: what is recorded of the first request under it, and its run."""

    async def keyed(self, key: str) -> tuple[str, str] | None:
        """The first request under this key that started a run or answered one, as recorded, and that run."""
        await self._catch_up()
        return self._keyed.get(key)

    async def calling(self, ids: Sequence[str]) -> AnsweringRun | None:
        """The run that called a client's tool under one of these ids, whatever else the client repeats."""
        await self._catch_up()
        return next((self._calls[id] for id in ids if id in self._calls), None)

    async def last_before(self, asked: ChatRequest) -> AnsweringRun | None:
        """The run that answered the conversation last."""
        if asked.results and (calling := await self.calling([result.answers for result in asked.results])):
            return calling
        if not asked.after:
            return await self._find((EarlierTurn(asked.thread),) * bool(asked.results) + asked.earlier)
        past = await find_answer(self._moot, asked.after)
        waited = isinstance(past.drafts[-1].event, RunParked)
        mark = waiting_mark(past.run) if waited else ""
        return AnsweringRun(past.run, past.drafts[0].work_session_id, mark)

    async def _find(self, earlier: Sequence[EarlierTurn]) -> AnsweringRun | None:
        """Of the latest place with a known run. Of several that answered the same place, the one whose answer the
        client has; otherwise the youngest."""
        if not earlier:
            return None
        await self._catch_up()
        for place in earlier:
            if runs := self._runs.get(place.thread):
                answer = hash(place.answer)
                same = [run for run in runs if self._reports[run.run] == answer or run.run in place.answer]
                chosen = (same or runs)[-1]
                return AnsweringRun(chosen.run, chosen.work_session, earlier[0].answer)
        return None

    async def _catch_up(self) -> None:
        async with self._lock:
            async for entry in self._moot.moot.journal.read(Query(types=_TYPES, after=self._seen)):
                self._apply(entry)
                self._seen = entry.seq

    def _apply(self, entry: Entry) -> None:
        if recorded := recorded_key(entry.event):
            self._keyed.setdefault(recorded.partition(".")[0], (recorded, entry.stream))
        match entry.event:
            case RunStarted(errand=errand) if errand.thread:
                started = AnsweringRun(entry.stream, entry.draft.work_session_id)
                self._runs.setdefault(errand.thread, []).append(started)
                self._reports[entry.stream] = 0
            case ClientCalled(id=id):
                started = AnsweringRun(entry.stream, entry.draft.work_session_id)
                self._calls.setdefault(id, started)  # a fork has it too, later
            case RunCompleted(outcome=outcome) if entry.stream in self._reports and outcome.report:
                self._reports[entry.stream] = hash(outcome.report.content.strip())


def recorded_key(event: Event) -> str:
    """The idempotency key of the request behind this event; empty if it had none."""
    match event:
        case RunStarted(errand=errand):
            return errand.ticket
        case ClientAnswered(ticket=ticket) | QuestionAnswered(ticket=ticket):
            return ticket
    return ""
