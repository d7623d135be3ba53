"""A remote agent as anybody would write one: served by the official SDK, on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from a2a.helpers import new_data_part, new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

TOKEN = "a-token-of-the-helper"


class Helper(AgentExecutor):
    """Does what the last part of a message says, and remembers every message."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        self.cancelled: list[str] = []
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    @property
    def texts(self) -> list[list[str]]:
        return [[part.text for part in message.parts] for message in self.heard]

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message
        self.heard.append(context.message)
        wanted = context.message.parts[-1].text
        if "just say it" in wanted:
            await event_queue.enqueue_event(new_text_message("Said at once."))
            return
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await self._work(updater, wanted)

    async def _work(self, updater: TaskUpdater, wanted: str) -> None:
        self.began.set()
        if "slowly" in wanted:
            await self.may_end.wait()
        if "badly" in wanted:
            await updater.failed(new_text_message("the line is dead"))
        elif "ask me" in wanted:
            await updater.requires_input(new_text_message("Which one?"))
        elif "say nothing" in wanted:
            await updater.complete()
        elif "as data" in wanted:
            await updater.add_artifact([new_data_part({"n": 4})])
            await updater.complete()
        else:
            await updater.add_artifact([Part(text="The policy is ")], artifact_id="a")
            await updater.add_artifact([Part(text="thirty days.")], artifact_id="a", append=True)
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        self.cancelled.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url: str, *, streaming: bool = True) -> AgentCard:
    return AgentCard(
        name="helper",
        description="Knows the policy.",
        version="1",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="policy", name="policy", description="Knows it.", tags=["policy"])],
    )


def application(helper: Helper, described: AgentCard, token: str = "") -> Any:
    handler = DefaultRequestHandler(helper, InMemoryTaskStore(), described)
    app = Starlette(routes=[*create_agent_card_routes(described), *create_jsonrpc_routes(handler, "/")])

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        shown = Request(scope).headers.get("authorization", "")
        let_in = app if shown == (f"Bearer {token}" if token else "") else Response(status_code=401)
        await let_in(scope, receive, send)

    return guarded


@asynccontextmanager
async def served(make: Callable[[str], Any]) -> AsyncIterator[str]:
    """A real server on loopback, made for its address, which it gives."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(make(address), log_level="critical", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listening]))
        while not server.started:
            assert not serving.done(), "it ended before it listened"
            await asyncio.sleep(0)
        try:
            yield address
        finally:
            server.should_exit = server.force_exit = True
            await serving


@asynccontextmanager
async def serving(helper: Helper, *, streaming: bool = True, token: str = "") -> AsyncIterator[str]:
    """The helper at an address."""
    async with served(lambda url: application(helper, card(url, streaming=streaming), token)) as address:
        yield address
