"""How much a client may ask for, and how slowly. What it has taken is free again when it goes."""

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from folkmoot.http.limits import ServerLimits
from folkmoot.http.state import ServerOptions
from tests.http.doors import UPGRADE, Client, frame, request, serving, until

JSON = {"Content-Type": "application/json"}
SHORT = 1.0
"""Seconds: a client that means well is done long before."""


@pytest.fixture
def moot(desk):
    return desk({"a": "description: works"}, {"a": ["done"]})


def door(**limits) -> ServerOptions:
    return ServerOptions(port=0, limits=ServerLimits(**limits))


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(moot):
    async with serving(moot, door(body=1000)) as served, served.connected() as client:
        await client.send(request("/read", {**served.known, **JSON, "Content-Length": "1001"}, method="POST"))
        said = await client.answer()

        remedy = "`--max-body` of `folkmoot serve` sets how many MB, now 0.001"
        assert (said.status, said.detail) == (413, f"this request may have at most 1,000 bytes; {remedy}")
        assert said.headers["connection"] == "close"
        assert await client.rest() == b""
        assert served.house.refusals.counts == {"body": 1}


async def test_a_body_that_does_not_say_how_large_it_is_is_counted_while_it_comes(moot):
    async with serving(moot, door(body=1000)) as served, served.connected() as client:
        head = {**served.known, **JSON, "Transfer-Encoding": "chunked"}
        await client.send(request("/read", head, method="POST"), *(b"1F4\r\n" + 500 * b"x" + b"\r\n",) * 3)

        assert (await client.answer()).status == 413
        assert await client.rest() == b""
        assert served.house.refusals.counts == {"body": 1}


async def test_a_body_of_the_size_that_is_allowed_is_read(moot):
    async with serving(moot, door(body=1000)) as served:
        assert (await served.ask("/read", JSON, method="POST", body=1000 * b"x")).body == b"1000"


async def test_all_bodies_together_have_a_limit_and_are_free_again_when_they_are_answered(moot):
    """K-23: large requests of many clients do not fill the memory."""
    async with serving(moot, door(body=1000, bodies=1500)) as served:
        async with served.connected() as first:
            head = {**served.known, **JSON, "Content-Length": "1000"}
            await first.send(request("/read", head, method="POST"), 999 * b"x")
            answers = {200}
            while answers == {200}:  # until the first has come as far
                answers = {(await served.ask("/read", JSON, method="POST", body=600 * b"x")).status}
            assert answers == {503}
            assert served.house.refusals.counts == {"body": 1}
            await first.send(b"x")
            assert (await first.answer()).status == 200
        assert (await served.ask("/read", JSON, method="POST", body=1000 * b"x")).status == 200


async def test_too_many_headers_and_too_long_ones_are_refused(moot):
    async with serving(moot, door(headers=20, head=4096)) as served:
        assert (await served.ask("/", {f"X-{number}": "" for number in range(20)})).status == 431
        assert (await served.ask("/", {"X-Long": 4096 * "x"})).status == 431
        assert (await served.ask(f"/?{4096 * 'x'}")).status == 431
        assert served.house.refusals.counts == {"headers": 3}
        async with served.connected() as client:
            await client.send(b"GET / HTTP/1.1\r\nX-Endless: " + 5000 * b"x")
            assert (await client.answer()).status == 400
        assert served.house.refusals.counts["no HTTP"] == 1


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"])
async def test_a_head_that_does_not_come_to_its_end_is_not_waited_for(moot, sent):
    async with serving(moot, door(head_time=SHORT)) as served, served.connected() as client:
        await client.send(sent)

        said = await client.answer()

        assert (said.status, said.detail) == (408, "the request did not come in time")
        assert await client.rest() == b""
        assert served.house.refusals.counts == {"too slow": 1}


async def test_who_sends_byte_after_byte_gets_no_more_time_by_it(moot):
    """Slow-loris: the time runs from the first byte."""
    async with serving(moot, door(head_time=SHORT)) as served, served.connected() as client:
        await client.send(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n".encode())
        answer = asyncio.create_task(client.answer())
        await trickle(client)

        assert (await answer).status == 408
        assert served.house.refusals.counts == {"too slow": 1}


async def test_a_body_that_does_not_come_to_its_end_is_not_waited_for(moot, caplog):
    async with serving(moot, door(body_time=SHORT)) as served, served.connected() as client:
        head = {**served.known, **JSON, "Content-Length": "10"}
        await client.send(request("/read", head, method="POST"), b"12345")

        assert await client.rest() == b""
        assert served.house.refusals.counts == {"too slow": 1}
    assert "Traceback" not in caplog.text


async def test_who_comes_in_time_may_take_as_long_as_the_answer_takes(moot):
    async with serving(moot, door(head_time=SHORT, body_time=SHORT)) as served, served.connected() as client:
        await client.send(request("/events-for-ever", served.known))
        await client.until(b"begun")

        async with served.connected() as slow:
            assert (await slow.answer()).status == 408
            assert len(served.house.streams) == 1


async def test_a_connection_that_asks_nothing_more_is_closed(moot):
    async with serving(moot, door(idle=0)) as served, served.connected() as client:
        await client.send(request("/api/health", served.known))

        assert (await client.answer()).status == 200
        assert await client.rest() == b""


async def test_one_address_has_so_many_connections_and_gets_them_back(moot):
    async with serving(moot, door(connections_each=2)) as served:
        async with served.connected() as one, served.connected() as other:
            for client in (one, other):
                await client.send(request("/events-for-ever", served.known))
                await client.until(b"begun")
            async with served.connected() as third:
                said = await third.answer()
                assert (said.status, said.detail) == (503, "too many connections are open; come later")
                assert await third.rest() == b""
            one.close()
            await free(served, 1)
            await one_more(served)
        assert served.house.refusals.counts == {"connections": 1}


async def test_a_burst_of_connections_from_one_address_is_answered_whole(moot):
    """K-9: a client that starts hundreds of runs at once is no attack."""
    async with serving(moot, door()) as served, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(served.connected()) for _ in range(400)]
        for client in clients:
            await client.send(request("/api/health", served.known))

        assert {(await client.answer()).status for client in clients} == {200}
        assert served.house.refusals.counts == {}


async def test_all_together_have_so_many_connections(moot):
    async with serving(moot, door(connections=1)) as served, served.connected() as one:
        await one.send(request("/events-for-ever", served.known))
        await one.until(b"begun")
        async with served.connected() as other:
            assert (await other.answer()).status == 503


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", "whole"])
async def test_who_asks_nothing_gives_way_to_whoever_comes_and_the_oldest_first(moot, sent):
    """K-12: idle connections, those of a slow head, and those that are kept for a next request."""
    async with serving(moot, door(connections_each=3)) as served, AsyncExitStack() as stack:
        idle = [await stack.enter_async_context(served.connected()) for _ in range(3)]
        for client in idle:
            await client.send(request("/api/health", served.known) if sent == "whole" else sent)
            if sent == "whole":
                assert (await client.answer()).status == 200
        await until(lambda: len(served.house.connections) == 3)

        for _ in range(2):
            await one_more(served)

        assert await idle[0].rest() == b""
        assert len(served.house.connections) <= 3
        assert not served.house.refusals.counts


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\nHost: {host}\n\n",
        b"GET / HTTP/1.1\r\nHost: {host}\nX-A: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nX-A: b\r\n c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nX-A: b\r\n\tc\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\nHost: {host}\n\r\n",
    ],
)
@pytest.mark.parametrize("slowly", [False, True])
async def test_a_bare_line_feed_and_a_folded_header_are_refused(moot, head, slowly):
    """K-12: whoever stands before this server may read them otherwise."""
    async with serving(moot, door()) as served, served.connected() as client:
        sent = head.replace(b"{host}", f"127.0.0.1:{served.port}".encode())
        for part in [bytes([byte]) for byte in sent] if slowly else [sent]:
            await client.send(part)

        assert b" 400 " in await client.rest()
        assert served.house.refusals.counts["no HTTP"] == 1


async def test_a_socket_takes_one_connection_and_gives_it_back(moot):
    async with serving(moot, door(connections_each=1)) as served:
        for _ in range(3):
            async with served.connected() as client:
                await client.send(request("/echo", served.known | UPGRADE))
                assert (await client.head()).status == 101
                await client.send(frame(b"hello"))
                assert await client.frame() == b"hello"
            await free(served, 0)
        assert not served.house.refusals.counts


async def test_a_flood_of_messages_ends_the_socket_and_is_recorded(moot):
    """Pings too: they never reach the application, and each wants an answer."""
    for flood in (frame(b"x"), frame(b"", opcode=9), frame(b"", opcode=10)):
        async with serving(moot, door(messages=20)) as served, served.connected() as client:
            await client.send(request("/echo", served.known | UPGRADE))
            assert (await client.head()).status == 101
            await client.send(flood * 21)

            assert b"too many messages" in await client.rest()
            assert served.house.refusals.counts == {"flood": 1}


async def test_a_message_that_is_too_large_ends_the_socket(moot):
    async with serving(moot, door(message=100)) as served, served.connected() as client:
        await client.send(request("/echo", served.known | UPGRADE))
        await client.head()
        await client.send(frame(101 * b"x"))

        assert (await client.rest())[2:4] == (1009).to_bytes(2, "big")


async def trickle(client: Client) -> None:
    """A header now and then, as long as the server takes it."""
    with suppress(ConnectionError):
        while True:
            await client.send(b"X-Loris: 1\r\n")
            await asyncio.sleep(0.01)


async def free(served, connected: int) -> None:
    """Return when the server has seen that only so many are connected."""
    await until(lambda: len(served.house.connections) <= connected)


async def one_more(served) -> None:
    async with served.connected() as client:
        await client.send(request("/api/health", served.known))
        assert (await client.answer()).status == 200
