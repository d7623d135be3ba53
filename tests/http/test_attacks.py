"""The attacks on a local control plane, against a real process: refused, recorded, and its memory stays bounded."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from folkmoot.http.server import raise_file_limit
from tests.cli.conftest import PROGRAM, wait_for
from tests.desk import write
from tests.http.doors import UPGRADE, Served, frame, request

GROWTH = 20_000
"""Kilobytes by which a server may grow under attack: far less than what it is sent."""


class Victim(Served):
    """A server that is another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        self._process = process
        self._stderr = process.stderr
        said = re.search(r"http://\S+", wait_for(process.stderr, "serves"))
        assert said
        self.address = said[0]
        self.at_first = self.peak

    @property
    def peak(self) -> int:
        """Kilobytes, the most that it ever had."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1])

    @property
    def grown(self) -> int:
        return self.peak - self.at_first

    def log(self) -> str:
        """Ends it, and gives what it wrote."""
        self._process.terminate()
        return self._process.communicate(timeout=60)[1]


@contextmanager
def started(folder: Path, arguments: list[str], **env: str) -> Iterator[Victim]:
    write(folder, {"a": "description: works"})
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Victim(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def local(tmp_path):
    with started(tmp_path, [*PROGRAM, "serve", "--port", "0"]) as victim:
        yield victim


async def test_a_body_of_a_hundred_megabytes(local):
    """One that says so, and one that does not; both are sent as far as the server lets them."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{local.port}"}
    chunk = 1_000_000 * b"x"
    for length, piece in (
        ({"Content-Length": "100000000"}, chunk),
        ({"Transfer-Encoding": "chunked"}, b"F4240\r\n" + chunk + b"\r\n"),
    ):
        async with local.connected() as client:
            await client.send(request("/sign-in", {**local.known, **form, **length}, method="POST"))
            sent = 0
            with suppress(ConnectionError):
                while sent < 100:
                    await client.send(piece)
                    sent += 1
            assert sent < 100
    assert (await local.ask("/api/health")).status == 200

    assert local.grown < GROWTH
    assert local.log().count("refused: body, from 127.0.0.1: 'POST /sign-in'") == 2


async def test_two_hundred_clients_that_never_finish_their_request(local):
    """Slow-loris: they are sent away, and whoever asks meanwhile is answered."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(local.connected()) for _ in range(200)]
        for client in clients:
            await client.send(b"GET /api/status HTTP/1.1\r\nX-Loris: ")
        answers = [asyncio.create_task(client.answer()) for client in clients]
        for _ in range(20):
            assert (await local.ask("/api/health")).status == 200
            for client in clients:
                with suppress(ConnectionError):  # on a slow machine it was sent away by now
                    await client.send(b"x")
        assert {(await said).status for said in answers} == {408}
        assert {await client.rest() for client in clients} == {b""}

    assert local.grown < GROWTH
    assert "refused: too slow, from 127.0.0.1" in local.log()


async def test_more_connections_than_anyone_needs_lock_nobody_out(local):
    """K-12: the oldest that ask nothing give way."""
    raise_file_limit(4_000)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(local.connected()) for _ in range(1_550)]
        assert (await local.ask("/api/health")).status == 200
        assert {await client.rest() for client in clients[:50]} == {b""}

    assert local.grown < GROWTH


async def test_a_flood_through_a_socket(local):
    """A hundred thousand pings at once, many sockets, and nobody who reads the answers."""
    ping = frame(b'{"type": "ping"}')

    async def flood() -> bytes:
        async with local.connected() as client:
            await client.send(request("/ws", local.known | UPGRADE))
            assert (await client.head()).status == 101
            with suppress(ConnectionError):
                await client.send(*(ping * 1000,) * 100)
            return await client.rest()

    await asyncio.gather(*(flood() for _ in range(10)))
    assert (await local.ask("/api/health")).status == 200

    assert local.grown < GROWTH
    assert "refused: flood, from 127.0.0.1" in local.log()


async def test_a_foreign_name_a_foreign_site_and_a_foreign_form(local):
    """DNS rebinding, a script of another site, and a form of one, a thousand times."""
    for headers, method, status in (
        ({"Host": "rebound.example"}, "GET", 421),
        ({"Origin": "https://evil.example"}, "GET", 403),
        ({"Origin": "https://evil.example"} | UPGRADE, "GET", 403),
        ({"Content-Type": "text/plain"}, "POST", 415),
    ):
        body = b"{}" if method == "POST" else b""
        answers = [await local.ask("/api/runs", headers, method=method, body=body) for _ in range(250)]
        assert {said.status for said in answers} == {status}

    assert local.grown < GROWTH
    log = local.log()
    for line in (
        "refused: host, from 127.0.0.1: 'GET /api/runs host rebound.example'",
        "refused: origin, from 127.0.0.1: 'GET /api/runs origin https://evil.example'",
        "refused: content type, from 127.0.0.1: 'POST /api/runs'",
    ):
        assert line in log
    assert log.count("\n") < 30, "however much comes, the log has a few lines"
