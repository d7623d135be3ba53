"""How agents are called, what they take, and what they promise."""

import pytest

from folkmoot.domain.agent import Agent, Input, Output, Team
from folkmoot.errors import WrongUse
from folkmoot.protocols.mcp_offers import agents_as_tools, request_of, tool_of

TWICE = {"type": "object", "properties": {"twice": {"type": "integer"}}}


def names(moot, *only: str) -> dict[str, str]:
    return {name: agent.file for name, agent in agents_as_tools(moot, only).items()}


async def test_agents_are_called_by_their_ids_and_by_their_paths_if_those_are_shared(desk):
    files = {name: "description: x" for name in ("front.desk", "a/judge", "b/judge")}
    async with desk(files, {}).open() as moot:
        assert names(moot) == {
            "front__desk": "front.desk.ai",
            "a_judge": "a/judge.ai",
            "b_judge": "b/judge.ai",
        }
        assert names(moot, "b/judge.ai") == {"judge": "b/judge.ai"}


@pytest.mark.parametrize(
    ("files", "both"), [(["a.b", "a__b"], ["a.b.ai", "a__b.ai"]), (["folkmoot.resume"], ["folkmoot__resume"])]
)
async def test_two_agents_that_cannot_be_told_apart_are_refused(desk, files, both):
    async with desk({name: "description: x" for name in files}, {}).open() as moot:
        with pytest.raises(WrongUse, match="rename it, or offer others") as error:
            agents_as_tools(moot)

    assert all(one in str(error.value) for one in both)


def test_what_is_no_object_is_wrapped_into_one():
    agent = Agent("a", "a.ai", "", input=Input("json", {"type": "array"}))

    assert tool_of("a", agent).input_schema["properties"]["request"]["type"] == "array"
    assert request_of(agent, {"request": [1, 2]}) == "[1,2]"


@pytest.mark.parametrize(
    "more",
    [
        {"handoff": "b.ai"},
        {"destinations": ("b.ai",)},
        {"team": Team(members=("c.ai",), supervisor="b.ai")},
        {"output": Output("json", {"type": "array"})},
        {"output": Output("text")},
    ],
)
def test_a_structure_is_promised_only_if_nobody_else_may_answer(more):
    alone = {"id": "a", "file": "a.ai", "prompt": "", "output": Output("json", TWICE)}

    assert tool_of("a", Agent(**alone)).output_schema == TWICE
    assert tool_of("a", Agent(**{**alone, **more})).output_schema is None
