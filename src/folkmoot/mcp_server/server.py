"""The protocol's server of an open project."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec
from anyio import CancelScope
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from folkmoot import __version__
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.domain.item import Item
from folkmoot.domain.trace import Told, told
from folkmoot.engine.admission import offered as by_name
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.identity import drawn
from folkmoot.engine.inbox import ATTEND_EVERY
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.mcp_server.asking import Context, answerer, asked_with_the_answer, elicits, form, reply_to, who
from folkmoot.mcp_server.pages import page
from folkmoot.mcp_server.records import Records
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result
from folkmoot.views.timeline import progress_line

RESUME = "folkmoot__resume"
"""Goes on with a run that waited; no agent may be called so."""


def offered(moot: Folkmoot, only: Sequence[str] = ()) -> dict[str, Agent]:
    """The agents that clients may call, by the names of their tools; `only` some, by file or id. Raises `WrongUse`."""
    agents = [moot.agent(name) for name in only] or list(moot.graph.agents.values())
    if not agents:
        raise WrongUse(f"there are no agents in {moot.folder}; name the folder of a project with --project")
    return by_name(agents, (RESUME,))


def tool_of(name: str, agent: Agent) -> Tool:
    about = "\n\n".join(filter(None, (agent.description, agent.usage)))
    return Tool(
        name=name,
        title=agent.id,
        description=about or f"Runs the agent {agent.id}.",
        input_schema=_input_schema(agent),
        output_schema=_output_schema(agent),
    )


RESUME_TOOL = Tool(
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


def request_of(agent: Agent, arguments: Mapping[str, Any]) -> str:
    """What the agent is asked. Raises `WrongUse`; whether it fits the agent's schema, the run finds out."""
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


INSTRUCTIONS = f"""Each tool is an agent, or a team of them; a call runs it, which may take minutes.
If the result says that the run waits for a person, tell your user; when it is answered, {RESUME} goes on with it.
The resources are the runs so far and their reports."""


def mcp_server(moot: Folkmoot, agents: Sequence[str] = ()) -> Server[Any]:
    """Every agent of the project as a tool, or only `agents`, by file or id; and the runs of those as resources."""
    offers = offered(moot, agents)
    records = Records(moot, offers)
    return Server(
        "folkmoot",
        version=__version__,
        title=f"Folkmoot: {moot.folder.resolve().name}",
        instructions=INSTRUCTIONS,
        on_list_tools=_Listing(offers),
        on_call_tool=Calls(moot, offers).take,
        on_list_resources=records.listed,
        on_list_resource_templates=records.templates,
        on_read_resource=records.read,
    )


class _Listing:
    """`tools/list`."""

    def __init__(self, offers: Mapping[str, Agent]) -> None:
        self._tools: list[Tool] = [*(tool_of(name, agent) for name, agent in offers.items()), RESUME_TOOL]

    async def __call__(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        tools, cursor = page(self._tools, params, lambda tool: tool.name)
        return ListToolsResult(tools=tools, next_cursor=cursor)


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


ABOUT = "folkmoot/run"
"""Where in `_meta` it stands which run this was, how it ended and what it cost."""


def answer(result: Result) -> CallToolResult:
    """Everything but a report is an error to the client: the tool has not done what it is there for."""
    report = result.final_report
    if not result.success or report is None:
        return CallToolResult(content=[_text(_wrong(result))], is_error=True, _meta=about(result))
    structured = report.content_json if isinstance(report.content_json, dict) else None
    return CallToolResult(content=[_text(report.content)], structured_content=structured, _meta=about(result))


def question(result: Result, items: Sequence[Item]) -> InputRequiredResult:
    """What the run waits for, as forms; the client calls again with what was filled in, and with the run's id."""
    forms = {item.id: ElicitRequest(params=form(item)) for item in items}
    return InputRequiredResult(input_requests=dict(forms), request_state=result.run_id, _meta=about(result))


def refusal(words: str) -> CallToolResult:
    """Nothing was run."""
    return CallToolResult(content=[_text(words)], is_error=True)


def about(result: Result) -> dict[str, Any]:
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


def _wrong(result: Result) -> str:
    needs = [*what_it_needs(result)]
    if needs:
        needs[0] = f"The run {result.run_id} is {result.status}.\n{needs[0]}"
        return "\n".join((*needs, f"or call the tool {RESUME} with the run's id"))
    where = f" at {result.final_agent_id}" if result.final_agent_id else ""
    return f"{result.status}{where}: {result.error or 'without a report'} (run {result.run_id})"


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
