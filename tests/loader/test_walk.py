import pytest

from folkmoot.domain.budget import Budget, Price
from tests.loader.making import error, errors, loaded


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("off", 0.0), ("1500", 1.5), ("0", 0.0), ("250ms", 0.25), ("5s", 5.0), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3600.0), ("1d", 86_400.0)],
)  # fmt: skip
def test_durations_are_spelt_in_many_ways(tmp_path, text, seconds):
    """O-9."""
    assert (
        loaded(tmp_path, {"a.ai": f"llmTimeout: {text}"}).graph.agents["a.ai"].tuning.llm_timeout == seconds
    )


@pytest.mark.parametrize(
    "text", ["5x", "soon", "-1", "-5s", "true", "[5s]", "", "5 s", "1h30m", "s", "5S", "on"]
)
def test_a_wrong_duration_is_an_error_and_never_a_default(tmp_path, text):
    """O-9."""
    message = error(tmp_path, {"a.ai": f"llmTimeout: {text}"})

    assert "`llmTimeout` must be a" in message
    assert message.startswith("a.ai:2:")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("maxTurns: ten", "a.ai:2:11: `maxTurns` must be a whole number, not 'ten'"),
        ("maxTurns: 1.5", "`maxTurns` must be a whole number, not 1.5"),
        ("maxTurns: true", "`maxTurns` must be a whole number, not true"),
        ("maxTurns: 0", "`maxTurns` must be at least 1, not 0"),
        ("maxTurns:", "`maxTurns` must be a whole number, not empty"),
        ("temperature: 3", "`temperature` must be at most 2, not 3"),
        ("temperature: hot", "`temperature` must be a number, not 'hot'"),
        ("chat: yes", "`chat` must be true or false, not 'yes'"),
        ("description: 12", "`description` must be a string, not 12; put it in quotes"),
        ("description: {a: b}", "`description` must be a string, not a mapping"),
        ("handoff: 3", "`handoff` must be a string, not 3; put it in quotes"),
        ("handoff: {to: b.ai}", "`handoff` must be a string, not a mapping"),
        ("advisors: {b.ai: 1}", "`advisors` must be a list, not a mapping"),
        ("advisors: [3]", "a.ai:2:12: `advisors[0]` must be a string, not 3; put it in quotes"),
        ("router: b.ai", "`router` must be a mapping, not 'b.ai'"),
        ("router: {destination: [b.ai]}", "unknown key 'destination' in `router`; did you mean 'destinations'?"),
        ("split: allways", "`split` must be one of 'always', 'auto', 'never', not 'allways'; did you mean 'always'?"),
        ("caching: [full]", "`caching` must be one of 'full', 'none', not a list"),
        ("toolName: 'a b'", "`toolName` must be of the form ^[A-Za-z0-9._-]{1,64}$, not 'a b'"),
        ("budget: {usd: 0}", "`budget.usd` must be greater than 0, not 0"),
        ("budget: {wall: long}", "`budget.wall` must be a duration"),
        ("output: {format: jsn}", "`output.format` must be one of 'json', 'markdown', 'text', not 'jsn'; did you mean 'json'?"),
        ("input: {format: markdown}", "`input.format` must be one of 'json', 'text', not 'markdown'"),
        ("toolOutput: [1]", "`toolOutput` must be a mapping, not a list"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_what_may_stand_there(tmp_path, declared, message):
    """O-9, A-2."""
    found = errors(tmp_path, {"a.ai": declared, "b.ai": "description: b"})

    assert message in found[0]


def test_every_key_of_an_agent_is_taken_in(tmp_path):
    """A-1."""
    declared = """
description: D
usage: U
toolName: sam
input: {format: text}
output: {format: markdown}
temperature: 1
topP: 0.5
topK: 3
maxTurns: 4
maxToolCallsPerTurn: 5
maxRetries: 2
llmTimeout: 1s
toolTimeout: 2s
maxOutputTokens: 100
repeatPenalty: 1.5
toolResponseMaxBytes: 7
reasoning: high
reasoningTokens: 8
planningStrategy: spar
caching: none
budget: {usd: 0.5, tokens: 60000, descendants: 20, wall: 10m, requests: 9}
"""
    agent = loaded(tmp_path, {"a.ai": declared}).graph.agents["a.ai"]

    assert (agent.description, agent.usage, agent.tool_name) == ("D", "U", "sam")
    assert (agent.input.format, agent.output.format) == ("text", "markdown")
    assert agent.budget == Budget(usd=0.5, tokens=60_000, descendants=20, wall=600.0, requests=9)
    assert list(agent.tuning.__getattribute__(name) for name in agent.tuning.__struct_fields__) == [
        4, 5, 2, 1.0, 2.0, 1.0, 0.5, 3, 100, 1.5, 7, "high", 8, "spar", "none",
    ]  # fmt: skip


def test_after_hundreds_of_problems_it_is_enough(tmp_path):
    """O-9."""
    declared = "\n".join(f"a-key-that-nobody-knows-{n}: 1" for n in range(700))

    assert len(errors(tmp_path, {"a.ai": declared})) == 500


def test_an_endless_key_is_shown_in_part(tmp_path):
    assert len(error(tmp_path, {"a.ai": f"? {'x' * 100_000}\n: 1"})) < 5_000


def test_reasoning_may_be_null(tmp_path):
    assert loaded(tmp_path, {"a.ai": "reasoning: null"}).graph.agents["a.ai"].tuning.reasoning is None


def test_a_price_is_a_word_or_a_mapping(tmp_path):
    """O-35."""
    settings = "models:\n  default: {ref: openai/x, contextWindow: 9, price: %s}"
    fine = settings % "{input: 1, output: 2, cacheRead: 0.1}"

    agent = loaded(tmp_path, {"a.ai": "description: x", "folkmoot.yaml": fine}).graph.agents["a.ai"]

    assert agent.models[0].price == Price(input=1.0, output=2.0, cache_read=0.1)
    assert (
        "`models.default.price` must be 'free' or a mapping, not 'fre'"
        in errors(tmp_path, {"folkmoot.yaml": settings % "fre"})[0]
    )
    assert (
        "`models.default.price` needs the key 'output': a number"
        in errors(tmp_path, {"folkmoot.yaml": settings % "{input: 1}"})[0]
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("orchestration: {enable_agnt_tool: true}", "unknown key 'enable_agnt_tool' in `orchestration`; did you mean 'enable_agent_tool'?"),
        ("limits: {callDepth: 0}", "`limits.callDepth` must be at least 1, not 0"),
        ("providers: [x]", "`providers` must be a mapping, not a list"),
        ("providers: {x: {}}", "`providers.x` needs the key 'kind': one of 'anthropic', 'openai', 'pydantic-ai', 'scripted'"),
        ("agents: {defaults: {maxTurns: x}}", "`agents.defaults.maxTurns` must be a whole number, not 'x'"),
        ("models: {default: 3}", "`models.default.ref` must be a string, not 3"),
        ("handoff: x.ai", "unknown key 'handoff'"),
        ("verbose: true", "use CLI flags"),
    ],
)  # fmt: skip
def test_settings_are_checked_like_agents(tmp_path, settings, message):
    """O-9, B-46."""
    found = errors(tmp_path, {"a.ai": "models: [openai/gpt-5-mini]", "folkmoot.yaml": settings})

    assert message in found[0]
    assert len(found) == 1
