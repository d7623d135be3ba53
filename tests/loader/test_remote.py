"""Agents with `remote`: what may stand beside it, where they may sit, and what they become."""

import pytest

from folkmoot.domain.agent import Remote
from tests.loader.making import error, errors, loaded

REMOTE = "remote: {url: https://desk.example/a2a/helper, apiKeyEnv: HELPER_TOKEN}"


def test_a_remote_agent_has_one_model_which_is_the_way_to_it(tmp_path):
    graph = loaded(tmp_path, {"helper.ai": REMOTE}).graph
    helper = graph.agents["helper.ai"]

    assert helper.remote == Remote("https://desk.example/a2a/helper", "HELPER_TOKEN")
    assert [choice.ref for choice in helper.models] == ["remote:helper.ai/a2a"]
    assert helper.tuning.max_turns == 1
    way = graph.settings.providers["remote:helper.ai"]
    assert (way.kind, way.base_url, way.api_key_env) == ("a2a", helper.remote.url, "HELPER_TOKEN")


def test_it_needs_no_prompt_and_no_default_model(tmp_path):
    (tmp_path / "helper.ai").write_text(f"---\n{REMOTE}\n---\n")

    assert loaded(tmp_path, {}).warnings == ()


def test_defaults_for_all_agents_do_not_change_how_it_is_asked(tmp_path):
    settings = "agents: {defaults: {maxTurns: 7, planningStrategy: plan_and_execute, models: [ollama/x]}}"
    helper = loaded(tmp_path, {"helper.ai": REMOTE, "folkmoot.yaml": settings}).graph.agents["helper.ai"]

    assert (helper.tuning.max_turns, helper.in_parts, len(helper.models)) == (1, False, 1)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("tools", "tools: [files.read]"),
        ("models", "models: [openai/gpt-5-mini]"),
        ("chat", "chat: true"),
        ("split", "split: auto"),
        ("temperature", "temperature: 0.5"),
        ("maxTurns", "maxTurns: 3"),
    ],
)
def test_what_another_program_decides_does_not_stand_beside_it(tmp_path, key, line):
    message = error(tmp_path, {"helper.ai": f"{REMOTE}\n{line}"})

    assert f"`{key}` has no effect on a remote agent: another program runs it; take it out" in message


def test_it_sits_in_no_team(tmp_path):
    said = errors(
        tmp_path,
        {"a.ai": "team: {members: [helper.ai]}", "b.ai": "team: {members: [c.ai], supervisor: helper.ai}",
         "c.ai": "description: c", "helper.ai": REMOTE},
    )  # fmt: skip

    assert "'helper.ai' is a remote agent, which hears no broadcasts; it cannot be a member" in said[0]
    assert "it cannot be a supervisor" in said[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("remote: {url: desk.example}", "`url` must begin with http:// or https:// and name a host"),
        ("remote: {url: 'https://ann:secret@desk.example/'}", "`url` holds a password"),
        (
            "remote: {url: https://desk.example, apiKeyEnv: sk-123}",
            "`remote.apiKeyEnv` must be the name of an",
        ),
        ("remote: {apiKeyEnv: TOKEN}", "`remote` needs the key 'url'"),
        ("remote: {url: https://desk.example, key: x}", "unknown key"),
        (f"{REMOTE}\noutput: {{claims: true}}", "cannot cite what its tools returned"),
    ],
)
def test_what_is_wrong_with_it_is_said_at_its_place(tmp_path, line, words):
    assert words in error(tmp_path, {"helper.ai": line})


def test_a_provider_is_no_way_to_declare_one(tmp_path):
    settings = "providers: {p: {kind: a2a, price: free, contextWindow: 1000}}"
    message = error(tmp_path, {"a.ai": "models: [p/x]", "folkmoot.yaml": settings})

    assert "a remote agent is an agent file with `remote: {url: …}`, and no provider" in message
