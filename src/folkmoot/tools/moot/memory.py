"""`memory_note` and `memory_read`: what an agent keeps for later runs, and what others let it read."""

from __future__ import annotations

from collections.abc import Callable

from folkmoot.coordination.author import calling
from folkmoot.coordination.moot import Moot
from folkmoot.domain.message import ToolResult
from folkmoot.domain.naming import MEMORY_NOTE, MEMORY_READ
from folkmoot.ports import Site
from folkmoot.tools.functions import FunctionTool


def memory_tools(moot: Callable[[], Moot]) -> dict[str, FunctionTool]:
    async def memory_note(text: str, site: Site) -> str:
        """Note something for your later runs. Others read it only if your file lets them."""
        notes = await moot().memories.note(calling(site), text)
        return f"noted; you have {len(notes.notes)} now"

    async def memory_read(site: Site, agent: str = "") -> ToolResult:
        """Read what you noted in earlier runs, newest first; or what another agent noted, if its file lets you."""
        notes = await moot().memories.read(site.agent, agent or site.agent)
        lines = [f"- {note.at}: {note.text}" for note in reversed(notes.notes)]
        text = "\n".join(lines) or f"{notes.agent} has noted nothing yet"
        return ToolResult(text, sources=await moot().memories.read_for(notes.agent))

    return {
        MEMORY_NOTE: FunctionTool(memory_note, "keyed", "read"),
        MEMORY_READ: FunctionTool(memory_read, "pure", "read"),
    }
