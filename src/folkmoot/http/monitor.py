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
from folkmoot.domain.records import TASK
from folkmoot.domain.task import TaskStep
from folkmoot.errors import FolkmootError
from folkmoot.http.problems import Refused
from folkmoot.http.requests import Given, Position, query_of
from folkmoot.http.state import house_of
from folkmoot.http.stream.event_source import STALLED
from folkmoot.http.stream.hub import Hub
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter

WRONG, TRY_AGAIN = 1008, 1013
"""Why a socket is closed: the client asks for what there is not; the journal cannot be read."""


class Asking(Given):
    """What a client may send. A subscription takes the place of the one before; it goes on where that was."""

    type: Literal["subscribe", "ping"] = "subscribe"
    run_id: str = ""
    work_session_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    role: Role | None = None
    types: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    """Of events: `task.*`."""
    after: Position | None = None

    @property
    def wanted(self) -> Filter:
        return Filter(
            run=self.run_id,
            work_session=self.work_session_id,
            agent=self.agent_id,
            session=self.session_id,
            role=self.role or "",
            types=self.types,
        )


async def monitor(socket: WebSocket) -> None:
    try:
        asking = query_of(socket, Asking)
    except Refused as refused:
        await socket.close(WRONG, _short(str(refused)))
        return
    await socket.accept()
    await _Talk(house_of(socket).hub, socket).hold(asking)


class _Talk:
    """With one client: what it says is heard beside what it is told."""

    def __init__(self, hub: Hub, socket: WebSocket) -> None:
        self._hub = hub
        self._socket = socket
        self._at: int | None = None
        """The last entry that it was told of."""
        self._telling = asyncio.Lock()
        """Held while it is told of one."""

    async def hold(self, asking: Asking) -> None:
        """Until either side goes."""
        working: list[asyncio.Task[Any]] = []
        try:
            position = await self._hub.moot.position()
            await self._send(Told("connected", self._hub.clock.now(), {"position": position}))
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
            await self._socket.close(TRY_AGAIN, _short(str(error)))
        except msgspec.MsgspecError as error:
            await self._socket.close(WRONG, _short(f"this is no message of a client: {error}"))
        except (WebSocketDisconnect, TimeoutError):
            pass
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _tell(self, asking: Asking) -> None:
        after = self._at if asking.after is None else asking.after
        async for entry in self._hub.subscribe(asking.wanted, after):
            async with self._telling:
                for told in messages(entry):
                    await self._send(told)
                self._at = entry.seq

    async def _heard(self) -> Asking:
        """The next subscription."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect
            said = message.get("text") or message.get("bytes") or ""
            asking = msgspec.json.decode(said, type=Asking)
            if asking.type == "subscribe":
                return asking
            await self._send(Told("pong", self._hub.clock.now(), {}))

    async def _send(self, told: Told) -> None:
        """Raises TimeoutError if the client does not take it."""
        text = msgspec.json.encode(told).decode()
        await asyncio.sleep(0)  # between two of many, whoever has gone is noticed
        await self._hub.clock.within(STALLED, self._socket.send_text(text))


def _short(reason: str) -> str:
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


class Told(msgspec.Struct, rename="camel", omit_defaults=True):
    """One message."""

    type: str
    timestamp: str
    data: Any
    agent_id: str = ""
    task_id: str = ""
    seq: int = 0
    """Of the entry that it tells of: who comes back asks for what is after it."""


def messages(entry: Entry) -> Iterator[Told]:
    """What there is to say about an entry; each with the event as the journal has it, or with what follows from it."""
    type, wire = entry.event.type, msgspec.Raw(to_line(entry)[:-1])
    task = entry.stream if entry.stream.startswith(TASK.prefix) else ""

    def told(name: str, **data: Any) -> Told:
        return Told(name, entry.draft.ts, data, entry.draft.agent_id, task, entry.seq)

    yield told("event_log", event=wire)
    if task and (status := _task_status(entry.event)):
        yield told("task_update", status=status, event=wire)
    if task and (steps := _steps(entry.event)):
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


def _steps(event: Event) -> tuple[TaskStep, ...]:
    """All of the task, where the event says them."""
    said: tuple[TaskStep, ...] | None = getattr(getattr(event, "task", event), "steps", None)
    return said or ()
