"""The sinks of `folkmoot.yaml`."""

import pytest

from folkmoot.domain.sinks import SinkSettings
from tests.loader.making import SETTINGS, loaded, problems


def said(folder, sinks):
    files = {"folkmoot.yaml": f"{SETTINGS}sinks: {{x: {{{sinks}}}}}\n", "coder.ai": "description: codes"}
    return [problem.message for problem in problems(folder, files)]


def test_a_sink_has_the_promised_window_batch_and_refresh(tmp_path):
    """E-65, E-73: batch window 5 s, max batch size 10, refresh 30 s by default."""
    files = {"folkmoot.yaml": SETTINGS + "sinks: {chat: {kind: discord, urlEnv: HOOK, agents: [coder]}}\n"}
    graph = loaded(tmp_path, {**files, "coder.ai": "description: codes"}).graph
    sink = graph.settings.sinks["chat"]

    assert (sink.pause, sink.most, sink.agents) == (5.0, 10, ("coder",))
    assert SinkSettings("dashboard").pause == 30.0
    assert SinkSettings("ndjson").file == ".folkmoot/coordination-events.ndjson"
    assert SinkSettings("ndjson").max_bytes == 10 * 1024 * 1024


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("kind: discord", "'x' needs `urlEnv`, the variable that holds the address of the Discord webhook"),
        (
            "kind: discord, urlEnv: HOOK, url: 'https://discord.example/1/secret'",
            "`url` does not go with `kind: discord`: its address is a secret; name the variable that holds it with `urlEnv`",
        ),
        ("kind: discord, urlEnv: HOOK, batch: 11", "Discord takes at most 10 at once"),
        ("kind: discord, urlEnv: HOOK, path: x.ndjson", "`path` does not go with `kind: discord`"),
        (
            "kind: dashboard, urlEnv: 'https://discord.example/1'",
            "`sinks.x.urlEnv` must be the name of an environment variable; a value never stands in a file",
        ),
        ("kind: webhook", "'x' needs either `url`, or `urlEnv` with the variable that holds it"),
        (
            "kind: webhook, url: 'http://hooks.example'",
            "`url` must begin with https:// to leave this machine",
        ),
        (
            "kind: webhook, url: 'ftp://hooks.example'",
            "`sinks.x.url` must begin with http:// or https:// and name a host",
        ),
        (
            "kind: ndjson, path: ../x.ndjson",
            "`path` must be a file of the project whose name ends in .ndjson",
        ),
        ("kind: ndjson, path: coder.ai", "`path` must be a file of the project whose name ends in .ndjson"),
        ("kind: ndjson, events: [stp.started]", "no event fits 'stp.started'; did you mean 'step.started'?"),
        ("kind: ndjson, agents: [codr]", "there is no agent 'codr'; did you mean 'coder'?"),
        ("kind: otel, events: ['llm.*']", "`events` does not go with `kind: otel`"),
        (
            "kind: webhook, url: 'https://x.example', content: true",
            "`content` does not go with `kind: webhook`",
        ),
        (
            "kind: otel, url: 'https://x.example', urlEnv: X",
            "the address stands in `url` or in the variable that `urlEnv` names, not in both",
        ),
        (
            "kind: otel, url: 'http://collector:4318'",
            "`url` must begin with https:// to leave this machine",
        ),
        (
            "kind: otel, headersEnv: {Authorization: 'Bearer abc'}",
            "`sinks.x.headersEnv.Authorization` must be the name of an environment variable; a value never stands"
            " in a file",
        ),
        (
            "kind: otel, traceUrl: 'https://traces.example/'",
            "`traceUrl` must have {traceId} where the id of a trace stands",
        ),
        (
            "kind: otel, traceUrl: 'javascript:alert({traceId})'",
            "`sinks.x.traceUrl` must begin with http:// or https:// and name a host",
        ),
    ],
)
def test_what_is_wrong_with_a_sink_is_said_with_its_remedy(tmp_path, sink, message):
    """X-E8: Discord is one adapter, and its address is never in a file."""
    assert said(tmp_path, sink) == [message]


def test_two_sinks_never_write_to_one_file(tmp_path):
    settings = (
        SETTINGS
        + "sinks: {a: {kind: ndjson}, b: {kind: ndjson, path: .folkmoot/coordination-events.ndjson}}\n"
    )

    assert [
        problem.message for problem in problems(tmp_path, {"folkmoot.yaml": settings, "c.ai": "chat: false"})
    ] == ["'b' and 'a' would write to the same file; give one another `path`"]
