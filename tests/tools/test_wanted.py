"""What a project wants, and what its user allowed."""

import pytest

from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import (
    Builtins,
    Orchestration,
    ProcessLimits,
    Provider,
    Settings,
    ToolSource,
    WebLimits,
)
from folkmoot.domain.sinks import SinkSettings
from folkmoot.tools.consent import ConsentStore, state_folder
from folkmoot.tools.wanted import wanted_items


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_STATE", str(tmp_path / "state"))
    return ConsentStore()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "psp.py").write_text("x = 1")
    return folder


def wanted(folder, settings):
    return wanted_items(folder, Graph({}, settings))


MODULE = Settings(tools={"psp": ToolSource("python", module="psp.py")})


def test_a_python_module_is_used_only_after_trust_and_asks_again_when_it_changes(project, store):
    assert store.missing(project, wanted(project, MODULE))
    store.grant(project, wanted(project, MODULE))
    assert not store.missing(project, wanted(project, MODULE))

    (project / "psp.py").write_text("x = 2")
    assert [item.text for item in store.missing(project, wanted(project, MODULE))] == [
        "run the Python module psp.py"
    ]


def test_trust_in_one_project_is_no_trust_in_another(project, store, tmp_path):
    store.grant(project, wanted(project, MODULE))

    assert store.missing(tmp_path, wanted(project, MODULE))


@pytest.mark.parametrize(
    ("provider", "asks"),
    [
        (Provider("openai", "http://127.0.0.1:11434/v1", "KEY"), True),
        (Provider("openai", "http://localhost:1/v1", "OPENAI_API_KEY"), True),
        (Provider("openai", "http://localhost:1/v1"), False),
        (Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"), False),
        (Provider("openai", None, "OPENAI_API_KEY"), False),
        (Provider("openai"), False),
        (Provider("scripted", script="x.yaml"), False),
        (Provider("openai", None, "AWS_SECRET"), True),
        (Provider("openai", "https://evil.example/v1", "OPENAI_API_KEY"), True),
        (Provider("openai", "https://api.openai.com/v1", "AWS_SECRET"), True),
        (Provider("pydantic-ai", provider="google"), False),
        (Provider("pydantic-ai", provider="google", api_key_env="GEMINI_API_KEY"), False),
        (Provider("pydantic-ai", "http://127.0.0.1:1", "KEY", provider="google"), True),
        (Provider("pydantic-ai", provider="bedrock"), False),
        (Provider("pydantic-ai", provider="cohere", api_key_env="CO_API_KEY"), False),
        (Provider("pydantic-ai", provider="google", api_key_env="AWS_SECRET"), True),
        (Provider("pydantic-ai", "https://evil.example", "GEMINI_API_KEY", provider="google"), True),
        (Provider("pydantic-ai", "https://evil.example", provider="bedrock"), True),
        (Provider("pydantic-ai", provider="cohere", api_key_env="AWS_SECRET"), True),
        (Provider("pydantic-ai", provider="xai"), True),
    ],
)
def test_a_key_goes_to_a_foreign_address_only_after_trust(project, provider, asks):
    assert bool(wanted(project, Settings(providers={"p": provider}))) is asks


def test_a_broken_store_allows_nothing_and_is_replaced(project, store):
    store.grant(project, ())
    (file,) = (state_folder() / "consent").glob("*.json")
    file.write_text("{oops")

    assert store.missing(project, wanted(project, MODULE))
    store.grant(project, wanted(project, MODULE))
    assert not store.missing(project, wanted(project, MODULE))
    assert file.stat().st_mode & 0o777 == 0o600


def test_addresses_and_variables_beyond_the_usual_are_given_to_agents_only_after_trust(tmp_path):
    """Issue 5: a project from elsewhere cannot open this machine's own services to its agents."""
    builtins = Builtins(
        web=WebLimits(allow=("127.0.0.1",)),
        shell=ProcessLimits(env=("HOME",)),
        python=ProcessLimits(env=("HOME",)),
    )

    assert [item.text for item in wanted(tmp_path, Settings(builtins=builtins))] == [
        "give $HOME to the programs that agents run",
        "let agents fetch from 127.0.0.1, public or not",
    ]
    assert wanted(tmp_path, Settings()) == []


def test_called_agents_work_outside_of_the_project_only_after_trust(tmp_path):
    """D-34."""

    def texts(work_dir):
        settings = Settings(orchestration=Orchestration(sub_agent_work_dir=work_dir))
        return [item.text for item in wanted(tmp_path, settings)]

    assert texts("/etc") == ["let agents that are called work in /etc"]
    assert texts("work") == texts(str(tmp_path / "work")) == []


def test_events_leave_the_machine_only_after_trust(project, store):
    """E-59: an address outside must have been allowed, and so must the variables that hold one or a key."""
    sinks = {
        "file": SinkSettings("ndjson"),
        "here": SinkSettings("webhook", url="http://127.0.0.1:8080/hook"),
        "chat": SinkSettings("discord", url_env="CHAT"),
        "out": SinkSettings("webhook", url="https://hooks.example/1", secret_env="KEY"),
    }

    assert [item.text for item in wanted(project, Settings(sinks=sinks))] == [
        "send what happens here on to the file .folkmoot/coordination-events.ndjson, as the sink 'file'",
        "send what happens here on to http://127.0.0.1:8080/hook, as the sink 'here'",
        "send what happens here on to the address in $CHAT, as the sink 'chat'",
        "send what happens here on to https://hooks.example/1 signed with $KEY, as the sink 'out'",
    ]
