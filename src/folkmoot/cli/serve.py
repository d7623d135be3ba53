"""`folkmoot serve`: the page and the API of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import call_of, finished

if TYPE_CHECKING:
    from pathlib import Path


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8484,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further name that people reach it by.")
    ] = None,
) -> None:
    """Serve the page and the API of a project, until Ctrl-C.

    On 127.0.0.1 whoever is on this machine may use it. On any other address everybody needs the token that the
    environment variable FOLKMOOT_TOKEN holds; without one it does not start.

    \b
    Examples:
      folkmoot serve
      folkmoot serve --port 0
      FOLKMOOT_TOKEN=… folkmoot serve --host 0.0.0.0 --name folkmoot.example.com
    """
    finished(_serve(call_of(context).folder.resolve(), host, port, tuple(name or ())))


async def _serve(folder: Path, host: str, port: int, names: tuple[str, ...]) -> None:
    import os

    import uvicorn

    from folkmoot.app import Folkmoot
    from folkmoot.cli.output import say
    from folkmoot.http.application import application
    from folkmoot.http.house import Door, House

    door = Door(host=host, port=port, token=os.environ.get("FOLKMOOT_TOKEN", ""), names=names)
    async with Folkmoot.open(folder) as moot:
        config = uvicorn.Config(
            application(House(moot=moot, door=door)),
            host=host,
            port=port,
            log_level="warning",
            server_header=False,
            lifespan="off",
        )
        say(f"Folkmoot serves {folder.name} at http://{host}:{port}/ (Ctrl-C ends it)")
        await uvicorn.Server(config).serve()
