"""The WebSocket of monitors: tells of every entry that fits what the client last subscribed to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from folkmoot.domain.entry import DELEGATION_EVENTS, TASK_EVENTS, Entry, Event, Role, role
from folkmoot.domain.read_model import changed_rows
from folkmoot.domain.records import TASK
from folkmoot.domain.task import TaskStep
from folkmoot.errors import FolkmootError
from folkmoot.http.problems import HttpError
from folkmoot.http.requests import ApiInput, Position, parse_query
from folkmoot.http.state import get_server_state
from folkmoot.http.stream.event_source import STALLED
from folkmoot.http.stream.hub import Hub, build_filter
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter

PAUSE = 2.0
"""Seconds between two messages about changed rows."""
WRONG, TRY_AGAIN = 1008, 1013
"""Why a socket is closed: the client asks for what there is not; the journal cannot be read."""


_NAMES = {"run": "runId", "work_session": "workSessionId", "agent": "agentId", "session": "sessionId"}


class MonitorRequest(ApiInput, rename=_NAMES):
    """What a client may send. A subscription takes the place of the one before; it goes on where that was."""

    type: Literal["subscribe", "ping"] = "subscribe"
    run: str = ""
    work_session: str = ""
    agent: str = ""
    session: str = ""
    role: Role | None = None
    types: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    """Of events: `task.*`."""
    after: Position | None = None
    rows: bool = False
    """Only which rows of the read model changed, at most once in two seconds, instead of every entry."""


async def monitor(socket: WebSocket) -> None:
    try:
        asking = parse_query(socket, MonitorRequest)
    except HttpError as refused:
        await socket.close(WRONG, _truncate_reason(str(refused)))
        return
    await socket.accept()
    await _MonitorConnection(get_server_state(socket).hub, socket).hold(asking)


class _MonitorConnection:
    """With one client: what it says is heard beside what it is told."""

    def __init__(self, hub: Hub, socket: WebSocket) -> None:
        self._hub = hub
        self._socket = socket
        self._at: int | None = None
        """The last entry that it was told of."""
        self._telling = asyncio.Lock()
        """Held while it is told of one."""

    async def hold(self, asking: MonitorRequest) -> None:
        """Until either side goes."""
        working: list[asyncio.Task[Any]] = []
        try:
            position = await self._hub.moot.position()
            await self._send(MonitorMessage("connected", self._hub.clock.now(), {"position": position}))
            self._at = position
            while True:
                telling = asyncio.create_task(self._tell(asking))
                hearing = asyncio.create_task(self._heard())
                working = [telling, hearing]
                await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
                if telling.done():
                    telling.result()
                if hearing.done():
                    asking = hearing.result()
                    async with self._telling:
                        telling.cancel()
        except FolkmootError as error:
            await self._socket.close(TRY_AGAIN, _truncate_reason(str(error)))
        except msgspec.MsgspecError as error:
            await self._socket.close(WRONG, _truncate_reason(f"this is no message of a client: {error}"))
        except (WebSocketDisconnect, TimeoutError):
            pass
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _tell(self, asking: MonitorRequest) -> None:
        after = self._at if asking.after is None else asking.after
        if asking.rows:
            await self._tell_rows(build_filter(asking), after)
            return
        async for entry in self._hub.subscribe(build_filter(asking), after):
            async with self._telling:
                for told in build_messages(entry):
                    await self._send(told)
                self._at = entry.seq

    async def _tell_rows(self, wanted: Filter, after: int | None) -> None:
        async for entries in self._hub.batches(wanted, after, pause=PAUSE):
            rows: dict[str, dict[str, None]] = {}
            for table, id in (row for entry in entries for row in changed_rows(entry)):
                rows.setdefault(table, {})[id] = None
            async with self._telling:
                self._at = entries[-1].seq
                data = {table: [*ids] for table, ids in rows.items()}
                await self._send(MonitorMessage("rows_changed", self._hub.clock.now(), data, seq=self._at))

    async def _heard(self) -> MonitorRequest:
        """The next subscription."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect
            said = message.get("text") or message.get("bytes") or ""
            asking = msgspec.json.decode(said, type=MonitorRequest)
            if asking.type == "subscribe":
                return asking
            await self._send(MonitorMessage("pong", self._hub.clock.now(), {}))

    async def _send(self, told: MonitorMessage) -> None:
        """Raises TimeoutError if the client does not take it."""
        text = msgspec.json.encode(told).decode()
        await asyncio.sleep(0)  # between two of many, whoever has gone is noticed
        await self._hub.clock.within(STALLED, self._socket.send_text(text))


def _truncate_reason(reason: str) -> str:
    """A reason for closing has room for 123 bytes."""
    return reason.encode()[:120].decode(errors="ignore")


SOCKET = WebSocketRoute("/ws", monitor)


_AGENT_STATES = {
    "session.started": "active",
    "session.completed": "idle",
    "session.failed": "idle",
    "session.cancelled": "idle",
}
_TEAM_EVENTS = ("team.", "work_session.team_formed")
_PLAN_EVENTS = ("plan.", "step.")


class MonitorMessage(msgspec.Struct, rename="camel", omit_defaults=True):
    """One message."""

    type: str
    timestamp: str
    data: Any
    agent_id: str = ""
    task_id: str = ""
    seq: int = 0
    """Of the entry that it tells of: who comes back asks for what is after it."""


def build_messages(entry: Entry) -> Iterator[MonitorMessage]:
    """What there is to say about an entry; each with the event as the journal has it, or with what follows from it."""
    type, wire = entry.event.type, msgspec.Raw(to_line(entry)[:-1])
    task = entry.stream if entry.stream.startswith(TASK.prefix) else ""

    def told(name: str, **data: Any) -> MonitorMessage:
        return MonitorMessage(name, entry.draft.ts, data, entry.draft.agent_id, task, entry.seq)

    yield told("event_log", event=wire)
    if task and (status := _task_status(entry.event)):
        yield told("task_update", status=status, event=wire)
    if task and (steps := _task_steps(entry.event)):
        done = sum(step.status == "done" for step in steps)
        yield told("task_step_update", done=done, total=len(steps), steps=steps)
    if state := _AGENT_STATES.get(type):
        yield told("agent_update", status=state, event=wire)
    if type.startswith(_TEAM_EVENTS):
        yield told("team_state_update", event=wire)
    if type.startswith(_PLAN_EVENTS):
        yield told("plan_update", event=wire)
    if role(entry.draft) == "orchestration.task":
        yield told("continuation_event", event=wire)
    if type.startswith((*TASK_EVENTS, *DELEGATION_EVENTS)):
        affected = [entry.draft.work_session_id] if entry.draft.work_session_id else []
        yield told("coordination_event_new", events=[wire], affectedWorkSessions=affected)


def _task_status(event: Event) -> str:
    task = getattr(event, "task", None)
    status: str = task.status if task else getattr(event, "status", "")
    return status


def _task_steps(event: Event) -> tuple[TaskStep, ...]:
    """All of the task, where the event says them."""
    said: tuple[TaskStep, ...] | None = getattr(getattr(event, "task", event), "steps", None)
    return said or ()
