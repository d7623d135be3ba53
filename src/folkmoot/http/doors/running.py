"""A client's request as a run: begun, or gone on with where the conversation says so, until it has ended or waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Receive

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.events import RUN_ENDS, RunParked, RunStarted
from folkmoot.domain.item import Item
from folkmoot.domain.message import ToolCall
from folkmoot.domain.value import Value
from folkmoot.engine.admission import check_request
from folkmoot.errors import HandedOver, Held, StaleOwner, WrongUse
from folkmoot.http.doors.conversation import Earlier, Talk
from folkmoot.http.doors.threads import Answered, Threads
from folkmoot.http.doors.waiting import is_told, told
from folkmoot.http.doors.wrong import NO_RETRY, Wrong
from folkmoot.http.house import House, house_of
from folkmoot.http.problems import input_refused
from folkmoot.ports import Filter
from folkmoot.views.accounting import Totals
from folkmoot.views.result import Result


class Reply(Value):
    """What becomes of a request."""

    run: str
    work_session: str
    status: str
    text: str
    """The report, or what the run waits for."""
    usage: Totals
    """What this request cost: of a run that was gone on with, not what it had cost before."""
    cost_usd: float
    """Of the whole run."""
    waiting: tuple[str, ...] = ()
    """Ids in the inbox."""
    calls: tuple[ToolCall, ...] = ()
    """Of the client's own tools; their results let the run go on."""
    error: str = ""
    """Why there is no report."""
    code: str = ""
    """The same as one word."""

    @property
    def about(self) -> dict[str, object]:
        """What every answer says of Folkmoot's own, beside the fields of its format."""
        return {
            "runId": self.run,
            "workSessionId": self.work_session,
            "status": self.status,
            "waiting": list(self.waiting),
            "costUsd": self.cost_usd,
        }

    @property
    def wrong(self) -> Wrong | None:
        """Whoever sends such a request again runs, and pays for, everything once more."""
        if not self.error:
            return None
        status = 409 if self.status == "cancelled" else 500
        return Wrong(status, f"{self.error} (run {self.run})", code=self.code, headers=NO_RETRY)


class Going(Value):
    """A run that a client waits for."""

    run: str
    position: int
    """In the journal: what happens after it, happens for this request."""
    entries: int = 0
    """How many the run had before."""
    spent: Totals = Totals()
    """What it had cost before."""
    still: bool = False
    """Nothing happens in it before somebody else acts."""

    @property
    def name(self) -> str:
        """Of the answer: that of its run, and of the time that it was gone on with."""
        return f"{self.run}.{self.entries}" if self.entries else self.run

    def is_over(self, drafts: Sequence[Draft]) -> bool:
        """Whether these tell its client all there is to tell now."""
        last = drafts[-1].event
        waits = isinstance(last, RunParked) and (self.still or len(drafts) > self.entries)
        return waits or isinstance(last, RUN_ENDS)


class Gone(Exception):
    """The client has gone, and its run is cancelled."""


@dataclass(frozen=True)
class Running:
    """The runs of one client's request."""

    house: House
    threads: Threads
    page: str
    """The address of this server, as its client knows it."""

    @classmethod
    def of(cls, request: Request) -> Running:
        return cls(
            house_of(request), request.app.state.threads, f"{request.url.scheme}://{request.url.netloc}/"
        )

    async def begin(self, talk: Talk) -> Going:
        """Answer what the conversation's last run asked, or start a new one. Raises what speaks against it."""
        position = await self._moot.position()
        before = await self._before(talk)
        if before and (going := await self._gone_on(before, talk, position)):
            return going
        if talk.tools:
            raise Wrong(400, "tools of clients are not offered to agents yet", param="tools")
        with input_refused():
            check_request(self._moot.agent(talk.agent), talk.request)
        errand = Errand(
            work_session=talk.work_session or (before.work_session if before else ""),
            blocks=tuple(map(self._concealed, talk.blocks)),
            thread=talk.thread,
        )
        return Going(await self.house.room.begin(talk.agent, talk.request, errand), position)

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
        result = await self._result(going)
        waits = result.status == "waiting"
        well = waits or result.success
        report = result.final_report
        paused = [id for id in result.waiting if id.startswith("ws_")]
        return Reply(
            run=going.run,
            work_session=result.work_session,
            status=result.status,
            text=told(going.run, result.inbox, paused, self.page)
            if waits
            else report.content
            if report
            else "",
            usage=_difference(result.totals, going.spent),
            cost_usd=result.totals.cost_usd,
            waiting=tuple(result.waiting),
            error="" if well else result.error or f"it is {result.status}",
            code="" if well else (result.stop_reason or result.status).lower(),
        )

    async def progress(self, going: Going) -> AsyncIterator[Draft]:
        """What happens in the run, until it has ended or waits."""
        if going.is_over(await self._drafts(going.run)) and going.entries:
            return
        async for entry in self.house.hub.subscribe(Filter(run=going.run), going.position):
            yield entry.draft
            if isinstance(entry.event, (*RUN_ENDS, RunParked)):
                return

    async def cancel(self, going: Going) -> None:
        with suppress(WrongUse):  # it is over already
            await self._moot.cancel(going.run, "its client has gone")

    @property
    def _moot(self) -> Folkmoot:
        return self.house.moot

    def _concealed(self, block: Block) -> Block:
        return replace(block, text=self._moot.secrets.text(block.text))

    async def _before(self, talk: Talk) -> Answered | None:
        """The run that the conversation goes on from."""
        if talk.run:
            return Answered(talk.run, (await self._drafts(talk.run))[0].work_session_id)
        places = (Earlier(talk.thread), *talk.earlier) if talk.results else talk.earlier
        return await self.threads.find(places)

    async def _gone_on(self, before: Answered, talk: Talk, position: int) -> Going | None:
        """With a run that waits, or whose end the client was not told yet; none if this is about something new."""
        if not (talk.results or talk.run or is_told(before.run, before.answer)):
            return None
        drafts = await self._drafts(before.run)
        spent = Result(before.run, drafts).totals
        going = Going(before.run, position, len(drafts), spent)
        match drafts[-1].event:
            case RunParked():
                items = [item for item in await self._moot.inbox(before.run) if item.is_open]
                if items and not await self._answer(items, talk):
                    return replace(going, still=True)
                self.house.go_on(before.run)
            case ended if isinstance(ended, RUN_ENDS):
                return going if is_told(before.run, before.answer) else None
        return going

    async def _answer(self, items: Sequence[Item], talk: Talk) -> bool:
        """The user's words answer the first question; what needs a yes or no is not answered by words."""
        questions = [item for item in items if item.kind == "question"]
        if questions:
            with suppress(WrongUse):  # somebody else was quicker
                await self._moot.reply(questions[0].answer(self._moot.secrets.text(talk.request)))
        return bool(questions)

    async def _result(self, going: Going) -> Result:
        if task := self.house.room.task(going.run):
            try:
                return await asyncio.shield(task)
            except (Held, StaleOwner):
                pass  # another process goes on with it
            except HandedOver as error:
                stops = f"the server stops; run {going.run} goes on when it is started again"
                raise Wrong(503, stops, code="server_stops", headers=NO_RETRY) from error
        drafts = await self._drafts(going.run)
        if not going.is_over(drafts):
            async for entry in self._moot.events(going.run, follow=True, after=going.position):
                if isinstance(entry.event, (*RUN_ENDS, RunParked)):
                    break
            drafts = await self._drafts(going.run)
        return Result(going.run, drafts)

    async def _drafts(self, run: str) -> list[Draft]:
        drafts = [entry.draft async for entry in self._moot.events(run)]
        if not drafts or not isinstance(drafts[0].event, RunStarted):
            raise WrongUse(f"there is no run {run!r}; `folkmoot runs list` shows those that are")
        return drafts


async def left(receive: Receive) -> None:
    """When the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _difference(now: Totals, before: Totals) -> Totals:
    return Totals(*(getattr(now, name) - getattr(before, name) for name in Totals.__struct_fields__))
