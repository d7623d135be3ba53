"""Tools of the record: one that needs a word, one that is done once, one that only looks.

Where RECORD_KILL names a tool, the process dies in the middle of its call, as by `kill -9`.
"""

import os
import signal

from folkmoot import tool


@tool(effect="pure", access="write", asks="high")
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool(effect="once", access="write")
async def send(to: str) -> str:
    """Send it."""
    _die("send")
    return f"sent to {to}"


@tool(effect="pure", access="read")
async def look(where: str) -> str:
    """Look somewhere."""
    _die("look")
    return f"seen at {where}"


def _die(name: str) -> None:
    if os.environ.get("RECORD_KILL") == name:
        os.kill(os.getpid(), signal.SIGKILL)
