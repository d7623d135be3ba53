"""How the server treats the connections that it accepts."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from folkmoot.http.state import ServerOptions
from tests.http.doors import request, serving


def sends_at_once(client):
    """Whether the socket of this process that was accepted from this address has TCP_NODELAY."""
    for opened in Path("/proc/self/fd").iterdir():
        if opened.is_socket():  # a copy of anything else stays open, and a program may wait for its end
            with socket.socket(fileno=os.dup(int(opened.name))) as one, suppress(OSError):
                if one.getpeername() == client:
                    return bool(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    raise AssertionError(f"nobody in this process speaks with {client}")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_no_answer_waits_until_the_client_has_acknowledged_the_part_before(desk, host):
    """K-14: the body comes after the head, and clients put acknowledgements off for 40 ms."""
    at = desk({"a": "description: works"}, {"a": ["done"]})
    async with serving(at, ServerOptions(host=host, port=0)) as served, served.connected() as client:
        for _ in range(2):
            await client.send(request("/api/health", served.known))
            assert (await client.answer()).status == 200
        assert sends_at_once(client.address)
