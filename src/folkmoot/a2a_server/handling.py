"""What clients may ask of one agent: send it a message, and look at, follow and cancel its tasks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import RequestHandler
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length

from folkmoot.a2a_server.course import Course, Courses
from folkmoot.a2a_server.listing import page_of
from folkmoot.a2a_server.messages import files_of, hops_of, run_of, text_of, work_session_of
from folkmoot.a2a_server.unsupported import WithoutNotifications
from folkmoot.a2a_server.updates import updates
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.sources import Source
from folkmoot.domain.trace import told
from folkmoot.errors import FolkmootError, Held, WrongUse

BY = "a2a"
_CLIENT = Source("the message of an A2A client")
"""Who is recorded to have answered: all that is known is the door."""


class Engine(NamedTuple):
    """Where runs go on by themselves, whoever asked for them."""

    begin: Callable[[str, str, Errand], Awaitable[str]]
    go_on: Callable[[str], None]


class Tasks(WithoutNotifications, RequestHandler):
    def __init__(self, moot: Folkmoot, agent: Agent, engine: Engine) -> None:
        self._moot = moot
        self._agent = agent
        self._engine = engine
        self._courses = Courses(moot, agent)

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task:
        with self._refusals(params):
            validate_history_length(params.configuration)
            course = await self._taken(params.message, context)
            if not params.configuration.return_immediately and not course.rests:
                async for _ in updates(self._moot, course.task, course.after):
                    pass
                course = await self._courses.known(course.run)
            return apply_history_length(course.task, params.configuration)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        with self._refusals(params):
            async for event in self._told(await self._taken(params.message, context)):
                yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        with self._refusals(params):
            course = await self._courses.known(params.id)
            if course.is_over:
                raise UnsupportedOperationError(f"task {params.id} is over; GetTask shows it")
            async for event in self._told(course, waits=True):
                yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        with self._refusals(params):
            validate_history_length(params)
            return apply_history_length((await self._courses.known(params.id)).task, params)

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        with self._refusals(params):
            if (await self._courses.known(params.id)).is_over:
                raise TaskNotCancelableError(f"task {params.id} is over already")
            await self._moot.cancel(params.id, "cancelled by its A2A client")
            await self._moot.followed(params.id, wait=True)
            return (await self._courses.known(params.id)).task

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        with self._refusals(params):
            validate_history_length(params)
            rows = await self._courses.rows(params.context_id)
            return await page_of(rows, params, lambda run: self._shown(run, params))

    async def _shown(self, run: str, params: ListTasksRequest) -> Task:
        task = apply_history_length((await self._courses.known(run)).task, params)
        if not params.include_artifacts:
            task.ClearField("artifacts")
        return task

    async def _told(self, course: Course, *, waits: bool = False) -> AsyncGenerator[Event]:
        """The task as it is, then what comes; `waits`: though it waits for someone."""
        yield course.task
        if waits or not course.rests:
            async for event in updates(self._moot, course.task, course.after):
                yield event

    async def _taken(self, message: Message, context: ServerCallContext) -> Course:
        """The run that a message begins, or goes on with."""
        if message.task_id:
            return await self._answered(await self._courses.known(message.task_id), message)
        run = run_of(self._agent, message)
        if known := await self._courses.find(run):
            return known
        errand = Errand(
            work_session=work_session_of(message.context_id),
            blocks=await self._courses.said_before(message.context_id),
            run=run,
            message=message.message_id,
            hops=self._hops(message),
            sources=(_CLIENT,) if self._moot.graph.settings.gate.untrusted_clients else (),
            **told(context.state.get("headers", {})),
        )
        errand = self._moot.enclose(errand, files_of(message))
        with suppress(Held):  # the same message came at the same time
            await self._engine.begin(self._agent.file, text_of(message), errand)
        return (await self._courses.known(run)).begun

    def _hops(self, message: Message) -> int:
        hops, most = hops_of(message), self._moot.graph.settings.limits.a2a_hops
        if hops > most:
            raise UnsupportedOperationError(
                f"the matter was passed on {hops} times; `limits.a2aHops` here is {most}"
            )
        return hops

    async def _answered(self, course: Course, message: Message) -> Course:
        if course.is_over:
            raise UnsupportedOperationError(f"task {course.run} is over; leave `taskId` out to ask for more")
        if message.context_id not in ("", course.task.context_id):
            raise InvalidParamsError(f"task {course.run} is of another context: {course.task.context_id}")
        items = await self._moot.inbox(course.run)
        questions = [item for item in items if item.kind == "question" and item.is_open]
        if not questions:
            raise UnsupportedOperationError(f"task {course.run} has no open question that this could answer")
        await self._moot.reply(questions[0].answer(text_of(message), BY))
        self._engine.go_on(course.run)
        return course.answered

    @contextmanager
    def _refusals(self, params: object) -> Iterator[None]:
        """Whatever speaks against a request, in the protocol's form."""
        validate_proto_required_fields(params)
        try:
            yield
        except WrongUse as error:
            raise InvalidParamsError(self._moot.secrets.text(str(error))) from None
        except FolkmootError as error:
            raise InternalError(self._moot.secrets.text(str(error))) from None
