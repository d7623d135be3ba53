"""The Agent2Agent protocol: a list of agents, and for each of them its card and the address where it is asked.

Nothing is stored here: a task is a fold over its run (`a2a_tasks`), and so are the updates of a task; a restart loses
none. The id of a task follows from the message that it came with, so a message sent twice is done once.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from a2a import types
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.utils import errors
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH as CARD
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from folkmoot import __version__
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.sources import Source
from folkmoot.domain.trace import told
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.http.state import ServerState
from folkmoot.http.stream.event_source import run_while_connected
from folkmoot.protocols import a2a_tasks
from folkmoot.protocols.runs import MEDIA_TYPES, describe_agent, name_agents, page_after

PATH = "/a2a"
BY = "a2a"
"""Who is recorded to have answered: only the protocol is known."""
_CLIENT = Source("the message of an A2A client")
_BEARER = "bearer"


def a2a_routes(house: ServerState) -> list[BaseRoute]:
    logging.getLogger("a2a").setLevel(logging.CRITICAL)  # the client is told why it is refused
    agents = name_agents(house.moot.graph.agents.values())
    handlers = {
        name: JsonRpcDispatcher(TaskHandler(house, agent), enable_v0_3_compat=True)
        for name, agent in agents.items()
    }

    async def index(request: Request) -> Response:
        base = _base_url(request)
        listed = [
            {
                "name": name,
                "description": agent.description,
                "url": f"{base}/{name}",
                "card": f"{base}/{name}{CARD}",
            }
            for name, agent in agents.items()
        ]
        return JSONResponse({"agents": listed})

    async def card(request: Request) -> Response:
        name = _name(request)
        url = f"{_base_url(request)}/{name}"
        return JSONResponse(
            agent_card_to_dict(build_agent_card(name, agents[name], url, secured=house.keys.needed))
        )

    async def ask(request: Request) -> Response:
        """Nobody waits for a run on behalf of a client that has gone; the run goes on."""
        handler = handlers[_name(request)]
        await request.body()  # read before anything else looks at what the client does
        answer = await run_while_connected(request.receive, handler.handle_requests(request))
        return answer or Response(status_code=204)

    def _name(request: Request) -> str:
        name: str = request.path_params["agent"]
        if name not in agents:
            raise HTTPException(404, f"there is no agent {name!r} here; {PATH} lists those that are")
        return name

    return [
        Route(PATH, index),
        Route(f"{PATH}/{{agent}}{CARD}", card),
        Route(f"{PATH}/{{agent}}", ask, methods=["POST"]),
    ]


def _base_url(request: Request) -> str:
    """As the client reached it: the guard lets in no other names than those of this server."""
    return f"{str(request.base_url).rstrip('/')}{PATH}"


def build_agent_card(name: str, agent: Agent, url: str, *, secured: bool) -> types.AgentCard:
    """`secured`: clients need a token."""
    about = describe_agent(agent) or f"The agent {agent.id}."
    card = types.AgentCard(
        name=agent.id,
        description=about,
        version=__version__,
        supported_interfaces=[
            types.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=types.AgentCapabilities(streaming=True),
        default_input_modes=[MEDIA_TYPES[agent.input.format]],
        default_output_modes=[MEDIA_TYPES[agent.output.format]],
        skills=[
            types.AgentSkill(
                id=name, name=agent.id, description=about, tags=agent.capabilities or [agent.role]
            )
        ],
    )
    if secured:
        scheme = types.SecurityScheme(http_auth_security_scheme=types.HTTPAuthSecurityScheme(scheme="Bearer"))
        card.security_schemes[_BEARER].CopyFrom(scheme)
        card.security_requirements.append(types.SecurityRequirement(schemes={_BEARER: types.StringList()}))
    return card


async def _refuse_notifications(self: object, params: object, context: ServerCallContext) -> NoReturn:
    raise errors.PushNotificationNotSupportedError


class TaskHandler(RequestHandler):
    """What clients may ask of one agent."""

    on_get_task_push_notification_config = _refuse_notifications
    on_list_task_push_notification_configs = _refuse_notifications
    on_delete_task_push_notification_config = _refuse_notifications

    def __init__(self, house: ServerState, agent: Agent) -> None:
        self._house, self._moot = house, house.moot
        self._agent = agent
        self._tasks = a2a_tasks.TaskRuns(house.moot, agent)

    async def on_create_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise errors.PushNotificationNotSupportedError("follow the task with SubscribeToTask instead")

    async def on_get_extended_agent_card(self, params: object, context: ServerCallContext) -> NoReturn:
        raise errors.ExtendedAgentCardNotConfiguredError

    async def on_message_send(
        self, params: types.SendMessageRequest, context: ServerCallContext
    ) -> types.Task:
        with self._refusals(params):
            validate_history_length(params.configuration)
            run = await self._take(params.message, context)
            if not params.configuration.return_immediately and not run.rests:
                async for _ in self._tasks.updates(run):
                    pass
                run = await self._tasks.get(run.id)
            return apply_history_length(run.task, params.configuration)

    async def on_message_send_stream(
        self, params: types.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        with self._refusals(params):
            run = await self._take(params.message, context)
            yield run.task
            if not run.rests:
                async for event in self._tasks.updates(run):
                    yield event

    async def on_subscribe_to_task(
        self, params: types.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Also of a task that waits for someone."""
        with self._refusals(params):
            run = await self._tasks.get(params.id)
            if run.is_over:
                raise errors.UnsupportedOperationError(f"task {params.id} is over; GetTask shows it")
            yield run.task
            async for event in self._tasks.updates(run):
                yield event

    async def on_get_task(self, params: types.GetTaskRequest, context: ServerCallContext) -> types.Task:
        with self._refusals(params):
            validate_history_length(params)
            return apply_history_length((await self._tasks.get(params.id)).task, params)

    async def on_cancel_task(self, params: types.CancelTaskRequest, context: ServerCallContext) -> types.Task:
        with self._refusals(params):
            if (await self._tasks.get(params.id)).is_over:
                raise errors.TaskNotCancelableError(f"task {params.id} is over already")
            await self._moot.cancel(params.id, "cancelled by its A2A client")
            await self._moot.followed(params.id, wait=True)
            return (await self._tasks.get(params.id)).task

    async def on_list_tasks(
        self, params: types.ListTasksRequest, context: ServerCallContext
    ) -> types.ListTasksResponse:
        """A page token is the last task of the page before."""
        with self._refusals(params):
            validate_history_length(params)
            runs = await self._tasks.list_runs(params.context_id)
            size = params.page_size if params.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
            validate_page_size(size)
            if a2a_tasks.has_filter(params):
                runs = [run for run in runs if a2a_tasks.is_selected(await self._show(run, params), params)]
            try:
                page, token = page_after(runs, params.page_token or None, size, str)
            except KeyError:
                raise errors.InvalidParamsError(
                    f"{params.page_token!r} is no page token of this list"
                ) from None
            return types.ListTasksResponse(
                tasks=[await self._show(run, params) for run in page],
                next_page_token=token or "",
                page_size=size,
                total_size=len(runs),
            )

    async def _show(self, run: str, params: types.ListTasksRequest) -> types.Task:
        task = apply_history_length((await self._tasks.get(run)).task, params)
        if not params.include_artifacts:
            task.ClearField("artifacts")
        return task

    async def _take(self, message: types.Message, context: ServerCallContext) -> a2a_tasks.TaskRun:
        """The run that a message starts or answers."""
        if message.task_id:
            return await self._answer(await self._tasks.get(message.task_id), message)
        id = a2a_tasks.run_id_of(self._agent, message)
        if known := await self._tasks.find(id):
            return known
        errand = Errand(
            work_session=a2a_tasks.work_session_of(message.context_id),
            blocks=await self._tasks.earlier_blocks(message.context_id),
            run=id,
            message=message.message_id,
            hops=self._hops(message),
            sources=(_CLIENT,) if self._moot.graph.settings.gate.untrusted_clients else (),
            **told(context.state.get("headers", {})),
        )
        errand = self._moot.enclose(errand, a2a_tasks.files_of(message))
        with suppress(Held):  # the same message came at the same time
            await self._house.room.begin(self._agent.file, a2a_tasks.text_of(message), errand)
        return (await self._tasks.get(id)).at_start

    def _hops(self, message: types.Message) -> int:
        hops, most = a2a_tasks.hops_of(message), self._moot.graph.settings.limits.a2a_hops
        if hops > most:
            raise errors.UnsupportedOperationError(
                f"the matter was passed on {hops} times; `limits.a2aHops` here is {most}"
            )
        return hops

    async def _answer(self, run: a2a_tasks.TaskRun, message: types.Message) -> a2a_tasks.TaskRun:
        if run.is_over:
            raise errors.UnsupportedOperationError(
                f"task {run.id} is over; leave `taskId` out to ask for more"
            )
        if message.context_id not in ("", run.task.context_id):
            raise errors.InvalidParamsError(f"task {run.id} is of another context: {run.task.context_id}")
        items = await self._moot.inbox(run.id)
        questions = [item for item in items if item.kind == "question" and item.is_open]
        if not questions:
            raise errors.UnsupportedOperationError(
                f"task {run.id} has no open question that this could answer"
            )
        await self._moot.reply(questions[0].answer(a2a_tasks.text_of(message), BY))
        self._house.go_on(run.id)
        return run.unparked

    @contextmanager
    def _refusals(self, params: object) -> Iterator[None]:
        """Raise every refusal in the protocol's form."""
        validate_proto_required_fields(params)
        try:
            yield
        except FolkmootError as error:
            form = errors.InvalidParamsError if isinstance(error, WrongUse) else errors.InternalError
            raise form(self._moot.secrets.text(str(error))) from None
