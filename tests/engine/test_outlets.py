"""Sinks as `folkmoot.yaml` and the environment make them."""

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.moot import Moot
from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import Settings
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.outlets import build_sinks
from folkmoot.engine.sinking import SinkFeeder
from folkmoot.errors import WrongUse
from tests.sinks.receiver import Answer, Receiver, happen, steps


async def test_each_kind_of_sink_gets_its_events_at_the_address_that_the_environment_holds(tmp_path):
    """E-59, X-E8: several sinks, Discord is one of them."""
    journal, clock = MemoryJournal(), FakeClock()
    await happen(journal, *steps(1, 1))
    async with Receiver() as chat, Receiver(Answer(200, '{"id": "1"}')) as team, Receiver() as hook:
        env = {"CHAT": chat.url, "TEAM": team.url, "HOOK": hook.url, "KEY": "a key"}
        sinks = {
            "log": SinkSettings("ndjson"),
            "chat": SinkSettings("discord", url_env="CHAT"),
            "team": SinkSettings("dashboard", url_env="TEAM"),
            "hook": SinkSettings("webhook", url_env="HOOK", secret_env="KEY"),
        }
        made = build_sinks(tmp_path, env, Moot(journal, clock, Graph({}, Settings(sinks=sinks))))
        assert await SinkFeeder(journal, clock, made).once()

        assert (await chat.next()).titles == ["step.started"]
        assert (await team.next()).titles == ["Team"]
        assert "X-Folkmoot-Signature" in (await hook.next()).headers
    assert (tmp_path / ".folkmoot" / "coordination-events.ndjson").read_text().count("\n") == 1


def test_no_file_is_written_outside_of_the_project(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "logs").symlink_to(tmp_path)
    settings = Settings(sinks={"log": SinkSettings("ndjson", path="logs/x.ndjson")})

    with pytest.raises(WrongUse, match="the file of the sink 'log' would lie outside of the project"):
        build_sinks(tmp_path / "project", {}, Moot(MemoryJournal(), FakeClock(), Graph({}, settings)))
