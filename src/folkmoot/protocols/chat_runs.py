"""A chat client's request as a run: started, or continued where the conversation says so, until it ends or waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunParked
from folkmoot.domain.inbox import Item, Reply
from folkmoot.domain.part import Part
from folkmoot.domain.trace import Told
from folkmoot.engine.admission import check_request, limit_attachments, names_in_use
from folkmoot.errors import HandedOver, Held, StaleOwner, WrongUse
from folkmoot.http.problems import NO_RETRY, ChatError, as_bad_request
from folkmoot.http.requests import read_idempotency_key, read_trace, reused_key_error
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.http.stream.event_source import run_while_connected
from folkmoot.ports import Filter
from folkmoot.protocols.answers import (
    AnsweredRuns,
    AnsweringRun,
    AwaitedRun,
    ChatReply,
    build_reply,
    read_drafts,
    read_entries,
    recorded_key,
    waiting_mark,
)
from folkmoot.protocols.content import format_note, rename_used_names
from folkmoot.protocols.conversation import ChatMessage, ChatRequest
from folkmoot.protocols.runs import RESTS, follow_run
from folkmoot.views.result import Result

WORK_SESSION = "x-folkmoot-work-session"
"""The header that names the work session of a request."""


class ClientDisconnected(ClientDisconnect):
    """The client has disconnected, and its run is cancelled."""


@dataclass(frozen=True)
class ChatRuns:
    """The runs of one client's request."""

    house: ServerState
    page: str
    """The address of this server, as its client knows it."""
    key: str = ""
    """Of the request, as recorded with its events: see `read_key`."""
    trace: Told = field(default_factory=Told)
    """The trace that the request belongs to."""

    @classmethod
    async def of(cls, request: Request) -> ChatRuns:
        return cls(
            get_server_state(request),
            read_server_url(request),
            await read_key(request),
            read_trace(request.headers),
        )

    async def start(self, asked: ChatRequest, *, surely: bool = True) -> AwaitedRun:
        """Answer what the conversation's last run asked, or start a new one. `surely`: every refusal is raised here,
        before anything is sent; otherwise also by `reply_unless_gone`, which costs less."""
        if not self.key:
            return await self._start(asked, Errand(**self.trace), surely=surely)
        run, _, content = self.key.partition(".")
        return await self.house.repeats.once(run, content, lambda: self._start_once(run, asked))

    async def _start_once(self, run: str, asked: ChatRequest) -> AwaitedRun:
        """The run of the first request under this key, also from before this server was started."""
        if known := await self._answered.keyed(run):
            recorded, first = known
            if recorded != self.key:
                raise reused_key_error()
            if first == run:
                return AwaitedRun(run, keyed=True)
        errand = Errand(run=run, ticket=self.key, **self.trace)
        return replace(await self._start(asked, errand, surely=True), keyed=True)

    async def _start(self, asked: ChatRequest, errand: Errand, *, surely: bool) -> AwaitedRun:
        before = await self._answered.last_before(asked)
        if before and (awaited := await self._continue(before, asked, errand.ticket)):
            return awaited
        errand = await self._errand(asked, errand, before)
        room = self.house.room
        if surely or self._moot.moot.journal.shared:
            with suppress(Held):  # the same request came to another server at the same time
                errand = replace(errand, run=await room.begin(asked.agent, asked.request, errand))
            awaited = AwaitedRun(errand.run)
        else:
            awaited = AwaitedRun(room.start(asked.agent, asked.request, errand))
        await self._cancel_dropped(asked)
        return awaited

    async def _errand(self, asked: ChatRequest, errand: Errand, before: AnsweringRun | None) -> Errand:
        """What a new run belongs to and is given. Raises `ChatError` and `Refused` for a wrong request."""
        moot, agent = self._moot, self._moot.agent(asked.agent)
        if not asked.request:
            raise ChatError(400, "no run waits for these results; say something beside them", param="input")
        with as_bad_request():
            check_request(agent, asked.request)
        used = names_in_use(moot.graph, moot.kits, agent) if asked.tools else ()
        errand = replace(
            errand,
            sources=Result(before.run, await read_drafts(moot, before.run)).sources if before else (),
            attachments=asked.parts,
            work_session=asked.work_session or (before.work_session if before else ""),
            blocks=tuple(replace(block, text=moot.secrets.text(block.text)) for block in asked.blocks),
            tools=tuple(rename_used_names(asked.tools, used)),
            thread=asked.thread,
            aloud=True,
        )
        with as_bad_request():
            return moot.enclose(errand, asked.files)

    async def _continue(self, before: AnsweringRun, asked: ChatRequest, key: str) -> AwaitedRun | None:
        """A run that waits, or whose end the client does not have yet; none if this is a new request. A request that
        comes again under its key answers nothing twice."""
        if not asked.results and waiting_mark(before.run) not in before.answer:
            return None
        items = {item.id: item for item in await self._moot.inbox(before.run)}
        if not _is_answer(items.values(), asked):
            return None
        drafts = await read_drafts(self._moot, before.run)
        first = _count_earlier_entries(drafts, key)
        mine = tuple(item.id for item in items.values() if key and item.ticket == key)
        awaited = AwaitedRun(before.run, first, Result(before.run, drafts[:first]).totals, mine)
        if not isinstance(drafts[-1].event, RunParked):
            return awaited
        open = [item for item in items.values() if item.is_open]
        replies = [reply for item in open for reply in _build_replies(self._moot, item, asked)]
        replies = replies if asked.results else replies[:1] if not mine else []
        for reply in replies:
            with suppress(WrongUse):  # somebody else was quicker
                concealed = self._moot.secrets.text(reply.text)
                await self._moot.reply(replace(reply, text=concealed, ticket=key))
        if not replies and first < len(drafts):
            return awaited
        answered = (*mine, *(reply.id for reply in replies))
        if open and not answered:
            return replace(awaited, still=True)
        self.house.go_on(before.run)
        return replace(awaited, answered=answered)

    async def _cancel_dropped(self, asked: ChatRequest) -> None:
        """Cancel runs that wait for results of the client's tools, if the conversation continued without them. A client
        that does not name those calls any more may be another one that asked the same: their time limit ends them."""
        runs = [calling.run for id in asked.dropped if (calling := await self._answered.calling([id]))]
        if asked.after and not asked.results:
            runs.append(asked.after.partition(".")[0])
        for run in dict.fromkeys(runs):
            if any(item.is_open and item.kind == "client_call" for item in await self._moot.inbox(run)):
                with suppress(WrongUse):  # it has ended meanwhile
                    why = "its conversation went on without the results that it waits for"
                    await self._moot.cancel(run, why)

    async def reply_unless_gone(self, awaited: AwaitedRun, receive: Receive) -> ChatReply:
        """Raises `ClientDisconnected` if the client disconnects first."""
        if reply := await run_while_connected(receive, self.reply(awaited)):
            return reply
        await self.cancel(awaited)
        raise ClientDisconnected

    async def reply(self, awaited: AwaitedRun) -> ChatReply:
        """When the run has ended or waits, in whichever process it runs."""
        return build_reply(await self._result(awaited), awaited, self.page)

    async def progress(self, awaited: AwaitedRun) -> AsyncIterator[Draft]:
        """What happens in the run, until it has ended or waits."""
        entries = await read_entries(self._moot, awaited.run)
        if awaited.entries and _find_result(awaited, entries):
            return
        after = entries[awaited.entries - 1].seq if awaited.entries else entries[0].seq - 1
        async for entry in self.house.hub.subscribe(Filter(run=awaited.run), after):
            yield entry.draft
            if isinstance(entry.event, RESTS):
                return

    def texts(self, awaited: AwaitedRun) -> AsyncIterator[str]:
        """The report as the model writes it, each time from the beginning; nothing, if a worker runs it."""
        return self.house.tokens.follow_report(awaited.run)

    async def cancel(self, awaited: AwaitedRun) -> None:
        """Because its client has gone. A client with a key may come back: its run stays."""
        if awaited.keyed:
            return
        try:
            await self._moot.cancel(awaited.run, "its client has gone")
        except WrongUse:  # it is over already, or was not begun yet
            if task := self.house.room.task(awaited.run):
                task.cancel()

    @property
    def _moot(self) -> Folkmoot:
        return self.house.moot

    @property
    def _answered(self) -> AnsweredRuns:
        return self.house.one(AnsweredRuns)

    async def _result(self, awaited: AwaitedRun) -> Result:
        if awaited.keyed and (found := _find_result(awaited, await read_entries(self._moot, awaited.run))):
            return found
        if task := self.house.room.task(awaited.run):
            try:
                result = await asyncio.shield(task)
                if awaited.has_read_answers(result):
                    return result
            except (Held, StaleOwner):
                pass  # another process goes on with it
            except HandedOver as error:
                stops = f"the server stops; run {awaited.run} goes on when it is started again"
                retry = {} if awaited.keyed else NO_RETRY
                raise ChatError(503, stops, code="server_stops", headers=retry) from error
        while True:
            entries = await read_entries(self._moot, awaited.run)
            if found := _find_result(awaited, entries):
                return found
            async for _ in follow_run(self._moot, awaited.run, entries[-1].seq):
                pass


async def read_key(request: Request) -> str:
    """Its idempotency key with the path, hashed: also the id of the run that it starts; and the hash of its content.
    Empty if it has no key."""
    if not (key := read_idempotency_key(request)):
        return ""
    content = request.headers.get(WORK_SESSION, "").encode() + b"\n" + await request.body()
    return f"{_hash(f'{request.url.path} {key}'.encode())}.{_hash(content)}"


def read_server_url(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}/"


def _is_answer(items: Iterable[Item], asked: ChatRequest) -> bool:
    """Whether the client answers something in a run's inbox, and does not ask something new."""
    if asked.results:
        return bool({item.id for item in items} & {result.answers for result in asked.results})
    return {item.kind for item in items if item.is_open} != {"client_call"}


def _count_earlier_entries(drafts: Sequence[Draft], key: str) -> int:
    """How many entries the run had when the request with this key came first; all, if it comes now."""
    answers = (at for at, draft in enumerate(drafts) if key and recorded_key(draft.event) == key)
    first = next(answers, len(drafts))
    parked = [at for at, draft in enumerate(drafts[:first], 1) if isinstance(draft.event, RunParked)]
    return parked[-1] if parked and first < len(drafts) else first


def _build_replies(moot: Folkmoot, item: Item, asked: ChatRequest) -> Iterator[Reply]:
    """Results answer calls of the client's tools, otherwise the user's words answer a question. An approval is never
    answered by words."""
    if item.kind == "question" and not asked.results:
        yield item.answer(asked.request)
    for result in asked.results if item.kind == "client_call" else ():
        if result.answers == item.id:
            text, parts = _store_files(moot, result)
            reply = item.settle("fail", text) if result.failed else item.answer(text)
            yield replace(reply, parts=parts)


def _store_files(moot: Folkmoot, result: ChatMessage) -> tuple[str, tuple[Part, ...]]:
    """A tool's result as text that names the artifacts of its files, and the images among them."""
    files = limit_attachments(result.files)
    parts = moot.enclose(Errand(), files).attachments
    notes = [format_note(f"{part} is artifact {part.artifact}") for part in parts]
    notes += [
        format_note(f"{file.name} is too much beside the others") for file in result.files[len(files) :]
    ]
    return "\n".join((result.text, *notes)).strip(), tuple(part for part in parts if part.is_image)


def _find_result(awaited: AwaitedRun, entries: Sequence[Entry]) -> Result | None:
    """What the client waits for, if it is there. Under a key that is the first such result, though the run may have
    continued since."""
    drafts = [entry.draft for entry in entries]
    first = max(awaited.entries, 1) if awaited.keyed else len(drafts)
    for at in range(first, len(drafts) + 1):
        if isinstance(drafts[at - 1].event, RESTS):
            result = Result(awaited.run, drafts[:at])
            if awaited.is_over(result, at):
                return result
    return None


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:20]
