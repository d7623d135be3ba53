"""How a script is written, and what is said about a wrong one."""

import re

import pytest

from folkmoot.errors import DeclarationError
from folkmoot.models.script import AgentScript, Barrier, Counted, ModelScript, Route, read_script
from folkmoot.models.script import ScriptedCall as Call
from folkmoot.models.script import ScriptedClaim as Claim
from folkmoot.models.script import ScriptedFault as Fault
from folkmoot.models.script import ScriptedReply as Reply
from folkmoot.models.script import ScriptedRule as Rule


def problems(data, **more):
    with pytest.raises(DeclarationError) as caught:
        read_script(data, **more)
    return [problem.message for problem in caught.value.problems]


def test_everything_that_may_stand_in_a_script():
    script = read_script(
        {
            "default": "I have nothing to say.",
            "agents": {
                "greeter": ["Hello.", {"report": "Done."}],
                "clerk": {
                    "rules": [
                        {"when": "refund", "route": {"agent": "billing", "message": "hurry"}},
                        {"when": "/order \\d+/", "attempts": [{"error": "busy"}, "Here."]},
                    ],
                    "turns": [
                        {
                            "text": "I look.",
                            "calls": [{"tool": "files.read", "arguments": {"path": "a"}, "id": "c1"}],
                            "usage": {
                                "tokensIn": 10,
                                "tokensOut": 2,
                                "tokensCacheRead": 5,
                                "tokensCacheWrite": 1,
                            },
                            "costUsd": 0.5,
                            "delay": "200ms",
                            "barrier": "all/3",
                            "stop": "length",
                        },
                        {"error": {"message": "m", "retryable": False, "retryAfter": "2m", "status": 429}},
                        {
                            "report": {"a": 1},
                            "claims": [{"text": "t", "evidence": ["e"]}],
                            "metadata": {"b": 2},
                        },
                        {"route": "billing", "barrier": {"name": "n", "count": 2}, "delay": 1500},
                    ],
                    "repeat": True,
                    "default": {"text": ""},
                },
            },
        }
    )

    assert script == ModelScript(
        default=(Reply(text="I have nothing to say."),),
        agents={
            "greeter": AgentScript(turns=((Reply(text="Hello."),), (Reply(report="Done."),))),
            "clerk": AgentScript(
                rules=(
                    Rule("refund", (Reply(route=Route("billing", "hurry")),)),
                    Rule("/order \\d+/", (Reply(error=Fault("busy")), Reply(text="Here."))),
                ),
                turns=(
                    (
                        Reply(
                            text="I look.",
                            calls=(Call("files.read", {"path": "a"}, "c1"),),
                            usage=Counted(10, 2, 5, 1),
                            cost_usd=0.5,
                            delay=0.2,
                            barrier=Barrier("all", 3),
                            stop="length",
                        ),
                    ),
                    (Reply(error=Fault("m", False, 120.0, 429)),),
                    (Reply(report={"a": 1}, claims=(Claim("t", ("e",)),), metadata={"b": 2}),),
                    (Reply(route=Route("billing"), barrier=Barrier("n", 2), delay=1.5),),
                ),
                repeat=True,
                default=(Reply(),),
            ),
        },
    )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"txt": "hi"}, "txt: unknown key 'txt'; did you mean 'text'?"),
        ({"calls": [{"tool": "a", "args": {}}]}, "calls[1].args: unknown key 'args'; did you mean "),
        ({"calls": [{"arguments": {}}]}, "calls[1]: Object missing required field `tool`"),
        ({"calls": [{"tool": ""}]}, "calls[1].tool: Expected `str` of length >= 1"),
        ({"calls": {"tool": "a"}}, "calls: Expected `array`, got `object`"),
        ({"calls": [{"tool": "a", "arguments": [1]}]}, "calls[1].arguments: Expected `str | object`, got `array`"),
        ({"text": 5}, "text: Expected `str`, got `int`"),
        ({"error": {"mesage": "m"}}, "error.mesage: unknown key 'mesage'; did you mean 'message'?"),
        ({"error": {"status": 7}}, "error.status: Expected `int` >= 100"),
        ({"error": {"retryAfter": "soon"}}, "error.retryAfter: 'soon' is no duration; write 200ms, 5s, 2m, 1h, 1d, 1500 (milliseconds) or off"),
        ({"delay": "5 s"}, "delay: '5 s' is no duration"),
        ({"delay": True}, "delay: True is no duration"),
        ({"delay": None}, "delay: None is no duration"),
        ({"barrier": "all"}, "barrier.count: Expected `int` >= 1"),
        ({"barrier": "/3"}, "barrier.name: Expected `str` of length >= 1"),
        ({"usage": {"tokenIn": 5}}, "usage.tokenIn: unknown key 'tokenIn'; did you mean 'tokensIn'?"),
        ({"route": {"message": "m"}}, "route: Object missing required field `agent`"),
        ({"report": 5}, "report: Expected `str | object | array | null`, got `int`"),
        ({"attempts": []}, "attempts: `attempts` must list at least one answer"),
        ({"attempts": ["a"], "text": "b"}, "text: 'text' belongs into one of the `attempts`, not beside them"),
        ({"attempts": [{"txt": "a"}]}, "attempts[1].txt: unknown key 'txt'"),
        ({"attempts": "a"}, "attempts: expected a list here, not 'a'"),
        (None, "expected a mapping here, not nothing"),
        (5, "expected a mapping here, not 5"),
        ({5: "a"}, "5: expected text as a key, not 5; put it in quotes"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_named_with_its_place_and_remedy(answer, problem):
    found = [
        one
        for one in problems({"agents": {"a": [answer]}})
        if one.removeprefix("agents.a[1]").lstrip(".: ").startswith(problem)
    ]

    assert found


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ([], "expected a mapping here, not []"),
        ({"agent": {}}, "agent: unknown key 'agent'; did you mean 'agents'?"),
        ({"agents": []}, "agents: expected a mapping here, not []"),
        ({"agents": {"a.ai": ["x"]}}, "agents.a.ai: 'a.ai' is a file; its agent's id is 'a'"),
        ({"agents": {"a": "x"}}, "agents.a: expected a mapping here, not 'x'"),
        ({"agents": {"a": {"turn": []}}}, "agents.a.turn: unknown key 'turn'; did you mean 'turns'?"),
        ({"agents": {"a": {"turns": "x"}}}, "agents.a.turns: expected a list here, not 'x'"),
        ({"agents": {"a": {"repeat": "yes"}}}, "agents.a.repeat: Expected `bool`, got `str`"),
        ({"agents": {"a": {"rules": [{"text": "x"}]}}}, "agents.a.rules[1]: a rule needs `when`"),
        ({"agents": {"a": {"rules": [{"when": "/(/", "text": "x"}]}}}, "agents.a.rules[1].when: /(/ is no regular expression: "),
        ({"agents": {"a": {"rules": ["x"]}}}, "agents.a.rules[1]: expected a mapping here, not 'x'"),
        ({"default": 5}, "default: expected a mapping here, not 5"),
    ],
)  # fmt: skip
def test_a_wrong_script_is_named_with_its_place_and_remedy(script, problem):
    assert any(one.startswith(problem) for one in problems(script))


def test_everything_that_is_wrong_is_reported_at_once():
    wrong = {"agents": {"a": [{"txt": "x"}, "fine", {"delay": "x"}], "b": 5}, "defalt": "x"}

    assert len(problems(wrong)) == 4


def test_text_that_cannot_be_stored_is_made_storable():
    script = read_script(
        {"agents": {"a": ["x\0y", {"calls": [{"tool": "t", "arguments": {"k": "\ud800"}}]}]}}
    )

    assert script.agents["a"].turns[0][0].text == "x�y"
    assert script.agents["a"].turns[1][0].calls[0].arguments == {"k": "�"}


@pytest.mark.parametrize(
    ("when", "said", "fits"),
    [
        ("refund", "I want a REFUND", True),
        ("refund", "I want money", False),
        ("/^I want/", "I want a refund", True),
        ("/^a refund/", "I want a refund", False),
        ("/(?s)a.b/", "a\nb", True),
        ("/", "a/b", True),
        ("//", "a//b", True),
    ],
)
def test_a_rule_looks_for_words_or_for_a_pattern(when, said, fits):
    assert Rule(when, ()).fits(said) is fits


def test_a_problem_without_a_file_is_named_after_its_place_in_the_data():
    with pytest.raises(DeclarationError, match=re.escape("script:1:1: agents.a[1].txt: unknown key")):
        read_script({"agents": {"a": [{"txt": "x"}]}})
