"""Who is let in: names, origins, content types, tokens; and what every answer says to browsers."""

import re

import msgspec
import pytest
from starlette.routing import Mount, Route, WebSocketRoute

from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.http.guard import HEADERS
from folkmoot.http.server import build_application
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.protocols.a2a import a2a_routes
from folkmoot.protocols.chat import CHAT_ROUTES
from folkmoot.protocols.mcp import mcp_app
from tests.http.doors import TOKEN, UPGRADE, Served, request, serving

EVERYWHERE = ("/api/status", "/", "/static/folkmoot.css", "/events-for-ever", "/nothing")
GUARDED = ServerOptions(port=0, token=TOKEN)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def moot(desk):
    return desk({"a": "description: works"}, {"a": ["done"]})


async def every_way(served: Served, headers: dict[str, str]) -> set[int]:
    """What pages, the API, files, streams, sockets and what does not exist answer to these headers."""
    plain = {(await served.ask(path, headers)).status for path in EVERYWHERE}
    return plain | {(await served.ask("/echo", UPGRADE | headers)).status}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8484",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "169.254.169.254",
    ],
)
async def test_whoever_asks_for_another_name_is_sent_away_everywhere(moot, host):
    """A site that lets its own name point to this machine sees nothing of it."""
    async with serving(moot) as served:
        assert await every_way(served, {"Host": host}) == {421}
        assert served.house.refusals.counts == {"host": 6}


async def test_its_own_names_are_let_in_and_those_that_it_was_given(moot):
    async with serving(moot, ServerOptions(port=0, names=("Moot.example.com",))) as served:
        for host in ("127.0.0.1", f"LOCALHOST:{served.port}", "[::1]:80", "moot.example.com"):
            assert (await served.ask("/api/status", {"Host": host})).status == 200


async def test_a_server_on_all_addresses_is_known_by_the_one_that_was_asked(moot):
    async with serving(moot, ServerOptions(host="0.0.0.0", port=0, token=TOKEN)) as served:
        token = {"Authorization": f"Bearer {TOKEN}"}
        assert (await served.ask("/api/status", token)).status == 200
        assert (await served.ask("/api/status", token | {"Host": "10.0.0.7"})).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
async def test_what_another_site_asks_is_refused_everywhere(moot, headers):
    async with serving(moot) as served:
        assert await every_way(served, headers) == {403}
        assert served.house.refusals.counts == {"origin": 6}


async def test_a_link_from_elsewhere_opens_a_page_but_does_nothing(moot):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    async with serving(moot) as served:
        assert (await served.ask("/", link)).status == 200
        assert (await served.ask("/read", link | JSON, method="POST", body=b"{}")).status == 403


async def test_its_own_origin_is_let_in(moot):
    async with serving(moot) as served:
        own = {"Origin": f"http://127.0.0.1:{served.port}", "Sec-Fetch-Site": "same-origin"}
        assert (await served.ask("/api/status", own)).status == 200
        assert (await served.ask("/echo", UPGRADE | own)).status == 101


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "", "text/json"]
)
async def test_only_json_changes_anything(moot, kind):
    """What a foreign form can send without asking first is no JSON."""
    async with serving(moot) as served:
        for method in ("POST", "PUT", "PATCH"):
            said = await served.ask("/read", {"Content-Type": kind}, method=method, body=b"{}")
            assert (said.status, said.detail) == (415, "send application/json")
        own = {"Content-Type": kind, "Origin": f"http://127.0.0.1:{served.port}"}
        assert (await served.ask("/api/runs", own, method="POST", body=b"a=b")).status == 415


async def test_json_and_the_forms_of_the_page_itself_are_taken(moot):
    async with serving(moot) as served:
        form = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{served.port}",
        }
        for headers in (JSON, form, {"Content-Type": "application/json; charset=utf-8"}):
            assert (await served.ask("/read", headers, method="POST", body=b"{}")).body == b"2"


def every_route(app):
    """Method and path of every route there is, with something in the place of each name."""
    for one in app.routes:
        path = re.sub(r"{[^}]*}", "x", one.path)
        match one:
            case Route():
                yield from ((method, path) for method in sorted(one.methods or ("GET", "POST", "DELETE")))
            case WebSocketRoute():
                yield "WebSocket", path
            case Mount(path="/static"):
                yield "GET", "/static/folkmoot.css"
            case Mount(path="/v1"):
                yield from ((method, f"/v1{path}") for method, path in every_route(one.app))
            case _:
                raise AssertionError(f"nobody has thought of {one!r}")


async def test_without_the_token_every_route_of_the_table_is_closed_but_three(moot):
    """DESIGN 8: sign-in, health and static files alone."""
    async with serving(moot, GUARDED, routes=()) as served:
        routes = [CHAT_ROUTES, *a2a_routes(served.house)]
        routes += mcp_app(served.house.moot, guarded=True).routes
        table = [*every_route(build_application(served.house, routes))]
        assert {"/mcp", "/a2a", "/a2a/x", "/docs", "/v1/messages", "/ws"} <= {path for _, path in table}
        opened = set()
        for method, path in table:
            for headers in ({}, {"Cookie": f"folkmoot-{served.port}=1.2.3"}):
                upgrade = UPGRADE if method == "WebSocket" else JSON
                verb = "GET" if method == "WebSocket" else method
                async with served.connected() as client:
                    await client.send(request(path, served.known | upgrade | headers, method=verb))
                    if (await client.head()).status != 401:
                        opened.add(path)
        assert opened == {"/api/health", "/static/folkmoot.css", "/sign-in"}
        assert served.house.refusals.counts.keys() == {"no token"}


async def test_the_token_opens_every_way_and_a_wrong_one_none(moot):
    async with serving(moot, GUARDED) as served:
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert (await served.ask("/api/status", right)).status == 200
        assert (await served.ask("/echo", UPGRADE | right)).status == 101
        assert (await served.ask("/api/status")).headers["www-authenticate"] == "Bearer"
        assert (await served.ask("/echo", UPGRADE)).status == 401


async def test_chat_clients_send_the_token_as_theirs_and_are_refused_in_their_form(moot):
    async with serving(moot, GUARDED) as served:
        for right in ({"Authorization": f"Bearer {TOKEN}"}, {"x-api-key": TOKEN}):
            assert (await served.ask("/v1/models", right)).status == 200
        for path, part in (("/v1/models", "param"), ("/v1/messages", "type")):
            refused = await served.ask(path)
            assert refused.status == 401
            told = msgspec.json.decode(refused.body)
            assert told["error"]["type"] == "authentication_error"
            assert part in {"/v1/models": told["error"], "/v1/messages": told}[path]


async def test_a_token_in_an_address_is_refused_and_does_not_reach_the_log(moot, caplog):
    """Logs and histories keep addresses."""
    async with serving(moot, GUARDED) as served:
        right = {"Authorization": f"Bearer {TOKEN}"}
        for query in (f"token={TOKEN}", "access_token=x", f"anything={TOKEN}", f"q=%61{TOKEN[1:]}"):
            said = await served.ask(f"/api/status?{query}", right)
            assert (said.status, said.detail.partition(":")[0]) == (
                400,
                "a token does not belong in an address",
            )
        assert (await served.ask(f"/echo?token={TOKEN}", UPGRADE | right)).status == 400
        assert served.house.refusals.counts == {"token in the query": 5}
    assert "refused: token in the query, from 127.0.0.1: 'GET /api/status'" in caplog.text
    assert TOKEN not in caplog.text


async def test_every_answer_tells_browsers_to_load_nothing_from_elsewhere(moot, caplog):
    """Also what does not exist, what is refused, what fails, and what is no HTTP at all."""
    async with serving(moot) as served:
        answers = [
            await served.ask(path)
            for path in ("/", "/api/status", "/nothing", "/static/mark.svg", "/static/no")
        ]
        answers += [await served.ask("/", {"Host": "evil.example"}), await served.ask("/fault")]
        answers += [await served.ask("/echo", UPGRADE | {"Origin": "null"})]
        async with served.connected() as client:
            await client.send(b"what is this\r\n\r\n")
            answers.append(await client.answer())
    assert [said.status for said in answers] == [200, 200, 404, 200, 404, 421, 500, 403, 400]
    for said in answers:
        kept = {"cache-control": "no-cache"} if "etag" in said.headers else {}
        assert (HEADERS | kept).items() <= said.headers.items()
        assert "server" not in said.headers
    assert "script-src 'self'" in HEADERS["content-security-policy"]
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert b"RuntimeError" not in answers[6].body


async def test_what_fails_here_is_told_to_people_on_a_page(moot, caplog):
    async with serving(moot) as served:
        answer = await served.ask("/fault", {"Accept": "text/html"})

    assert (answer.status, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert b"the log of the server says what" in answer.body
    assert b"RuntimeError" not in answer.body


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "moot.example.com"])
def test_a_door_that_others_can_reach_does_not_open_without_a_token(host):
    with pytest.raises(WrongUse, match="can be reached from elsewhere: set FOLKMOOT_TOKEN"):
        ServerOptions(host=host)


@pytest.mark.parametrize(
    "token", ["short", "fifteen-letters", "spaces in a long token", "ümlauts-in-a-long-token"]
)
def test_a_token_that_could_be_guessed_is_none(token):
    with pytest.raises(WrongUse, match="a token has 16 characters or more"):
        ServerOptions(host="0.0.0.0", token=token)


async def test_an_address_that_is_taken_is_told_with_what_to_do(moot):
    async with serving(moot) as served:
        with pytest.raises(
            OperationFailed,
            match=f"127.0.0.1:{served.port}: Address already in use; choose another with --port",
        ):
            async with serving(moot, ServerOptions(port=served.port)):
                pass


async def test_a_house_can_be_made_of_a_project_and_a_door_alone(moot):
    async with moot.open() as opened:
        house = ServerState(moot=opened, door=ServerOptions())
        assert house.room is house.room
        assert not house.keys.needed
