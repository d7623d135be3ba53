"""How a script is written, and what is said about a wrong one."""

import re

import pytest

from folkmoot.domain.message import Usage
from folkmoot.domain.report import Selection
from folkmoot.errors import DeclarationError
from folkmoot.models.script import AgentScript, Barrier, ModelScript, script_of
from folkmoot.models.script import ScriptedCall as Call
from folkmoot.models.script import ScriptedClaim as Claim
from folkmoot.models.script import ScriptedFault as Fault
from folkmoot.models.script import ScriptedReply as Reply
from folkmoot.models.script import ScriptedRule as Rule


def problems(data):
    with pytest.raises(DeclarationError) as caught:
        script_of(data)
    return [problem.message for problem in caught.value.problems]


def test_everything_that_may_stand_in_a_script():
    script = script_of(
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
                    Rule("refund", (Reply(route=Selection("billing", "hurry")),)),
                    Rule("/order \\d+/", (Reply(error=Fault("busy")), Reply(text="Here."))),
                ),
                turns=(
                    (
                        Reply(
                            text="I look.",
                            calls=(Call("files.read", {"path": "a"}, "c1"),),
                            usage=Usage(10, 2, 5, 1),
                            cost_usd=0.5,
                            delay=0.2,
                            barrier=Barrier("all", 3),
                            stop="length",
                        ),
                    ),
                    (Reply(error=Fault("m", False, 120.0, 429)),),
                    (Reply(report={"a": 1}, claims=(Claim("t", ("e",)),), metadata={"b": 2}),),
                    (Reply(route=Selection("billing"), barrier=Barrier("n", 2), delay=1.5),),
                ),
                repeat=True,
                default=(Reply(),),
            ),
        },
    )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"txt": "hi"}, "unknown key 'txt' in `HERE`; did you mean 'text'?"),
        ({"calls": [{"tool": "a", "args": {}}]}, "unknown key 'args' in `HERE.calls[0]`; it may have arguments, id, tool"),
        ({"calls": [{"arguments": {}}]}, "`HERE.calls[0]` needs the key 'tool': a string"),
        ({"calls": [{"tool": ""}]}, "`HERE.calls[0].tool` must be text that is not empty, not ''"),
        ({"calls": {"tool": "a"}}, "`HERE.calls` must be a list, not a mapping"),
        ({"calls": [{"tool": "a", "arguments": [1]}]}, "`HERE.calls[0].arguments` must be a mapping or a string, not a list"),
        ({"text": 5}, "`HERE.text` must be a string, not 5; put it in quotes"),
        ({"error": {"mesage": "m"}}, "unknown key 'mesage' in `HERE.error`; did you mean 'message'?"),
        ({"error": {"status": 7}}, "`HERE.error.status` must be at least 100, not 7"),
        ({"error": {"retryAfter": "soon"}}, "`HERE.error.retryAfter` must be a duration such as 200ms, 5s, 2m, 1h, 1d, 1500 (milliseconds) or off, not 'soon'"),
        ({"delay": "5 s"}, "`HERE.delay` must be a duration"),
        ({"delay": True}, "`HERE.delay` must be a duration"),
        ({"delay": None}, "`HERE.delay` must be a duration"),
        ({"barrier": "all"}, "`HERE.barrier.count` must be at least 1, not 0"),
        ({"barrier": "/3"}, "`HERE.barrier.name` must be text that is not empty"),
        ({"usage": {"tokenIn": 5}}, "unknown key 'tokenIn' in `HERE.usage`; did you mean 'tokensIn'?"),
        ({"route": {"message": "m"}}, "`HERE.route` needs the key 'agent': a string"),
        ({"report": 5}, "`HERE.report` must be a string or a mapping or a list, not 5"),
        ({"attempts": []}, "`HERE.attempts` must list at least one answer"),
        ({"attempts": ["a"], "text": "b"}, "`HERE.text` belongs into one of the `attempts`, not beside them"),
        ({"attempts": [{"txt": "a"}]}, "unknown key 'txt' in `HERE.attempts[0]`"),
        ({"attempts": "a"}, "`HERE.attempts` must be a list, not 'a'"),
        (None, "`HERE.text` must be a string, not empty"),
        (5, "`HERE.text` must be a string, not 5"),
        ({5: "a"}, "unknown key '5' in `HERE`"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_named_with_its_place_and_remedy(answer, problem):
    wanted = problem.replace("HERE", "agents.a[0]")

    assert [one for one in problems({"agents": {"a": [answer]}}) if one.startswith(wanted)]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ([], "this must be a mapping, not a list"),
        ({"agent": {}}, "unknown key 'agent'; did you mean 'agents'?"),
        ({"agents": []}, "`agents` must be a mapping, not a list"),
        ({"agents": {"a.ai": ["x"]}}, "`agents`: 'a.ai' is a file; its agent's id is 'a'"),
        ({"agents": {"a": "x"}}, "`agents.a` must be a mapping, not 'x'"),
        ({"agents": {"a": {"turn": []}}}, "unknown key 'turn' in `agents.a`; did you mean 'turns'?"),
        ({"agents": {"a": {"turns": "x"}}}, "`agents.a.turns` must be a list, not 'x'"),
        ({"agents": {"a": {"repeat": "yes"}}}, "`agents.a.repeat` must be true or false, not 'yes'"),
        ({"agents": {"a": {"rules": [{"text": "x"}]}}}, "`agents.a.rules[0]` needs `when`"),
        ({"agents": {"a": {"rules": [{"when": "", "text": "x"}]}}}, "`agents.a.rules[0].when` must be text that is not empty"),
        ({"agents": {"a": {"rules": [{"when": "/(/", "text": "x"}]}}}, "`agents.a.rules[0].when` is no regular expression: "),
        ({"agents": {"a": {"rules": ["x"]}}}, "`agents.a.rules[0]` must be a mapping, not 'x'"),
        ({"default": 5}, "`default.text` must be a string, not 5"),
    ],
)  # fmt: skip
def test_a_wrong_script_is_named_with_its_place_and_remedy(script, problem):
    assert any(one.startswith(problem) for one in problems(script)), problems(script)


def test_everything_that_is_wrong_is_reported_at_once():
    wrong = {"agents": {"a": [{"txt": "x"}, "fine", {"delay": "x"}], "b": 5}, "defalt": "x"}

    assert len(problems(wrong)) == 4


def test_text_that_cannot_be_stored_is_made_storable():
    script = script_of({"agents": {"a": ["x\0y", {"calls": [{"tool": "t", "arguments": {"k": "\ud800"}}]}]}})

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
    with pytest.raises(DeclarationError, match=re.escape("script:1:1: unknown key 'txt' in `agents.a[0]`")):
        script_of({"agents": {"a": [{"txt": "x"}]}})
