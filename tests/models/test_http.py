"""What can go wrong on the way to a provider, and what the session is told about it."""

import asyncio
import socket

import pytest

from folkmoot.errors import ModelFailed
from folkmoot.models import http
from folkmoot.models.http import ModelEndpoint, Pool, proxy_for
from tests.models.provider import (
    KEY,
    STREAM,
    Do,
    adapter,
    answered,
    asking,
    chunk,
    event,
    fake_models,
    streamed,
)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"


async def failure_of(model, hear=None, **request):
    with pytest.raises(ModelFailed) as caught:
        await model.answer(asking(**request), hear)
    assert KEY not in f"{caught.value} {caught.value!r} {vars(caught.value)}"
    return caught.value


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_a_passing_trouble_may_be_tried_again(either, provider, status):
    provider.plays = [answered({"error": {"message": "later"}}, status)]

    failed = await failure_of(either)

    assert (failed.retryable, failed.retry_after) == (True, None)
    assert f"fake answered {status}" in str(failed)
    assert str(failed).endswith(": later")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_what_would_fail_again_is_not_tried_again(either, provider, status):
    provider.plays = [answered({"error": {"message": "no"}}, status, retry_after="5")]

    failed = await failure_of(either)

    assert (failed.retryable, failed.retry_after) == (False, None)


@pytest.mark.parametrize("seconds", ["7", "86400"])
async def test_the_pause_that_a_provider_asks_for_is_passed_on(either, provider, seconds):
    provider.plays = [answered({"error": {"message": "slow down"}}, 429, retry_after=seconds)]

    assert (await failure_of(either)).retry_after == float(seconds)


async def test_one_call_is_one_attempt(either, provider):
    provider.plays = [answered({}, 500)]

    await failure_of(either)

    assert len(provider.asked) == 1


async def test_a_spent_quota_does_not_come_back_by_waiting(openai, provider):
    error = {
        "message": "You exceeded your current quota",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
    provider.plays = [answered({"error": error}, 429)]

    assert (await failure_of(openai)).retryable is False


async def test_a_refused_connection_may_be_tried_again(provider):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        models = fake_models(closed.getsockname()[1])
        failed = await failure_of(adapter(models))
        await models.aclose()

    assert failed.retryable
    assert "fake could not be reached: no connection to 127.0.0.1:" in str(failed)
    assert "refused" in str(failed).lower()


async def test_a_name_that_nobody_knows_may_be_tried_again():
    pool = Pool()
    endpoint = ModelEndpoint(
        pool, "far", "http://host.invalid/v1/chat/completions", headers={}, secret="", proxy=None
    )

    with pytest.raises(
        ModelFailed, match=r"far could not be reached: no connection to host\.invalid:80"
    ) as caught:
        await endpoint.ask(b"{}")

    assert caught.value.retryable
    await pool.aclose()


async def test_a_server_without_tls_at_a_tls_address_may_be_tried_again():
    async def answer_in_the_clear(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    pool = Pool()
    async with await asyncio.start_server(answer_in_the_clear, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

        with pytest.raises(ModelFailed, match="far could not be reached") as caught:
            await ModelEndpoint(pool, "far", url, headers={}, secret="", proxy=None).ask(b"{}")

        assert caught.value.retryable
        await pool.aclose()


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize(
    ("play", "text"),
    [
        ([Do.CLOSE], "fake closed the connection without an answer"),
        ([Do.RESET], "fake "),
        ([HEAD, b'{"choices": [{"mess', Do.CLOSE], "fake broke off in the middle of its answer"),
        ([HEAD, b'{"choices": [{"mess', Do.RESET], "fake "),
    ],
)
async def test_a_connection_that_ends_too_early_may_be_tried_again(either, provider, play, text, listening):
    provider.plays = [play]

    failed = await failure_of(either, [].append if listening else None)

    assert failed.retryable
    assert text in str(failed)


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("play", [[Do.HANG], [HEAD, b'{"choices"', Do.HANG], [STREAM, Do.HANG]])
async def test_a_provider_that_hangs_is_left_when_the_session_gives_it_up(either, provider, play, listening):
    """The next attempt gets a connection of its own, and its answer."""
    provider.plays = [play, answered({"error": {"message": "later"}}, 503)]

    asked = asyncio.ensure_future(either.answer(asking(), [].append if listening else None))
    await provider.hanging.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked, 0.05)

    assert "fake answered 503" in str(await failure_of(either))


@pytest.mark.parametrize("play", [[Do.HANG], [STREAM, chunk(event({"type": "ping"})), Do.HANG]])
async def test_a_stream_that_falls_silent_is_given_up_early(either, provider, play):
    provider.plays = [play]
    either._endpoint._pool.silence = 0.05

    failed = await failure_of(either, [].append)

    assert failed.retryable
    assert str(failed) == "fake was silent for 0.05 s"


async def test_a_server_that_takes_no_connection_is_given_up_after_the_time_for_that():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        full.setblocking(False)
        waiting = [
            socket.socket() for _ in range(3)
        ]  # more than its queue holds: the next one gets no answer
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        pool = Pool(connect=0.05)
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"

        with pytest.raises(ModelFailed, match=r"no connection to 127.0.0.1:\d+ within 0.05 s") as caught:
            await ModelEndpoint(pool, "far", url, headers={}, secret="", proxy=None).ask(b"{}")

        for one in waiting:
            one.close()
        await pool.aclose()
    assert caught.value.retryable


async def test_whoever_asked_may_stop_waiting(either, provider):
    provider.plays = [[Do.HANG]]

    asked = asyncio.ensure_future(either.answer(asking()))
    await provider.hanging.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked, 0.05)


@pytest.mark.parametrize("listening", [False, True])
async def test_html_instead_of_an_answer_is_named_and_shown_without_its_tags(either, provider, listening):
    page = b"<!DOCTYPE html><html><style>p {}</style><title>Sign in</title><p>Please   sign\nin</html>"
    provider.plays = [answered(page, content_type="text/html")]

    failed = await failure_of(either, [].append if listening else None)

    assert failed.retryable
    assert str(failed) == "fake answered 200 OK with HTML instead of JSON: Sign in Please sign in"


async def test_an_html_error_page_is_shown_without_its_tags(either, provider):
    provider.plays = [answered(b"<html><h1>502 Bad Gateway</h1></html>", 502, content_type="text/html")]

    assert str(await failure_of(either)) == "fake answered 502 Bad Gateway: 502 Bad Gateway"


async def test_a_long_error_is_not_read_to_its_end(either, provider):
    provider.plays = [[*answered(b"x" * 1_000_000, 500, content_length="9000000"), Do.HANG]]

    assert str(await failure_of(either)) == f"fake answered 500 Internal Server Error: {'x' * 300}…"


async def test_what_is_not_http_may_be_tried_again(either, provider):
    provider.plays = [[b"SSH-2.0-OpenSSH_9.2\r\n\r\n"]]

    failed = await failure_of(either)

    assert failed.retryable
    assert "fake could not be asked (" in str(failed)


@pytest.mark.parametrize("body", [b"", b"  \n"])
async def test_an_empty_body_is_no_answer(either, provider, body):
    provider.plays = [answered(body)]

    failed = await failure_of(either)

    assert failed.retryable
    assert str(failed) == "fake answered 200 OK with an empty body"


@pytest.mark.parametrize(
    "body", [b"[]", b'"text"', b"null", b'{"choices": 5, "content": 5}', b"[" * 5000, b"{}"]
)
async def test_json_of_another_shape_is_no_answer(either, provider, body):
    provider.plays = [answered(body)]

    failed = await failure_of(either)

    assert failed.retryable
    assert "fake answered 200 OK with what is no answer" in str(failed)


async def test_a_body_that_is_too_large_is_not_read_to_its_end(either, provider, monkeypatch):
    monkeypatch.setattr(http, "LARGEST_BODY", 1024 * 1024)
    provider.plays = [answered(b'{"content": "' + b"x" * 2_000_000 + b'"}')]

    failed = await failure_of(either)

    assert str(failed) == "fake answered 200 OK with more than 1 MB, which was not read"
    assert not failed.retryable


async def test_a_stream_that_never_ends_is_not_read_for_ever(either, provider, monkeypatch):
    monkeypatch.setattr(http, "LARGEST_STREAM", 1024 * 1024)
    provider.plays = [
        [STREAM, *[chunk(event({"type": "ping", "pad": "x" * 99_000})) for _ in range(12)], Do.HANG]
    ]

    failed = await failure_of(either, [].append)

    assert str(failed) == "fake answered 200 OK with more than 1 MB, which was not read"


async def test_another_address_is_not_followed(either, provider):
    """Whoever redirects us would be given the key."""
    provider.plays = [answered(b"", 307, location="http://127.0.0.1:1/elsewhere")]

    failed = await failure_of(either)

    assert str(failed) == "fake answered 307 Temporary Redirect"
    assert not failed.retryable


@pytest.mark.parametrize(
    "echo",
    [
        {"error": {"message": f"Incorrect key provided: {KEY}."}},
        {"error": f"header was Bearer {KEY}"},
        {"error": {"message": " " * 290 + f"x{KEY}"}},
        {"unusual": {"authorization": KEY}},
        [{"error": {"message": KEY * 3}}],
    ],
)
@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
async def test_a_key_that_a_server_echoes_is_never_repeated(either, provider, echo, status):
    provider.plays = [answered(echo, status)]

    failed = await failure_of(either)

    assert "secret" not in str(failed)


async def test_a_key_that_is_echoed_where_the_excerpt_ends_is_never_repeated(either, provider):
    provider.plays = [answered(b"no" + b" " * 19_990 + KEY.encode(), 400)]

    assert "secret" not in str(await failure_of(either))


async def test_a_key_is_in_no_repr_of_what_holds_it(either, provider):
    """Tracebacks and logs show representations."""
    parts = (either, either._endpoint, either._endpoint._pool, either._endpoint._pool.session)

    assert not any(KEY in repr(part) for part in parts)


async def test_key_and_headers_are_sent(provider):
    models = fake_models(provider.port, headers={"X-Team": "moot"})
    provider.plays = [answered({}, 500)]

    await failure_of(adapter(models))
    await models.aclose()

    sent = provider.asked[0].headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["x-team"] == "moot"
    assert sent["content-type"] == "application/json"


async def test_connections_are_used_again(either, provider):
    provider.plays = [answered({}, 500)]

    for _ in range(3):
        await failure_of(either)

    assert (len(provider.asked), provider.connections) == (3, 1)


async def test_a_connection_is_used_again_after_a_stream(openai, provider, monkeypatch):
    monkeypatch.setattr(http, "_LINGER", 60.0)
    done = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
    provider.plays = [streamed(done, b"[DONE]")]

    for _ in range(3):
        await openai.answer(asking(), [].append)

    assert (len(provider.asked), provider.connections) == (3, 1)


async def test_a_stream_that_stays_open_after_its_last_event_does_not_hold_the_answer_back(
    openai, provider, monkeypatch
):
    monkeypatch.setattr(http, "_LINGER", 0.01)
    done = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
    provider.plays = [[*streamed(done, b"[DONE]", end=False), Do.HANG]]

    assert (await openai.answer(asking(), [].append)).message.text == "hi"


async def test_a_stream_that_breaks_after_its_last_event_is_whole(openai, provider):
    done = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
    provider.plays = [[*streamed(done, b"[DONE]", end=False), Do.CLOSE]]

    assert (await openai.answer(asking(), [].append)).message.text == "hi"


async def test_the_last_event_of_a_stream_may_lack_its_blank_line(openai, provider):
    done = b'data: {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}'
    provider.plays = [[STREAM, chunk(done), b"0\r\n\r\n"]]

    assert (await openai.answer(asking(), [].append)).message.text == "hi"


async def test_a_large_request_is_sent_whole(openai, provider):
    provider.plays = [answered({}, 500)]
    text = "ä" * 1_500_000

    await failure_of(openai, messages=(asking().messages[1], asking().messages[1].__class__("user", text)))

    assert provider.asked[0].body["messages"][1]["content"] == text


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        ("https://api.host/v1", {}, None),
        ("https://api.host/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.host/v1", {"http_proxy": "http://p:1"}, None),
        ("http://api.host/v1", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("https://api.host/v1", {"all_proxy": "http://p:1"}, "http://p:1"),
        ("https://api.host/v1", {"https_proxy": "http://p:1", "no_proxy": "other, .host"}, None),
        ("https://api.host/v1", {"https_proxy": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://api.ghost/v1", {"https_proxy": "http://p:1", "NO_PROXY": "host"}, "http://p:1"),
        ("http://127.0.0.1:11434/v1", {"http_proxy": "http://p:1"}, None),
        ("http://localhost/v1", {"http_proxy": "http://p:1"}, None),
    ],
)
def test_the_proxy_of_the_environment_is_used_except_for_this_machine(url, env, expected):
    assert proxy_for(url, env) == expected


async def test_a_request_goes_through_the_proxy(provider):
    provider.plays = [answered({}, 500)]
    pool = Pool()
    proxy = f"http://127.0.0.1:{provider.port}"

    with pytest.raises(ModelFailed, match="far answered 500"):
        await ModelEndpoint(pool, "far", "http://host.invalid/v1", headers={}, secret="", proxy=proxy).ask(
            b"{}"
        )
    await pool.aclose()

    assert provider.asked[0].path == "http://host.invalid/v1"


@pytest.mark.parametrize("url", ["host/v1", "ftp://host/v1", "http://user:word@host/v1", "http:///v1", ""])
def test_an_address_without_scheme_or_host_or_with_a_user_is_refused(url):
    with pytest.raises(ValueError, match="far needs an address"):
        ModelEndpoint(Pool(), "far", url, headers={}, secret="", proxy=None)
