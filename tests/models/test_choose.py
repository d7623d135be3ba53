"""Which adapter answers for which provider, and what happens when one cannot."""

import subprocess
import sys
from pathlib import Path

import pytest

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import FREE
from folkmoot.domain.providers import BUILT_IN, key_variable
from folkmoot.domain.settings import Provider
from folkmoot.errors import DeclarationError, ModelFailed, WrongUse
from folkmoot.models.choose import ProviderModels
from folkmoot.models.scripted import ScriptedModel
from tests.models.provider import KEY, answered, asking, fake_models

DONE = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}


def models(providers=None, env=None, folder=Path(), **more):
    return ProviderModels(providers or {}, env or {}, folder, **more)


def choice(provider):
    return ModelChoice(provider, "some-model", 1000, FREE)


async def why_not(adapter):
    with pytest.raises(ModelFailed) as caught:
        await adapter.answer(asking())
    assert not caught.value.retryable
    return str(caught.value)


def test_each_provider_has_one_adapter():
    kept = models(env={"OPENAI_API_KEY": "k-openai"})

    assert kept.choose(choice("openai")) is kept.choose(choice("openai"))
    assert kept.choose(choice("ollama")) is not kept.choose(choice("openai"))


def test_the_built_in_providers_need_no_entry():
    kept = models(env={key_variable(provider): "k" for provider in BUILT_IN.values()})

    kinds = {name: type(kept.choose(choice(name))).__name__ for name in BUILT_IN}

    assert kinds == {
        "openai": "OpenAI", "anthropic": "Anthropic", "openrouter": "OpenAI", "groq": "OpenAI", "ollama": "OpenAI",
        "google": "PydanticAI", "mistral": "Unusable", "cohere": "Unusable", "bedrock": "Unusable",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mistral", "cohere", "bedrock"])
async def test_a_provider_whose_library_is_missing_says_what_to_install(name):
    """The other models of an agent can still be asked."""
    kept = models(env={key_variable(provider): "k" for provider in BUILT_IN.values()})

    assert await why_not(kept.choose(choice(name))) == (
        f"{name} needs packages that are not installed: pip install 'folkmoot[providers]' 'pydantic-ai-slim[{name}]'"
    )


async def test_without_pydantic_ai_the_same_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "folkmoot.models.pydantic_ai", None)

    said = await why_not(models(env={"GEMINI_API_KEY": "k"}).choose(choice("google")))

    assert said.endswith("pip install 'folkmoot[providers]' 'pydantic-ai-slim[google]'")


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \n"}])
async def test_a_missing_key_fails_the_request_and_is_named(env):
    """Not the choice: the session may have another model to ask."""
    said = await why_not(models(env=env).choose(choice("openai")))

    assert said == "openai needs a key: set the environment variable OPENAI_API_KEY"


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "\x1b[0m"])
async def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key):
    said = await why_not(models(env={"OPENAI_API_KEY": key}).choose(choice("openai")))

    assert said == "openai cannot use its key: OPENAI_API_KEY holds characters that no key has"


async def test_blanks_around_a_key_do_not_matter(provider):
    kept = fake_models(provider.port)
    kept._env = {"FAKE_KEY": f" {KEY}\n"}
    provider.plays = [answered(DONE)]

    await kept.choose(choice("fake")).answer(asking())
    await kept.aclose()

    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", ["host/v1", "", "http://user:word@host/v1", "http://[/v1"])
async def test_an_address_that_is_none_fails_the_request(url):
    kept = models({"mine": Provider("openai", base_url=url or "/")})

    assert "mine has no usable address: give it a baseUrl" in await why_not(kept.choose(choice("mine")))


async def test_headers_that_cannot_be_sent_fail_the_request():
    kept = models({"mine": Provider("openai", base_url="http://h/v1", headers={"X": "a\r\nb: c"})})

    assert (
        await why_not(kept.choose(choice("mine")))
        == "mine cannot use its headers: one holds a control character"
    )


@pytest.mark.parametrize(
    ("provider", "env", "missing"),
    [
        ("openai", {}, "OPENAI_API_KEY"),
        ("openai", {"OPENAI_API_KEY": "k"}, ""),
        ("ollama", {}, ""),
        ("mine", {}, "MY_KEY"),
        ("mine", {"MY_KEY": "k"}, ""),
        ("like-openai", {}, "OPENAI_API_KEY"),
        ("keyless", {}, ""),
        ("scripted", {}, ""),
        ("given", {}, ""),
        ("unknown", {}, ""),
    ],
)
def test_one_can_ask_which_key_is_missing(provider, env, missing):
    kept = models(
        {
            "mine": Provider("anthropic", api_key_env="MY_KEY"),
            "like-openai": Provider("openai"),
            "keyless": Provider("openai", base_url="http://127.0.0.1:1/v1"),
            "scripted": Provider("scripted", script="a.yaml"),
            "given": Provider("openai"),
        },
        env,
        extra={"given": ScriptedModel({})},
    )

    assert kept.missing_key(provider) == missing


def test_a_missing_key_stays_missing_after_it_was_asked_for():
    kept = models()

    kept.choose(choice("openai"))

    assert kept.missing_key("openai") == "OPENAI_API_KEY"


def test_an_entry_of_the_project_takes_the_place_of_a_built_in_one():
    kept = models({"openai": Provider("openai", base_url="http://127.0.0.1:1/v1")})

    assert kept.missing_key("openai") == ""


def test_a_model_object_comes_before_all_entries():
    mine = ScriptedModel({})

    kept = models({"mine": Provider("openai")}, extra={"mine": mine, "openai": mine, "new": mine})

    assert all(kept.choose(choice(name)) is mine for name in ("mine", "openai", "new"))


def test_a_provider_that_nobody_named_is_wrong_use():
    with pytest.raises(
        WrongUse, match="there is no provider 'opneai'; known are anthropic, bedrock, cohere, google"
    ):
        models().choose(choice("opneai"))


async def test_a_query_in_an_address_stays_at_its_end(provider):
    url = f"http://127.0.0.1:{provider.port}/openai/?api-version=7"
    kept = models({"mine": Provider("openai", base_url=url)})
    provider.plays = [answered(DONE)]

    await kept.choose(choice("mine")).answer(asking())
    await kept.aclose()

    assert provider.asked[0].path == "/openai/chat/completions?api-version=7"
    assert "authorization" not in provider.asked[0].headers


async def test_a_scripted_provider_reads_its_file_from_the_project(tmp_path):
    (tmp_path / "answers.yaml").write_text("agents: {a: [{text: fine, delay: 5s}]}")
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    kept = models({"scripted": Provider("scripted", script="answers.yaml")}, folder=tmp_path, sleep=sleep)

    assert list(kept.problems()) == []
    assert (await kept.choose(choice("scripted")).answer(asking())).message.text == "fine"
    assert slept == [5.0]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (None, "folkmoot.yaml:1:1: provider 'mine' is scripted and needs `script`: the YAML file with its answers"),
        ("gone.yaml", "gone.yaml:1:1: the file cannot be read: No such file or directory"),
        ("wrong.yaml", "wrong.yaml:2:6: `agents.a` must be a mapping, not 'hi'"),
        ("../answers.yaml", "folkmoot.yaml:1:1: the script '../answers.yaml' of provider 'mine' lies outside the project"),
        ("link.yaml", "folkmoot.yaml:1:1: the script 'link.yaml' of provider 'mine' lies outside the project"),
    ],
)  # fmt: skip
def test_a_script_that_cannot_be_used_is_a_problem_of_the_project(tmp_path, script, problem):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "answers.yaml").write_text("{}")
    (folder / "wrong.yaml").write_text("agents:\n  a: hi\n")
    (folder / "link.yaml").symlink_to(tmp_path / "answers.yaml")
    kept = models({"mine": Provider("scripted", script=script)}, folder=folder)

    assert [str(one) for one in kept.problems()] == [problem]
    with pytest.raises(DeclarationError):
        kept.choose(choice("mine"))


async def test_closing_twice_or_without_a_request_is_fine():
    kept = fake_models(1)
    await kept.aclose()
    kept.choose(choice("fake"))
    await kept.aclose()
    await kept.aclose()


@pytest.mark.parametrize(
    ("code", "imported"),
    [
        ("import folkmoot.models.choose", set()),
        ("import folkmoot.models.scripted", {"yaml"}),
        ("import folkmoot.models.openai", {"aiohttp"}),
    ],
)
def test_nothing_is_imported_before_it_is_needed(code, imported):
    """Start-up is felt."""
    script = f"{code}\nimport sys\nprint(*({{'aiohttp', 'pydantic_ai', 'yaml'}} & sys.modules.keys()))"

    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()

    assert set(found) == imported
