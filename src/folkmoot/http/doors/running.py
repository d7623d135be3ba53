"""A client's request as a run: begun, or gone on with where the conversation says so, until it has ended or waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Receive

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.sources import Sources
from folkmoot.domain.trace import Told
from folkmoot.domain.value import Value
from folkmoot.engine.admission import check_request, names_in_use
from folkmoot.errors import HandedOver, Held, StaleOwner, WrongUse
from folkmoot.http.doors.client_tools import with_free_names
from folkmoot.http.doors.conversation import Talk
from folkmoot.http.doors.going_on import entries_of, gone_on, let_go, run_before
from folkmoot.http.doors.reading import WORK_SESSION
from folkmoot.http.doors.reply import OVER, Going, Reply, reply_of
from folkmoot.http.doors.threads import Answered, Threads
from folkmoot.http.doors.wrong import NO_RETRY, Wrong
from folkmoot.http.house import House, house_of
from folkmoot.http.problems import input_refused
from folkmoot.http.repeating import another_request, key_of
from folkmoot.http.tracing import trace_of
from folkmoot.ports import Filter
from folkmoot.views.result import Result


class Gone(Exception):
    """The client has gone, and its run is cancelled."""


@dataclass(frozen=True)
class Running:
    """The runs of one client's request."""

    house: House
    threads: Threads
    page: str
    """The address of this server, as its client knows it."""
    ticket: Ticket | None = None
    """If the request may come again."""
    trace: Told = field(default_factory=Told)
    """What it belongs to."""

    @classmethod
    async def of(cls, request: Request) -> Running:
        page = f"{request.url.scheme}://{request.url.netloc}/"
        trace = trace_of(request.headers)
        return cls(house_of(request), request.app.state.threads, page, await ticket_of(request), trace)

    async def begin(self, talk: Talk, *, surely: bool = True) -> Going:
        """Answer what the conversation's last run asked, or start a new one. `surely`: whatever speaks against that is
        raised here, before anything is told; otherwise also by `ended`, which costs less."""
        if ticket := self.ticket:
            return await self.house.repeats.once(ticket.key, ticket.asks, lambda: self._once(ticket, talk))
        return await self._begin(talk, Errand(**self.trace), surely=surely)

    async def _once(self, ticket: Ticket, talk: Talk) -> Going:
        """Whatever the request came to when it came first, also before this server was started."""
        if taken := await self.threads.taken(ticket.key):
            ticket.require_same(taken.ticket)
            if taken.run == ticket.key:
                return Going(ticket.key, keyed=True)
        errand = Errand(run=ticket.key, ticket=str(ticket), **self.trace)
        return replace(await self._begin(talk, errand, surely=True), keyed=True)

    async def _begin(self, talk: Talk, errand: Errand, *, surely: bool) -> Going:
        before = await run_before(self.house, self.threads, talk)
        if before and (going := await gone_on(self.house, before, talk, errand.ticket)):
            return going
        self._check(talk)
        errand = replace(
            errand,
            sources=await self._read(before) if before else (),
            attachments=talk.parts,
            work_session=talk.work_session or (before.work_session if before else ""),
            blocks=tuple(map(self._concealed, talk.blocks)),
            tools=self._free(talk),
            thread=talk.thread,
            aloud=True,
        )
        with input_refused():
            errand = self._moot.enclose(errand, talk.files)
        going = await self._started(talk, errand, surely=surely)
        await let_go(self.house, self.threads, talk)
        return going

    async def _read(self, before: Answered) -> Sources:
        """What was read for the answers that the conversation goes on from."""
        drafts = [entry.draft for entry in await entries_of(self._moot, before.run)]
        return Result(before.run, drafts).sources

    async def _started(self, talk: Talk, errand: Errand, *, surely: bool) -> Going:
        room = self.house.room
        if surely or self._moot.moot.journal.shared:
            with suppress(Held):  # the same request came to another server at the same time
                errand = replace(errand, run=await room.begin(talk.agent, talk.request, errand))
            return Going(errand.run)
        return Going(room.start(talk.agent, talk.request, errand))

    async def ended(self, going: Going, receive: Receive) -> Reply:
        """When it has ended or waits. Raises `Gone` if its client goes before."""
        reply = asyncio.create_task(self.reply(going))
        gone = asyncio.create_task(left(receive))
        try:
            await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
            if reply.done():
                return reply.result()
        finally:
            for task in (reply, gone):
                task.cancel()
        await self.cancel(going)
        raise Gone

    async def reply(self, going: Going) -> Reply:
        """When the run has ended or waits, whoever runs it."""
        return reply_of(await self._result(going), going, self.page)

    async def progress(self, going: Going) -> AsyncIterator[Draft]:
        """What happens in the run, until it has ended or waits."""
        entries = await entries_of(self._moot, going.run)
        if going.entries and _told(going, entries):
            return
        after = entries[going.entries - 1].seq if going.entries else entries[0].seq - 1
        async for entry in self.house.hub.subscribe(Filter(run=going.run), after):
            yield entry.draft
            if isinstance(entry.event, OVER):
                return

    def words(self, going: Going) -> AsyncIterator[str]:
        """What is said of its report, each time from the beginning; nothing, if a worker runs it."""
        return self.house.spoken.follow(going.run)

    async def cancel(self, going: Going) -> None:
        """Because its client has gone. One that has a key may come back, and its run stays."""
        if going.keyed:
            return
        try:
            await self._moot.cancel(going.run, "its client has gone")
        except WrongUse:  # it is over already, or was not begun yet
            if task := self.house.room.task(going.run):
                task.cancel()

    @property
    def _moot(self) -> Folkmoot:
        return self.house.moot

    def _check(self, talk: Talk) -> None:
        """What is wrong in the request itself."""
        if not talk.request:
            raise Wrong(400, "no run waits for these results; say something beside them", param="input")
        agent = self._moot.agent(talk.agent)
        with input_refused():
            check_request(agent, talk.request)

    def _free(self, talk: Talk) -> tuple[ToolSpec, ...]:
        """The client's tools, none of them under a name that is in use here."""
        moot = self._moot
        taken = names_in_use(moot.graph, moot.kits, moot.agent(talk.agent)) if talk.tools else ()
        return tuple(with_free_names(talk.tools, taken))

    def _concealed(self, block: Block) -> Block:
        return replace(block, text=self._moot.secrets.text(block.text))

    async def _result(self, going: Going) -> Result:
        if going.keyed and (told := _told(going, await entries_of(self._moot, going.run))):
            return told
        if task := self.house.room.task(going.run):
            try:
                result = await asyncio.shield(task)
                if going.is_heard(result):
                    return result
            except (Held, StaleOwner):
                pass  # another process goes on with it
            except HandedOver as error:
                stops = f"the server stops; run {going.run} goes on when it is started again"
                retry = {} if going.keyed else NO_RETRY
                raise Wrong(503, stops, code="server_stops", headers=retry) from error
        while True:
            entries = await entries_of(self._moot, going.run)
            if told := _told(going, entries):
                return told
            async for entry in self._moot.events(going.run, follow=True, after=entries[-1].seq):
                if isinstance(entry.event, OVER):
                    break


def _told(going: Going, entries: Sequence[Entry]) -> Result | None:
    """What its client is told, if it has come to that. Under a key that is what it came to first, though the run may
    have gone on since."""
    drafts = [entry.draft for entry in entries]
    first = max(going.entries, 1) if going.keyed else len(drafts)
    for at in range(first, len(drafts) + 1):
        if isinstance(drafts[at - 1].event, OVER):
            result = Result(going.run, drafts[:at])
            if going.is_over(result, at):
                return result
    return None


async def left(receive: Receive) -> None:
    """When the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def seconds(time: str) -> int:
    """As these clients count it."""
    return int(datetime.fromisoformat(time).timestamp())


class Ticket(Value):
    key: str
    """By hash, and for one address: also the name of the run that the request starts."""
    asks: str
    """What the request holds, by hash."""

    def __str__(self) -> str:
        """As it is recorded with what came of it."""
        return f"{self.key}.{self.asks}"

    def require_same(self, recorded: str) -> None:
        """Raises `Refused` if something else was asked under this key."""
        if recorded != str(self):
            raise another_request()


async def ticket_of(request: Request) -> Ticket | None:
    """None if it has no key."""
    if not (key := key_of(request)):
        return None
    asks = request.headers.get(WORK_SESSION, "").encode() + b"\n" + await request.body()
    return Ticket(_hash(f"{request.url.path} {key}".encode()), _hash(asks))


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:20]
