"""`folkmoot serve` and `folkmoot mcp`: a project for people and programs, and the engine that its runs run in."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from folkmoot.app import Folkmoot
from folkmoot.cli.call import GlobalOptions, get_global_options, run_async
from folkmoot.cli.commands import complete_agent_file
from folkmoot.cli.interrupt import on_stop_signals, run_interruptibly
from folkmoot.cli.output import write, write_stderr
from folkmoot.domain.duration import written
from folkmoot.errors import OperationFailed, WrongUse

if TYPE_CHECKING:
    from folkmoot.http.limits import TokenAuthenticator
    from folkmoot.http.state import ServerOptions, ServerState

_LOOK = 1.0
"""Seconds between looks at the file of the token."""


def serve(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8484,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further name that people reach it by.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Holds the token; a new one there counts from then on."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Of a reverse proxy, which says for whom it asks."),
    ] = None,
    max_body: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, metavar="MB", help="The most that one request may have; 1, of chat clients 32."
        ),
    ] = None,
    no_watch: Annotated[
        bool,
        typer.Option("--no-watch", help="Leave idle tasks to `folkmoot watch`: start no agent for them."),
    ] = False,
    new_token: Annotated[bool, typer.Option("--new-token", help="Print a new token, and end.")] = False,
) -> None:
    """On 127.0.0.1 whoever is on this machine may use it. On any other address everybody needs the token that
    FOLKMOOT_TOKEN or the token file holds; without one it does not start. It also runs: what is started through
    it, runs whose process has died, and runs that waited for an answer and got it, from whichever terminal. It
    keeps the watch over tasks, as `folkmoot watch` does, unless --no-watch says otherwise.
    Ctrl-C lets calls under way end and leaves runs as they are: the next `serve` goes on with them. Where the
    journal is in PostgreSQL, workers run them.

    \b
    Examples:
      folkmoot serve
      folkmoot serve --port 0
      folkmoot serve --max-body 25
      folkmoot serve --new-token > token && chmod 600 token
      folkmoot serve --host 0.0.0.0 --name folkmoot.example.com --token-file token
    """

    from folkmoot.http.limits import new_token as drawn
    from folkmoot.http.limits import read_token

    if new_token:
        write(drawn())
        return
    try:
        from folkmoot.http.limits import ServerLimits
        from folkmoot.http.state import ServerOptions
    except ImportError as error:
        raise OperationFailed(
            f"`folkmoot serve` needs a package that is not installed ({error});"
            " install it with: pip install 'folkmoot[serve]'",
            code="package_missing",
        ) from error
    token = read_token(token_file) if token_file else os.environ.get("FOLKMOOT_TOKEN", "")
    most = {"body": max_body * 1_000_000, "chat_body": max_body * 1_000_000} if max_body else {}
    names, proxies, limits = tuple(name or ()), tuple(proxy or ()), ServerLimits(**most)
    door = ServerOptions(host=host, port=port, token=token, names=names, proxies=proxies, limits=limits)
    run_async(_serve(get_global_options(context), door, token_file, watching=not no_watch))


async def _serve(
    call: GlobalOptions, door: ServerOptions, token_file: Path | None, *, watching: bool
) -> None:

    from folkmoot.http.server import build_application, run_server
    from folkmoot.http.state import ServerState
    from folkmoot.protocols.chat import CHAT_ROUTES

    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    async with AsyncExitStack() as stack:
        moot = await stack.enter_async_context(Folkmoot.open(call.folder, overrides=call.overrides))
        house = ServerState(moot=moot, door=door)
        house.room.say = write_stderr
        stopping = _build_stop_event(house.room.leave_at_once)
        await _start_background_work(stack, house, token_file)
        clients = _mcp_app(moot)
        routes = [CHAT_ROUTES, *(clients.routes if clients else ()), *_a2a_routes(house)]
        address = await stack.enter_async_context(run_server(house, build_application(house, routes)))
        if clients:  # after it listens: whatever goes wrong within its tasks comes out as a group
            await stack.enter_async_context(clients.router.lifespan_context(clients))
        write_stderr(f"Folkmoot serves {moot.folder.resolve().name} at {address} (Ctrl-C ends it)")
        if watching:
            _start_watch(stack, moot)
        await stopping.wait()
        write_stderr("stopping; runs are left for whoever goes on with them")


def _mcp_app(moot: Folkmoot) -> Starlette | None:
    """Where the extra for it is installed."""
    try:
        from folkmoot.protocols.mcp import mcp_app
    except ImportError:
        return None
    return mcp_app(moot, guarded=True)


def _a2a_routes(house: ServerState) -> list[BaseRoute]:
    """Where the extra for it is installed."""
    try:
        from folkmoot.protocols.a2a import a2a_routes
    except ImportError:
        return []
    return a2a_routes(house)


def _start_watch(stack: AsyncExitStack, moot: Folkmoot) -> None:

    watch = moot.watch()
    if not (every := watch.settings.check_interval):
        return
    watch.say = lambda done: write_stderr(
        " ".join(filter(None, (done.type, done.task_id, done.agent_id, done.text)))
    )
    stack.callback(asyncio.create_task(watch.work()).cancel)
    if watch.settings.enabled:
        write_stderr(
            f"watching tasks, every {written(every)}: agents of idle ones are started (not with --no-watch)"
        )


async def _start_background_work(stack: AsyncExitStack, house: ServerState, token_file: Path | None) -> None:
    """What goes on beside answering requests."""

    if house.moot.graph.settings.sinks:
        sinking = house.moot.sinking()
        sinking.say = write_stderr
        await stack.enter_async_context(sinking)
    await stack.enter_async_context(house.room)
    house.carrying.say = write_stderr
    await stack.enter_async_context(house.carrying)
    if token_file:
        following = asyncio.create_task(_follow_token_file(token_file, house.keys))
        stack.callback(following.cancel)


async def _follow_token_file(file: Path, keys: TokenAuthenticator) -> None:
    """Whoever writes a new token into the file sends away all who came in with the old one."""

    from folkmoot.http.limits import read_token

    told = ""
    while True:
        await asyncio.sleep(_LOOK)
        try:
            token = read_token(file)
        except WrongUse as error:
            if told != str(error):
                told = str(error)
                write_stderr(f"the old token still counts: {error}")
            continue
        if not keys.opens(token):
            keys.change(token)
            write_stderr("there is a new token; whoever came in with the old one has to sign in again")


def _build_stop_event(second: Callable[[], None]) -> asyncio.Event:
    """Set by the first signal; the second one calls `second`."""

    stopping = asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            second()
        stopping.set()

    on_stop_signals(stop)
    return stopping


def mcp(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            help="Offer only this agent, by its file or id; may be repeated.",
            autocompletion=complete_agent_file,
        ),
    ] = None,
) -> None:
    """Clients start this program themselves: give them the command, as docs/mcp-server.md shows. Every agent is a tool,
    every run and its report a resource. stdout carries the protocol alone; what is for people goes to stderr. It ends
    when the client does, or with Ctrl-C, and cancels the runs that are under way.

    \b
    Examples:
      folkmoot mcp
      folkmoot mcp --agent front-desk.ai --agent billing
      folkmoot --project ~/desk mcp
    """

    run_interruptibly(
        _serve_stdio(get_global_options(context), agents or []),
        first=lambda: write_stderr("stopping; once more to leave at once"),
        second=lambda: None,
    )


async def _serve_stdio(call: GlobalOptions, agents: list[str]) -> None:

    try:
        from folkmoot.protocols.mcp import mcp_server
        from folkmoot.protocols.mcp_stdio import serve_stdio
    except ImportError as error:
        raise WrongUse(f"{error}; install what it needs with: pip install 'folkmoot[mcp]'") from None
    with redirect_stdout(sys.stderr):  # what modules of the project print when they are loaded is no protocol
        async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
            server = mcp_server(moot, agents)
            write_stderr(f"the agents of {call.folder} are tools now; Ctrl-C ends it")
            await serve_stdio(server)
