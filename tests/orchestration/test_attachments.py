"""What a tool gives beside text is kept, and the model reads where."""

import re

from folkmoot import tool
from folkmoot.domain.message import Attachment, ToolResult
from tests.desk import Desk


@tool(effect="pure", access="read")
def draw() -> ToolResult:
    """Draw something."""
    return ToolResult("here it is", attachments=(Attachment("image image/png", b"\x89PNG and so on"),))


async def test_a_picture_becomes_an_artifact_that_the_result_names(tmp_path):
    script = {"a": [{"calls": [{"tool": "draw"}]}, {"report": "fine"}]}
    desk = Desk(tmp_path, {"a": "tools: [draw]"}, script, tools=[draw])

    played = await desk.run("a")

    (finished,) = played.events("tool.finished")
    kept = re.search(r"\[image image/png is artifact ([0-9a-f]{64})\]", finished.text)
    assert kept is not None
    assert await desk.journal.artifact(kept[1]) == b"\x89PNG and so on"
    async with desk.open() as moot:
        assert (await moot.replay("run-1")).equal
