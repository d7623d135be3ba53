import pytest

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import FREE, Price
from tests.loader.making import KNOWN, error, errors, loaded

SCRIPTED = "providers: {tape: {kind: scripted, script: answers.yaml}}\n"
MINI = ModelChoice(provider="openai", model="gpt-5-mini", **{
    "context_window": 400_000, "price": Price(input=0.25, output=2.0)
})  # fmt: skip


def models(folder, declared, settings="", **more):
    files = {"a.ai": declared, "folkmoot.yaml": settings, "answers.yaml": ""}
    return loaded(folder, files, **more).graph.agents["a.ai"].models


def test_a_known_model_needs_no_declaration(tmp_path):
    """O-35."""
    assert models(tmp_path, "models: openai/gpt-5-mini") == (MINI,)


def test_models_keep_their_order_and_may_be_aliases(tmp_path):
    """O-35."""
    settings = SCRIPTED + "models: {fast: {ref: tape/x, contextWindow: 32000}, plain: openai/gpt-5-mini}"

    chosen = models(tmp_path, "models: [fast, plain]", settings)

    assert chosen == (ModelChoice(provider="tape", model="x", context_window=32_000, price=FREE), MINI)


def test_a_model_may_have_slashes_in_its_name(tmp_path):
    settings = "models: {default: {ref: openrouter/anthropic/claude, contextWindow: 9, price: free}}"

    [choice] = models(tmp_path, "description: x", settings)

    assert (choice.provider, choice.model, choice.price) == ("openrouter", "anthropic/claude", FREE)


def test_window_and_price_come_from_the_alias_then_the_provider_then_what_is_known(tmp_path):
    """O-35."""
    settings = """
providers:
  here: {kind: openai, baseUrl: "http://127.0.0.1:1/v1", price: free, contextWindow: 10}
  work: {kind: openai, apiKeyEnv: WORK_KEY}
models:
  both: {ref: here/x, contextWindow: 20, price: {input: 1, output: 2}}
"""
    both, provider, vendor = models(tmp_path, "models: [both, here/x, work/gpt-5-mini]", settings)

    assert (both.context_window, both.price) == (20, Price(input=1.0, output=2.0))
    assert (provider.context_window, provider.price) == (10, FREE)
    assert (vendor.context_window, vendor.price) == (MINI.context_window, MINI.price)


def test_a_scripted_model_is_free_and_has_a_window(tmp_path):
    [choice] = models(tmp_path, "models: [tape/any]", SCRIPTED)

    assert choice == ModelChoice(provider="tape", model="any", context_window=128_000, price=FREE)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("openai/unheard-of", "nobody knows the context window and price of 'openai/unheard-of'; declare an alias in folkmoot.yaml"),
        ("ollama/qwen3", "nobody knows the context window of 'ollama/qwen3'"),
        ("here/gpt-5-mini", "nobody knows the context window and price of 'here/gpt-5-mini'"),
        ("opnai/gpt-5-mini", "there is no provider 'opnai' (in 'opnai/gpt-5-mini'); did you mean 'openai'?"),
        ("scripted/x", "there is no provider 'scripted'"),
        ("gpt-5-mini", "'gpt-5-mini' is neither an alias nor of the form provider/model"),
        ("fats", "'fats' is neither an alias nor of the form provider/model; did you mean 'fast'?"),
        ("/x", "'/x' is neither an alias nor of the form provider/model"),
        ("openai/", "'openai/' is neither an alias nor of the form provider/model"),
    ],
)  # fmt: skip
def test_a_model_that_is_not_known_is_told_where_it_is_named_with_the_remedy(tmp_path, reference, message):
    """O-35."""
    settings = (
        "models: {fast: openai/gpt-5-mini}\nproviders: {here: {kind: openai, baseUrl: 'http://127.0.0.1:1'}}"
    )

    found = error(tmp_path, {"a.ai": f"models: [fast, {reference}]", "folkmoot.yaml": settings})

    assert found.startswith("a.ai:2:16: ")
    assert message in found


def test_an_alias_is_checked_even_if_nobody_uses_it(tmp_path):
    """O-35."""
    settings = "models:\n  default: openai/gpt-5-mini\n  spare: openai/unheard-of\n"

    assert error(tmp_path, {"a.ai": "description: x", "folkmoot.yaml": settings}).startswith(
        "folkmoot.yaml:3:10: "
    )


def test_what_is_wrong_with_an_alias_is_said_once_and_not_by_each_agent(tmp_path):
    settings = "models: {default: openai/unheard-of}\nproviders: {here: {kind: wrong}}"
    files = {"a.ai": "description: x", "b.ai": "models: [default, here/x]", "folkmoot.yaml": settings}

    assert [line.split(": ")[0] for line in errors(tmp_path, files)] == [
        "folkmoot.yaml:1:19",
        "folkmoot.yaml:2:26",
    ]


@pytest.mark.parametrize("declared", ["description: x", "models: []", "models: ''"])
def test_an_agent_without_any_model_is_told_the_remedy(tmp_path, declared):
    message = error(tmp_path, {"a.ai": declared, "folkmoot.yaml": ""})

    assert message.startswith("a.ai:2:1: the agent names no model; add `models: [provider/model]` here")


def test_defaults_of_the_project_come_before_the_default_alias(tmp_path):
    settings = SCRIPTED + "models: {default: openai/gpt-5-mini}\nagents: {defaults: {models: tape/x}}"

    assert [choice.ref for choice in models(tmp_path, "description: x", settings)] == ["tape/x"]


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("{kind: openai, baseUrl: 'ftp://x/v1'}", "`providers.p.baseUrl` must begin with http:// or https:// and name a host"),
        ("{kind: openai, baseUrl: 'localhost:11434'}", "`providers.p.baseUrl` must begin with http:// or https://"),
        ("{kind: openai, baseUrl: 'http://'}", "`providers.p.baseUrl` must begin with http:// or https:// and name a host"),
        ("{kind: openai, baseUrl: 'http://[::1'}", "`providers.p.baseUrl` is no address"),
        ("{kind: openai, baseUrl: 'http://x:99999999'}", "`providers.p.baseUrl` is no address"),
        ("{kind: openai, baseUrl: 'https://me:hunter2@x/v1'}", "`providers.p.baseUrl` holds a password"),
        ("{kind: openai, apiKeyEnv: sk-hunter2}", "`providers.p.apiKeyEnv` must be the name of an environment variable"),
        ("{kind: openai, headers: {Authorization: Bearer hunter2}}", "the header 'Authorization' would hold a secret"),
        ("{kind: openai, apiKey: hunter2}", "unknown key 'apiKey' in `providers.p`; did you mean 'apiKeyEnv'?"),
        ("{kind: openai, script: answers.yaml}", "`script` goes only with `kind: scripted`"),
        ("{kind: pydantic-ai}", "`kind: pydantic-ai` needs `provider`, its name there, such as `google`"),
        ("{kind: openai, provider: google}", "`kind: pydantic-ai` needs `provider`, its name there"),
        ("{kind: scripted}", "'p' needs `script`, a file of the project"),
        ("{kind: scripted, script: nowhere.yaml}", "the script 'nowhere.yaml' does not exist"),
        ("{kind: scripted, script: ../answers.yaml}", "the script '../answers.yaml' leads out of the project"),
    ],
)  # fmt: skip
def test_a_provider_is_checked_and_no_secret_is_ever_shown(tmp_path, provider, message):
    settings = f"providers:\n  p: {provider}\n"
    files = {"a.ai": "models: [openai/gpt-5-mini]", "folkmoot.yaml": settings, "answers.yaml": ""}

    found = error(tmp_path, files, known=KNOWN)

    assert found.startswith("folkmoot.yaml:2:")
    assert message in found
    assert "hunter2" not in found


def test_a_header_without_a_secret_is_fine(tmp_path):
    settings = "providers: {p: {kind: openai, headers: {X-Title: folkmoot}}}"

    assert models(tmp_path, "models: [openai/gpt-5-mini]", settings) == (MINI,)


def test_a_provider_cannot_have_a_slash_in_its_name(tmp_path):
    settings = "providers: {a/b: {kind: openai}}"

    assert "cannot be called 'a/b'" in error(
        tmp_path, {"a.ai": "models: [openai/gpt-5-mini]", "folkmoot.yaml": settings}
    )


def test_a_password_in_the_storage_address_is_refused(tmp_path):
    settings = "storage: {project: p, url: 'postgresql://me:hunter2@x/db'}"

    found = error(tmp_path, {"a.ai": "models: [openai/gpt-5-mini]", "folkmoot.yaml": settings})

    assert "`storage.url` holds a password" in found
    assert "hunter2" not in found
