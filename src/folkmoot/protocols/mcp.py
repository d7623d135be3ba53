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
from starlette.applications import Starlette

from folkmoot import __version__
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.item import Item
from folkmoot.domain.trace import told
from folkmoot.engine.claims import ATTEND_EVERY, drawn
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.protocols import mcp_elicitation as elicitation
from folkmoot.protocols.mcp_elicitation import Context
from folkmoot.protocols.mcp_resources import RunResources, page
from folkmoot.protocols.runs import describe_agent, follow_run, name_agents
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result
from folkmoot.views.timeline import progress_line

PATH = "/mcp"
RESUME = "folkmoot__resume"
"""Continues a run that waited; no agent may have this name."""
RESUME_TOOL = types.Tool(
    name=RESUME,
    title="Resume a run",
    description="Goes on with a run that waited for a person, after what it waited for was answered, "
    "or with one that was interrupted.",
    input_schema={
        "type": "object",
        "properties": {"run": {"type": "string", "description": "The id of the run."}},
        "required": ["run"],
        "additionalProperties": False,
    },
)
INSTRUCTIONS = f"""Each tool is an agent, or a team of them; a call runs it, which may take minutes.
If the result says that the run waits for a person, tell your user; when it is answered, {RESUME} goes on with it.
The resources are the runs so far and their reports."""
ABOUT = "folkmoot/run"
"""The key in `_meta` of the run's id, status and cost."""
Begin = Callable[[], Coroutine[Any, Any, Result]]
"""Starts a run, or continues one."""
_CATCH_UP = 2.0
"""Seconds that the progress may need to catch up with a run that is over."""


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
        listed, cursor = page(tools, params, lambda tool: tool.name)
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


def agents_as_tools(moot: Folkmoot, only: Sequence[str] = ()) -> dict[str, Agent]:
    """By the names of their tools. Raises `WrongUse`."""
    agents = [moot.agent(name) for name in only] or list(moot.graph.agents.values())
    if not agents:
        raise WrongUse(f"there are no agents in {moot.folder}; name the folder of a project with --project")
    return name_agents(agents, (RESUME,))


def tool_of(name: str, agent: Agent) -> types.Tool:
    return types.Tool(
        name=name,
        title=agent.id,
        description=describe_agent(agent) or f"Runs the agent {agent.id}.",
        input_schema=_input_schema(agent),
        output_schema=_output_schema(agent),
    )


def request_of(agent: Agent, arguments: Mapping[str, Any]) -> str:
    """The request to the agent. Raises `WrongUse`; the run checks it against the agent's schema."""
    if _takes_object(agent):
        return msgspec.json.encode(arguments).decode()
    if arguments.keys() != {"request"}:
        raise WrongUse(f"{agent.id} takes one argument, `request`, not {sorted(arguments) or 'none'}")
    request = arguments["request"]
    if agent.input.format == "json":
        return msgspec.json.encode(request).decode()
    if not isinstance(request, str):
        raise WrongUse(f"the `request` of {agent.id} is a text, not {request!r}")
    return request


def _takes_object(agent: Agent) -> bool:
    """Whether its own schema can be that of a tool, whose arguments are always an object."""
    return agent.input.format == "json" and _is_object(agent.input.schema)


def _input_schema(agent: Agent) -> dict[str, Any]:
    schema = agent.input.schema
    if schema and _takes_object(agent):
        return schema
    plain = {"type": "string"} if agent.input.format == "text" else schema or {}
    return {
        "type": "object",
        "properties": {"request": {"description": "What the agent is asked.", **plain}},
        "required": ["request"],
        "additionalProperties": False,
    }


def _output_schema(agent: Agent) -> dict[str, Any] | None:
    """Promised only by an agent whose own report is the answer; and older clients know objects alone."""
    own = agent.terminal and (agent.team is None or agent.team.supervisor in (None, agent.file))
    promised = own and agent.output.format == "json" and _is_object(agent.output.schema)
    return agent.output.schema if promised else None


def _is_object(schema: Mapping[str, Any] | None) -> bool:
    return schema is not None and schema.get("type") == "object"


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
        asks = (
            result.status == "waiting"
            and elicitation.elicits(context)
            and elicitation.asked_with_the_answer(context)
        )
        unasked = [item for item in result.inbox if item.id not in (params.input_responses or {})]
        return _questions(result, unasked) if asks and unasked else _answer(result)

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
        errand = Errand(run=drawn(self._clock).run, **trace)  # known from the start: progress looks for it
        begin = partial(
            self._moot.run, agent.file, request, answer=elicitation.answerer(context), errand=errand
        )
        return errand.run, begin

    async def _resume(self, context: Context, run_id: str) -> Result:
        while True:
            try:
                return await self._moot.resume(run_id, answer=elicitation.answerer(context))
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
        for item in await self._moot.inbox(run_id) if filled and elicitation.elicits(context) else ():
            form = filled.get(item.id)
            if isinstance(form, types.ElicitResult) and (reply := elicitation.reply_to(item, form, context)):
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


def _answer(result: Result) -> types.CallToolResult:
    """Everything but a report is an error to the client: the tool has not done its work."""
    report = result.final_report
    if not result.success or report is None:
        return types.CallToolResult(
            content=[types.TextContent(text=_error(result))], is_error=True, _meta=_about(result)
        )
    structured = report.content_json if isinstance(report.content_json, dict) else None
    text = types.TextContent(text=report.content)
    return types.CallToolResult(content=[text], structured_content=structured, _meta=_about(result))


def _questions(result: Result, items: Sequence[Item]) -> types.InputRequiredResult:
    """What the run waits for, as forms; the client calls again with them filled in, and with the run's id."""
    forms = {item.id: types.ElicitRequest(params=elicitation.form_for(item)) for item in items}
    return types.InputRequiredResult(
        input_requests=dict(forms), request_state=result.run_id, _meta=_about(result)
    )


def _about(result: Result) -> dict[str, Any]:
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


def _error(result: Result) -> str:
    if needs := [*what_it_needs(result)]:
        state = f"The run {result.run_id} is {result.status}."
        return "\n".join((state, *needs, f"or call the tool {RESUME} with the run's id"))
    where = f" at {result.final_agent_id}" if result.final_agent_id else ""
    return f"{result.status}{where}: {result.error or 'without a report'} (run {result.run_id})"
