"""Where the tools of called agents work."""

from pathlib import Path

import pytest

from folkmoot import tool
from tests.orchestration.calling import ask, calling

WHERE = {"calls": [{"tool": "where"}]}
FILES = {
    "desk": "tools: [where]\nagents: [boy.ai]",
    "clerk": "tools: [where]\nagents: [boy.ai]",
    "boy": "tools: [where]",
}
BOY = {"tool": "agent__boy", "arguments": {"prompt": "p", "reason": "r"}}


@tool(effect="pure", access="read")
def where(work_dir: Path) -> str:
    """Say where it works."""
    return f"{work_dir} {work_dir.is_dir()}"


def seen(played):
    """What the tool said, by the agent's place in the run."""
    return {
        draft.span: draft.event.text
        for draft in played.drafts
        if draft.event.type == "tool.finished" and draft.event.tool == "where"
    }


@pytest.mark.parametrize("place", ["work/here", "{outside}"])
async def test_the_tools_of_called_agents_and_of_all_below_them_work_in_their_own_folder(
    desk, tmp_path, place
):
    """B-37: those of the root, and of agents that its file names, work in the project."""
    folder = place.format(outside=tmp_path / "outside")
    script = {
        "desk": [{"calls": [*WHERE["calls"], ask("m", "clerk"), BOY]}, "ok"],
        "clerk": [{"calls": [*WHERE["calls"], BOY]}, "3"],
        "boy": [WHERE, "b"],
    }
    at = desk(FILES, script, settings=calling(f"sub_agent_work_dir: {folder}"), tools=[where])
    played = await at.run("desk.ai")

    worked = tmp_path / folder
    assert seen(played) == {
        "0": f"{tmp_path} True",
        "0/turn:1/call:3": f"{tmp_path} True",
        "0/turn:1/call:2": f"{worked} True",
        "0/turn:1/call:2/turn:1/call:2": f"{worked} True",
    }
    assert where.spec("where").parameters["properties"] == {}


async def test_without_a_folder_of_their_own_called_agents_work_in_the_project(desk, tmp_path):
    """B-37."""
    script = {"desk": [{"calls": [ask("m", "clerk")]}, "ok"], "clerk": [WHERE, "3"]}
    played = await desk(FILES, script, settings=calling(), tools=[where]).run("desk.ai")

    assert seen(played) == {"0/turn:1/call:1": f"{tmp_path} True"}
