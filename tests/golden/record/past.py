"""Lets the program believe that it is January 2026, on a machine called `record`. Only for making the record."""

import os
import socket
import time

from folkmoot.engine import clock

_BEGIN = 1_767_607_200  # 2026-01-05T10:00:00Z
_BEGAN = "RECORD_BEGAN"


def begin() -> None:
    os.environ[_BEGAN] = str(time.time())  # noqa: TID251
    go_on()


def go_on() -> None:
    """Also in a further process."""
    earlier = float(os.environ[_BEGAN]) - _BEGIN

    def now(_: object) -> str:
        second, part = divmod(time.time() - earlier, 1)  # noqa: TID251
        return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second)) + f"{int(part * 1000):03d}Z"

    clock.SystemClock.now = now  # type: ignore[method-assign,assignment]
    socket.gethostname = lambda: "record"  # type: ignore[assignment]
