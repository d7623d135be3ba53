"""The Model Context Protocol: every agent is a tool, every run and its report a resource.

What a run waits for is put to the person at the client by elicitation, in the way of either generation of the protocol:
the older one is asked while the run goes on; the newer one with the answer, and calls again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import mcp_types as types
import msgspec
from anyio import CancelScope
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestFormParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from folkmoot import __version__
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.inbox import Item, Reply
from folkmoot.domain.inbox_events import Settlement
from folkmoot.domain.trace import told
from folkmoot.engine.claims import ATTEND_EVERY, draw_identity
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.orchestration.inbox import ItemHandler
from folkmoot.protocols.mcp_offers import (
    RESUME,
    RESUME_TOOL,
    Context,
    RunResources,
    agents_as_tools,
    list_page,
    request_of,
    tool_of,
)
from folkmoot.protocols.runs import follow_run
from folkmoot.views.inbox import described, what_it_needs
from folkmoot.views.result import Result
from folkmoot.views.timeline import progress_line

PATH = "/mcp"
INSTRUCTIONS = f"""Each tool is an agent, or a team of them; a call runs it, which may take minutes.
If the result says that the run waits for a person, tell your user; when it is answered, {RESUME} goes on with it.
The resources are the runs so far and their reports."""
ABOUT = "folkmoot/run"
"""The key in `_meta` of the run's id, status and cost."""
Begin = Callable[[], Coroutine[Any, Any, Result]]
"""Starts a run, or continues one."""
_CATCH_UP = 2.0
"""Seconds that the progress may need to catch up with a run that is over."""


_SETTLEMENTS: Mapping[str, Settlement] = {"done": "done", "retry": "retry", "fail": "fail"}
_FORMS: Mapping[str, dict[str, dict[str, Any]]] = {
    "question": {"answer": {"title": "Your answer"}},
    "approval": {
        "decision": {"title": "May this call be made?", "enum": ["approve", "deny"]},
        "reason": {"title": "Why not (the agent is told)"},
    },
    "client_call": {"answer": {"title": "What the tool gave"}},
    "in_doubt": {
        "decision": {"title": "What became of it?", "enum": list(_SETTLEMENTS)},
        "text": {"title": "What it gave, or why it failed"},
    },
}
"""Texts to fill in; the first is required."""


def mcp_app(moot: Folkmoot, agents: Sequence[str] = (), *, guarded: bool = False) -> Starlette:
    """Streamable HTTP at `/mcp`, as an ASGI application.

    By itself it answers only under the names of this machine, so that no web page can reach it; `guarded` says that the
    server around it sees to that. Such a server takes over its `routes`, and enters `app.router.lifespan_context(app)`
    for as long as it serves: the sessions of clients live in it, and their runs are cancelled with it.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return mcp_server(moot, agents).streamable_http_app(
        streamable_http_path=PATH, transport_security=unchecked if guarded else None
    )


def mcp_server(moot: Folkmoot, only: Sequence[str] = ()) -> Server[Any]:
    """Every agent of the project as a tool, or `only` some, by file or id; and their runs as resources."""
    agents = agents_as_tools(moot, only)
    tools = [*(tool_of(name, agent) for name, agent in agents.items()), RESUME_TOOL]
    resources = RunResources(moot, agents.values())

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        listed, cursor = list_page(tools, params, lambda tool: tool.name)
        return types.ListToolsResult(tools=listed, next_cursor=cursor)

    return Server(
        "folkmoot",
        version=__version__,
        title=f"Folkmoot: {moot.folder.resolve().name}",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=ToolCalls(moot, agents).call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
    )


class ToolCalls:
    def __init__(self, moot: Folkmoot, agents: Mapping[str, Agent]) -> None:
        self._moot = moot
        self._agents = agents
        self._clock = SystemClock()

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """`tools/call`."""
        if params.name not in (*self._agents, RESUME):
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {params.name!r}; tools/list shows those that are"
            )
        try:
            run_id, begin = await self._prepare(context, params)
            result = await self._follow(context, run_id, begin)
        except FolkmootError as error:
            text = self._moot.secrets.text(str(error))
            return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
        asks = result.status == "waiting" and has_elicitation(context) and is_modern_protocol(context)
        unasked = [item for item in result.inbox if item.id not in (params.input_responses or {})]
        return _build_input_request(result, unasked) if asks and unasked else _build_result(result)

    async def _prepare(self, context: Context, params: types.CallToolRequestParams) -> tuple[str, Begin]:
        """The run, and what starts or continues it."""
        arguments = params.arguments or {}
        if params.request_state is not None:
            if not await self._may_resume(params.request_state, params.name):
                raise MCPError(
                    types.INVALID_PARAMS, "the requestState is none that this call was answered with"
                )
            await self._reply(context, params.request_state, params)
            return params.request_state, partial(self._resume, context, params.request_state)
        if params.name == RESUME:
            run_id = arguments.get("run")
            if not isinstance(run_id, str) or not await self._may_resume(run_id, RESUME):
                raise WrongUse(f"{RESUME} takes the id of a run as `run`, and there is no run {run_id!r}")
            return run_id, partial(self._resume, context, run_id)
        agent = self._agents[params.name]
        request = request_of(agent, arguments)
        # `_meta` names the trace, also without HTTP, or else the headers of the request do.
        trace = told(context.meta or {}) or told(context.request.headers if context.request else {})
        errand = Errand(
            run=draw_identity(self._clock).run, **trace
        )  # known from the start: progress looks for it
        begin = partial(
            self._moot.run, agent.file, request, answer=make_approval_handler(context), errand=errand
        )
        return errand.run, begin

    async def _resume(self, context: Context, run_id: str) -> Result:
        while True:
            try:
                return await self._moot.resume(run_id, answer=make_approval_handler(context))
            except Held:  # a worker that the answer woke was quicker, or the server that took it
                result = await self._moot.followed(run_id)
            if result.status != "waiting":
                return result
            await self._clock.sleep(ATTEND_EVERY)  # it was taken up, and has not recorded that yet

    async def _may_resume(self, run_id: str, tool: str) -> bool:
        """Clients reach the runs of agents that they may call, and no others: so an id need not be a secret."""
        files = [agent.file for name, agent in self._agents.items() if tool in (name, RESUME)]
        row = await self._moot.row(run_id)
        return row is not None and row.agent in files

    async def _reply(self, context: Context, run_id: str, params: types.CallToolRequestParams) -> None:
        """Record what was filled in at the client; what somebody else decided meanwhile stays as it is."""
        filled = params.input_responses or {}
        for item in await self._moot.inbox(run_id) if filled and has_elicitation(context) else ():
            form = filled.get(item.id)
            if isinstance(form, types.ElicitResult) and (reply := parse_reply(item, form, context)):
                with suppress(WrongUse):
                    await self._moot.reply(reply)

    async def _follow(self, context: Context, run_id: str, begin: Begin) -> Result:
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
        reporting = asyncio.ensure_future(self._report(context, run_id, await self._moot.position()))
        try:
            yield
            await asyncio.wait({reporting}, timeout=_CATCH_UP)
        finally:
            reporting.cancel()
            await asyncio.gather(
                reporting, return_exceptions=True
            )  # a client that is gone is no harm to a run

    async def _report(self, context: Context, run_id: str, after: int) -> None:
        count = 0
        async for entry in follow_run(self._moot, run_id, after):
            if line := progress_line(entry.draft):
                count += 1
                await context.session.report_progress(count, message=line)


def _build_result(result: Result) -> types.CallToolResult:
    """Everything but a report is an error to the client: the tool has not done its work."""
    report = result.final_report
    if not result.success or report is None:
        return types.CallToolResult(
            content=[types.TextContent(text=_describe_error(result))],
            is_error=True,
            _meta=_result_metadata(result),
        )
    structured = report.content_json if isinstance(report.content_json, dict) else None
    text = types.TextContent(text=report.content)
    return types.CallToolResult(content=[text], structured_content=structured, _meta=_result_metadata(result))


def _build_input_request(result: Result, items: Sequence[Item]) -> types.InputRequiredResult:
    """What the run waits for, as forms; the client calls again with them filled in, and with the run's id."""
    forms = {item.id: types.ElicitRequest(params=build_form(item)) for item in items}
    return types.InputRequiredResult(
        input_requests=dict(forms), request_state=result.run_id, _meta=_result_metadata(result)
    )


def _result_metadata(result: Result) -> dict[str, Any]:
    report = result.final_report
    facts = {
        "runId": result.run_id,
        "status": result.status,
        "stopReason": result.stop_reason,
        "error": result.error,
        "finalAgentId": result.final_agent_id,
        "waiting": result.waiting,
        "claims": report.claims if report else (),
        "totals": result.totals,
    }
    return {ABOUT: msgspec.to_builtins(facts)}


def _describe_error(result: Result) -> str:
    if needs := [*what_it_needs(result)]:
        state = f"The run {result.run_id} is {result.status}."
        return "\n".join((state, *needs, f"or call the tool {RESUME} with the run's id"))
    where = f" at {result.final_agent_id}" if result.final_agent_id else ""
    return f"{result.status}{where}: {result.error or 'without a report'} (run {result.run_id})"


def build_form(item: Item) -> ElicitRequestFormParams:
    """Everything that a person needs to decide: the whole call, nothing hidden in it."""
    fields = {name: {"type": "string", **field} for name, field in _FORMS[item.kind].items()}
    schema = {"type": "object", "properties": fields, "required": [*fields][:1]}
    return ElicitRequestFormParams(message="\n".join(described(item)).strip(), requested_schema=schema)


def parse_reply(item: Item, form: ElicitResult, context: Context) -> Reply | None:
    """None if the item stays open. Only an approval can be declined: that is a no, and needs no form."""
    client = context.session.client_params  # all that is known of the person
    by = f"mcp:{client.client_info.name}" if client else "mcp"
    if form.action != "accept":
        declined = form.action == "decline" and item.kind == "approval"
        return item.deny("declined at the client", by) if declined else None
    filled = {name: str(value) for name, value in (form.content or {}).items()}
    match item.kind, filled.get("decision", ""):
        case (("question" | "client_call"), _):
            return item.answer(filled["answer"], by) if filled.get("answer") else None
        case "approval", "approve":
            return item.approve(by)
        case "approval", "deny":
            return item.deny(filled.get("reason", ""), by)
        case "in_doubt", decision if decision in _SETTLEMENTS:
            return item.settle(_SETTLEMENTS[decision], filled.get("text", ""), by)
        case _:
            return None


def has_elicitation(context: Context) -> bool:
    """Whether the client shows forms; one that says no more than `elicitation: {}` does."""
    capabilities = context.session.client_capabilities
    offered = capabilities.elicitation if capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def is_modern_protocol(context: Context) -> bool:
    """The newer generation: no question reaches a client but as the answer to its call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def make_approval_handler(context: Context) -> ItemHandler | None:
    """Answers while the run goes on; none if nobody is there: the run parks, or takes that for a no."""
    if not has_elicitation(context):
        return None
    if is_modern_protocol(context):
        return _leave_open

    async def elicit(item: Item) -> Reply | None:
        asked = build_form(item)
        try:
            form = await context.session.elicit_form(
                asked.message, asked.requested_schema, context.request_id
            )
        except MCPError:  # a client that cannot after all; the run parks, and can be answered elsewhere
            return None
        return parse_reply(item, form, context)

    return elicit


async def _leave_open(item: Item) -> None:
    """Somebody is there, but can be asked only when the run has parked."""
