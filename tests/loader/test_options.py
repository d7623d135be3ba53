import pytest

from tests.loader.making import error, errors, loaded, warnings

SETTINGS = """
models: {default: openai/gpt-5-mini}
budget: {usd: 2}
agents: {defaults: {maxTurns: 20, llmTimeout: 1m, maxRetries: 2}}
"""


def sources(folder, env=None, flags=None, of="a.ai", declared="maxTurns: 5\nllmTimeout: 5s"):
    found = loaded(folder, {"a.ai": declared, "folkmoot.yaml": SETTINGS}, env=env or {}, flags=flags or {})
    return {setting.key: (setting.value, setting.source) for setting in found.settings if setting.file == of}


def test_an_option_is_taken_from_the_first_that_says_something(tmp_path):
    """DESIGN section 8: flag, environment, frontmatter, folkmoot.yaml, default."""
    env = {"FOLKMOOT_LLM_TIMEOUT": "7s", "FOLKMOOT_MAX_TURNS": "7"}

    found = sources(tmp_path, env, {"maxTurns": "9"})

    assert found["maxTurns"] == (9, "--set")
    assert found["llmTimeout"] == (7.0, "environment FOLKMOOT_LLM_TIMEOUT")
    assert found["maxRetries"] == (2, "folkmoot.yaml:4")
    assert found["toolTimeout"] == (300.0, "default")
    assert found["models"] == (("default",), "folkmoot.yaml:2")
    assert sources(tmp_path)["maxTurns"] == (5, "a.ai:2")


def test_what_is_shown_is_what_holds(tmp_path):
    found = loaded(
        tmp_path,
        {"a.ai": "maxTurns: 5", "folkmoot.yaml": SETTINGS},
        flags={"maxTurns": "9", "budget.usd": "0.5"},
    )

    assert found.graph.agents["a.ai"].tuning.max_turns == 9
    assert found.graph.settings.budget.usd == 0.5


def test_an_agent_that_says_nothing_takes_the_defaults_of_the_project(tmp_path):
    assert sources(tmp_path, declared="description: x")["maxTurns"] == (20, "folkmoot.yaml:4")


def test_the_settings_of_the_project_are_shown_with_their_sources(tmp_path):
    env = {"FOLKMOOT_LIMITS_CALL_DEPTH": "4", "FOLKMOOT_BUDGET_TOKENS": "10"}

    found = sources(tmp_path, env, {"approvals.unattended": "deny", "budget.tokens": "20"}, of="")

    assert found["budget.usd"] == (2.0, "folkmoot.yaml:3")
    assert found["budget.tokens"] == (20, "--set")
    assert found["limits.callDepth"] == (4, "environment FOLKMOOT_LIMITS_CALL_DEPTH")
    assert found["limits.concurrent"] == (16, "default")
    assert found["approvals.unattended"] == ("deny", "--set")
    assert found["models.default.ref"] == ("openai/gpt-5-mini", "folkmoot.yaml:2")
    assert found["maxTurns"] == (20, "folkmoot.yaml:4")


def test_models_may_be_given_by_flag_and_environment(tmp_path):
    files = {"a.ai": "models: [openai/unheard-of]"}

    for more in ({"flags": {"models": "openai/gpt-5-mini"}}, {"env": {"FOLKMOOT_MODELS": "default"}}):
        [choice] = loaded(tmp_path, files, **more).graph.agents["a.ai"].models
        assert choice.ref == "openai/gpt-5-mini"


def test_a_model_by_flag_that_is_not_known_is_told_once(tmp_path):
    files = {"a.ai": "description: x", "b.ai": "description: x"}

    assert error(tmp_path, files, flags={"models": "fast"}).startswith(
        "--set:1:1: 'fast' is neither an alias"
    )


@pytest.mark.parametrize(
    ("flags", "env", "message"),
    [
        ({"maxTurns": "many"}, {}, "--set:1:1: `maxTurns` must be a whole number, not 'many'"),
        ({"maxTurns": "9" * 99}, {}, "--set:1:1: `maxTurns`: a number of 99 characters is too long"),
        ({"models": "x\udc80"}, {}, "--set:1:1: `models`: the text holds a character that cannot be stored"),
        ({"maxTurn": "3"}, {}, "--set:1:1: there is no setting 'maxTurn'; did you mean 'maxTurns'?"),
        ({"handoff": "b.ai"}, {}, "--set:1:1: there is no setting 'handoff'"),
        ({"budget.usd": "-1"}, {}, "--set:1:1: `budget.usd` must be greater than 0, not -1"),
        ({}, {"FOLKMOOT_MAX_TURNS": "0"}, "environment:1:1: `FOLKMOOT_MAX_TURNS` must be at least 1, not 0"),
        (
            {"router": "x"},
            {},
            "--set:1:1: there is no setting 'router'; there are agents.defaults.taskContinuation.channel, ",
        ),
        ({}, {"FOLKMOOT_LLM_TIMEOUT": "soon"}, "environment:1:1: `FOLKMOOT_LLM_TIMEOUT` must be a duration"),
    ],
)
def test_a_wrong_flag_or_variable_is_told_with_its_name(tmp_path, flags, env, message):
    """O-9."""
    assert message in errors(tmp_path, {"a.ai": "description: x"}, flags=flags, env=env)[0]


def test_an_empty_variable_says_nothing_and_a_misspelt_one_is_a_warning(tmp_path):
    env = {
        "FOLKMOOT_MAX_TURNS": "",
        "FOLKMOOT_MODEL": "x",
        "FOLKMOOT_LOG_FILE": "x",
        "FOLKMOOT_HOME": "x",
        "PATH": "/bin",
    }

    assert warnings(tmp_path, {"a.ai": "description: x"}, env=env) == [
        "environment:1:1: warning: 'FOLKMOOT_MODEL' has no effect; did you mean 'FOLKMOOT_MODELS'?"
    ]
