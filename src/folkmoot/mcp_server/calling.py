"""A call of a tool is a run: its events are the call's progress, and who cancels the call cancels the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from anyio import CancelScope
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ElicitResult, InputRequiredResult

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.domain.trace import Told, told
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.identity import drawn
from folkmoot.engine.inbox import ATTEND_EVERY
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.mcp_server.answers import answer, question, refusal
from folkmoot.mcp_server.asking import Context, answerer, asked_with_the_answer, elicits, reply_to, who
from folkmoot.mcp_server.offers import RESUME, request_of
from folkmoot.views.result import Result
from folkmoot.views.timeline import progress_line

Begin = Callable[[], Coroutine[Any, Any, Result]]
"""Starts a run, or goes on with one."""
_PATIENCE = 2.0
"""Seconds that the progress may need to catch up with a run that is over."""


class Calls:
    def __init__(self, moot: Folkmoot, offers: Mapping[str, Agent]) -> None:
        self._moot = moot
        self._offers = offers
        self._clock = SystemClock()

    async def take(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """`tools/call`."""
        if params.name not in (*self._offers, RESUME):
            raise MCPError(
                INVALID_PARAMS, f"there is no tool {params.name!r}; tools/list shows those that are"
            )
        try:
            run_id, begin = await self._beginning(context, params)
            result = await self._to_its_end(context, run_id, begin)
        except FolkmootError as error:
            return refusal(self._moot.secrets.text(str(error)))
        if result.status == "waiting" and elicits(context) and asked_with_the_answer(context):
            unasked = [item for item in result.inbox if item.id not in (params.input_responses or {})]
            return question(result, unasked) if unasked else answer(result)
        return answer(result)

    async def _beginning(self, context: Context, params: CallToolRequestParams) -> tuple[str, Begin]:
        """The run, and what starts it or goes on with it."""
        arguments = params.arguments or {}
        if params.request_state is not None:
            if not await self._may_go_on(params.request_state, params.name):
                raise MCPError(INVALID_PARAMS, "the requestState is none that this call was answered with")
            await self._answer(context, params.request_state, params)
            return params.request_state, partial(self._go_on, context, params.request_state)
        if params.name == RESUME:
            run_id = arguments.get("run")
            if not isinstance(run_id, str) or not await self._may_go_on(run_id, RESUME):
                raise WrongUse(f"{RESUME} takes the id of a run as `run`, and there is no run {run_id!r}")
            return run_id, partial(self._go_on, context, run_id)
        agent = self._offers[params.name]
        request = request_of(agent, arguments)
        run = drawn(self._clock).run  # known from the start: progress looks for it
        errand = Errand(run=run, **_trace(context))
        begin = partial(self._moot.run, agent.file, request, answer=answerer(context), errand=errand)
        return errand.run, begin

    async def _go_on(self, context: Context, run_id: str) -> Result:
        while True:
            try:
                return await self._moot.resume(run_id, answer=answerer(context))
            except Held:  # a worker that the answer woke was quicker, or the server that took it
                result = await self._moot.followed(run_id)
            if result.status != "waiting":
                return result
            await self._clock.sleep(ATTEND_EVERY)  # it was taken up, and has not recorded that yet

    async def _may_go_on(self, run_id: str, tool: str) -> bool:
        """Clients reach the runs of agents that they may call, and no others: so an id need not be a secret."""
        files = [agent.file for name, agent in self._offers.items() if tool in (name, RESUME)]
        row = await self._moot.row(run_id)
        return row is not None and row.agent in files

    async def _answer(self, context: Context, run_id: str, params: CallToolRequestParams) -> None:
        """Take in what was filled in at the client; what somebody else decided meanwhile stays as it is."""
        said = params.input_responses
        for item in await self._moot.inbox(run_id) if said and elicits(context) else ():
            filled = said.get(item.id) if said else None
            if isinstance(filled, ElicitResult) and (reply := reply_to(item, filled, who(context))):
                with suppress(WrongUse):
                    await self._moot.reply(reply)

    async def _to_its_end(self, context: Context, run_id: str, begin: Begin) -> Result:
        async with self._progress(context, run_id):
            running = asyncio.ensure_future(begin())
            try:
                return await asyncio.shield(running)
            finally:
                running.cancel()
                with CancelScope(shield=True):  # else the SDK would cancel the recording of the end too
                    await asyncio.wait({running})

    @asynccontextmanager
    async def _progress(self, context: Context, run_id: str) -> AsyncIterator[None]:
        if not context.meta or "progress_token" not in context.meta:
            yield
            return
        telling = asyncio.ensure_future(self._tell(context, run_id, await self._moot.position()))
        try:
            yield
            await asyncio.wait({telling}, timeout=_PATIENCE)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)  # a client that is gone is no harm to a run

    async def _tell(self, context: Context, run_id: str, after: int) -> None:
        told = 0
        async for entry in self._moot.events(run_id, follow=True, after=after):
            if line := progress_line(entry.draft):
                told += 1
                await context.session.report_progress(told, message=line)
            if isinstance(entry.event, (*RUN_ENDS, RunParked)):
                return


def _trace(context: Context) -> Told:
    """What the call belongs to: its `_meta` says so, also without HTTP, or else the headers of its request."""
    return told(context.meta or {}) or told(context.request.headers if context.request else {})
