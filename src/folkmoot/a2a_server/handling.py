"""What clients may ask of one agent: send it a message, and look at, follow and cancel its tasks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn

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
    TaskState,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from folkmoot.a2a_server.messages import files_of, hops_of, run_of, text_of, work_session_of
from folkmoot.a2a_server.tasks import ENDED, root_of, task_of
from folkmoot.a2a_server.updates import RESTS, updates
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Entry
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.events import RunParked
from folkmoot.domain.run_row import RunRow
from folkmoot.domain.sources import Source
from folkmoot.domain.trace import told
from folkmoot.errors import FolkmootError, Held, WrongUse
from folkmoot.ports import Filter, RunQuery
from folkmoot.views.chat import exchange, said_before


class WithoutNotifications:
    async def on_create_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError("follow the task with SubscribeToTask instead")

    async def on_get_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(self, params: object, context: ServerCallContext) -> NoReturn:
        raise ExtendedAgentCardNotConfiguredError


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


_MOST = 10_000
"""Runs of one context that are looked at."""


class Course(NamedTuple):
    """A run, up to some entry."""

    run: str
    past: Sequence[Entry]
    after: int
    """What comes behind this entry of the journal is news."""

    @property
    def task(self) -> Task:
        return task_of(self.run, [entry.draft for entry in self.past])

    @property
    def is_over(self) -> bool:
        return self.task.status.state in ENDED

    @property
    def rests(self) -> bool:
        return isinstance(self.past[-1].event, RESTS)

    @property
    def begun(self) -> Course:
        """From its first entry on, however much has happened since."""
        return Course(self.run, self.past[:1], self.past[0].seq)

    @property
    def answered(self) -> Course:
        """It waits no more, though that is not in the journal yet."""
        parked = isinstance(self.past[-1].event, RunParked)
        return self._replace(past=self.past[:-1]) if parked else self


class Courses:
    def __init__(self, moot: Folkmoot, agent: Agent) -> None:
        self._moot = moot
        self._agent = agent

    async def known(self, run: str) -> Course:
        """Raises `TaskNotFoundError` for runs of other agents too: so an id need not be a secret."""
        if course := await self.find(run):
            return course
        raise TaskNotFoundError(f"there is no task {run!r} of this agent")

    async def find(self, run: str) -> Course | None:
        past = [entry async for entry in self._moot.events(run)] if run else []
        if root_of([entry.draft for entry in past[:1]]) != self._agent.file:
            return None
        return Course(run, past, past[-1].seq)

    async def rows(self, context: str = "") -> list[RunRow]:
        """All of them, or those of a context, the newest first."""
        rows = await self._moot.runs(RunQuery(agents=(self._agent.file,)))
        within = set(await self._within(context)) if context else {row.run_id for row in rows}
        return [row for row in rows if row.run_id in within]

    async def said_before(self, context: str) -> tuple[Block, ...]:
        """What this agent was asked in a context, and what it answered."""
        courses = [await self.find(run) for run in reversed(await self._within(context))] if context else []
        told = (
            exchange(each.run, [entry.draft for entry in each.past], "running") for each in courses if each
        )
        return said_before(filter(None, told))

    async def _within(self, context: str) -> list[str]:
        wanted = Filter(work_session=work_session_of(context), types=("run.started",), limit=_MOST)
        return [entry.stream for entry in await self._moot.find(wanted)]


async def page_of(
    rows: Sequence[RunRow], asked: ListTasksRequest, shown: Callable[[str], Awaitable[Task]]
) -> ListTasksResponse:
    """`rows` are all runs that may be meant; `shown` makes the task of one. A page token is the last task shown."""
    size = asked.page_size if asked.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
    validate_page_size(size)
    names = [row.run_id for row in rows]
    if _selects(asked):
        names = [run for run in names if _fits(await shown(run), asked)]
    start = _after(asked.page_token, names)
    page = names[start : start + size]
    more = start + size < len(names)
    return ListTasksResponse(
        tasks=[await shown(run) for run in page],
        next_page_token=page[-1] if more else "",
        page_size=size,
        total_size=len(names),
    )


def _selects(asked: ListTasksRequest) -> bool:
    """Whether each task must be looked at to know if it is meant."""
    return asked.status != TaskState.TASK_STATE_UNSPECIFIED or asked.HasField("status_timestamp_after")


def _fits(task: Task, asked: ListTasksRequest) -> bool:
    since = asked.status_timestamp_after
    in_time = not asked.HasField("status_timestamp_after") or (
        (task.status.timestamp.seconds, task.status.timestamp.nanos) >= (since.seconds, since.nanos)
    )
    return in_time and asked.status in (TaskState.TASK_STATE_UNSPECIFIED, task.status.state)


def _after(token: str, names: Sequence[str]) -> int:
    if not token:
        return 0
    if token not in names:
        raise InvalidParamsError(f"{token!r} is no page token of this list")
    return names.index(token) + 1
