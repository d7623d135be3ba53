"""Signing in at the page, staying in, and being sent away when the token changes."""

import asyncio
import logging
from contextlib import AsyncExitStack
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from folkmoot.http.limits import LINES, AuthThrottle, RefusalLog, TokenAuthenticator
from folkmoot.http.state import ServerOptions
from tests.http.doors import TOKEN, UPGRADE, Answer, Served, request, serving, until

GUARDED = ServerOptions(port=0, token=TOKEN)
OTHER = "another-token-that-nobody-guesses"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def moot(desk):
    return desk({"a": "description: works"}, {"a": ["done"]})


async def sign_in(served: Served, token: str, onward: str = "/", **more: str) -> Answer:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{served.port}"}
    body = urlencode({"token": token, "onward": onward}).encode()
    return await served.ask("/sign-in", form | more, method="POST", body=body)


def cookie_of(said: Answer) -> dict[str, str]:
    return {"Cookie": said.headers["set-cookie"].partition(";")[0]}


async def test_the_page_asks_for_the_token_and_leads_to_where_one_wanted(moot):
    """E-86: a log-in cookie for the page; refused without."""
    async with serving(moot, GUARDED) as served:
        asked = await served.ask("/runs", BROWSER)
        said = await sign_in(served, TOKEN, "/runs")
        cookie = cookie_of(said)

        assert asked.status == 401
        assert b'<input type="hidden" name="onward" value="/runs">' in asked.body
        assert (said.status, said.headers["location"]) == (303, "/runs")
        assert (await served.ask("/runs", BROWSER | cookie)).status == 200
        assert (await served.ask("/api/runs", cookie)).status == 200
        assert (await served.ask("/echo", UPGRADE | cookie)).status == 101


async def test_no_script_reads_the_cookie_and_no_other_site_uses_it(moot):
    async with serving(moot, GUARDED) as served:
        said = await sign_in(served, TOKEN)

        (morsel,) = SimpleCookie(said.headers["set-cookie"]).values()
        assert morsel.key == f"folkmoot-{served.port}"
        assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "strict", "/")
        assert TOKEN not in said.headers["set-cookie"]


async def test_behind_a_proxy_that_speaks_https_the_cookie_goes_over_https_only(moot):
    async with serving(moot, ServerOptions(port=0, token=TOKEN, proxies=("127.0.0.1",))) as served:
        said = await sign_in(served, TOKEN, **{"X-Forwarded-Proto": "https"})
        assert "Secure" in said.headers["set-cookie"]
    async with serving(moot, GUARDED) as served:
        said = await sign_in(served, TOKEN, **{"X-Forwarded-Proto": "https"})
        assert "Secure" not in said.headers["set-cookie"], "nobody is believed who is no proxy"


@pytest.mark.parametrize(
    "onward", ["//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nX: y", ""]
)
async def test_signing_in_leads_to_no_other_site(moot, onward):
    async with serving(moot, GUARDED) as served:
        assert (await sign_in(served, TOKEN, onward)).headers["location"] == "/"


async def test_a_wrong_token_is_refused_recorded_and_waited_with_and_the_right_one_is_not(moot):
    async with serving(moot, GUARDED) as served:
        wrong = asyncio.create_task(sign_in(served, OTHER))
        bearer = asyncio.create_task(served.ask("/api/status", {"Authorization": f"Bearer {OTHER}"}))
        await until(lambda: served.house.throttle.waiting == 2)
        right = await sign_in(served, TOKEN)
        assert not wrong.done()
        assert not bearer.done()
        await moot.clock.advance(5)

        assert right.status == 303
        assert ((await wrong).status, (await bearer).status) == (401, 401)
        assert b"That is not the token of this server." in (await wrong).body
        assert served.house.refusals.counts == {"wrong token": 2}


async def test_signing_out_takes_the_cookie_away(moot):
    async with serving(moot, GUARDED) as served:
        cookie = cookie_of(await sign_in(served, TOKEN))
        form = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{served.port}",
        }
        out = await served.ask("/sign-out", form | cookie, method="POST")

        assert (out.status, out.headers["location"]) == (303, "/sign-in")
        assert "Max-Age=0" in out.headers["set-cookie"]


async def test_without_a_token_there_is_nothing_to_sign_in_for(moot):
    async with serving(moot) as served:
        assert (await served.ask("/sign-in")).headers["location"] == "/"


async def test_a_new_token_ends_all_streams_and_every_cookie(moot):
    async with serving(moot, GUARDED) as served, served.connected() as events, served.connected() as socket:
        cookie = cookie_of(await sign_in(served, TOKEN))
        await events.send(request("/events-for-ever", served.known | cookie))
        await events.until(b"begun")
        await socket.send(request("/echo", served.known | cookie | UPGRADE))
        assert (await socket.head()).status == 101
        await until(lambda: len(served.house.streams) == 2)

        served.house.keys.change(OTHER)

        assert await events.until(b"0\r\n\r\n")
        assert (await socket.frame())[:2] == (1012).to_bytes(2, "big")
        for old in (cookie, {"Cookie": "folkmoot=1"}):
            assert (await served.ask("/api/status", old)).status == 401
        assert (await served.ask("/api/status", {"Authorization": f"Bearer {OTHER}"})).status == 200


async def test_streams_end_when_the_server_stops(moot):
    """Nobody waits for what has no end."""
    async with AsyncExitStack() as clients:
        async with serving(moot) as served:
            events = await clients.enter_async_context(served.connected())
            await events.send(request("/events-for-ever", served.known))
            await events.until(b"begun")
        assert (await events.rest()).endswith(b"0\r\n\r\n")


def test_a_cookie_holds_for_twelve_hours_over_restarts_and_for_its_token_alone():
    cookie = TokenAuthenticator(TOKEN).cookie(now=1000.4)
    again = TokenAuthenticator(TOKEN)
    until, rest = cookie.split(".", 1)

    assert again.holds(cookie, now=1000 + 12 * 3600 - 1)
    assert not again.holds(cookie, now=1000 + 12 * 3600)
    assert not TokenAuthenticator(OTHER).holds(cookie, now=1001)
    for forged in ("", "a.b.c", f"{int(until) + 1}.{rest}", f"{cookie}0", "é.é.é"):
        assert not again.holds(forged, now=1001)
    assert not TokenAuthenticator("").holds(cookie, now=1001)


async def test_the_more_wrong_tokens_come_from_an_address_the_longer_it_waits():
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    now = 0.0
    throttle = AuthThrottle(lambda: now, sleep)
    for _ in range(8):
        assert await throttle.delay("1.2.3.4")
    assert await throttle.delay("5.6.7.8")
    now = 1000.0
    assert await throttle.delay("1.2.3.4")

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0, 0.1, 0.1]


async def test_only_so_many_are_kept_waiting():
    """More of them would be an attack by itself."""
    throttle = AuthThrottle(lambda: 0.0, lambda _: asyncio.Event().wait())
    waiting = [asyncio.create_task(throttle.delay(str(number))) for number in range(50)]
    await asyncio.sleep(0)

    assert not await throttle.delay("one more")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert throttle.waiting == 0


def test_however_much_is_refused_the_log_has_a_few_lines_a_minute(caplog):
    caplog.set_level(logging.WARNING)
    now = 0.0
    refusals = RefusalLog(lambda: now)
    for _ in range(1000):
        refusals.note("host", "1.2.3.4", "GET / host evil\nrefused: nobody")
    now = 61.0
    refusals.note("host", "1.2.3.4", 10_000 * "x")

    lines = caplog.messages
    assert refusals.counts == {"host": 1001}
    assert len(lines) == LINES + 1
    assert lines[0] == "refused: host, from 1.2.3.4: 'GET / host evil\\nrefused: nobody'"
    assert lines[-1].endswith(f" ({1000 - LINES} more since the last line)")
    assert len(lines[-1]) < 300
