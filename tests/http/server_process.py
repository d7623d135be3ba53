"""`python -m tests.http.server_process FOLDER`: a server with a socket that echoes and a stream without end."""

import asyncio
import sys

from folkmoot import Folkmoot
from folkmoot.http.application import application
from folkmoot.http.house import Door, House
from folkmoot.http.server import listening
from tests.http.doors import STREAMS


async def serve(folder: str) -> None:
    async with Folkmoot.open(folder) as moot:
        house = House(moot=moot, door=Door(port=0))
        app = application(house)
        app.router.routes.extend(STREAMS)
        async with listening(house, app) as address:
            print(f"serves at {address} ", file=sys.stderr, flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
