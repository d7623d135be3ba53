"""Ports for servers that must be told theirs: found free, and still free when the server gets there."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Below those that systems give to whoever asks for any: nobody gets it by accident meanwhile."""
    for port in random.sample(range(10_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")
