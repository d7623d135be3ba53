"""Operations on what an agent keeps for later runs, and what others let it read."""

from __future__ import annotations

from typing import Annotated

from folkmoot.coordination.memory import Notes
from folkmoot.domain.message import ToolResult
from folkmoot.domain.naming import MEMORY_NOTE, MEMORY_READ
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import AgentTool, Operation, OperationType, Spelling
from folkmoot.operations.project import OpenProject


class NoteMemory(Operation[Notes]):
    tool = AgentTool(
        MEMORY_NOTE, "Note something for your later runs. Others read it only if your file lets them."
    )
    text: str

    async def run(self, project: OpenProject, actor: Actor) -> Notes:
        return await project.memories.note(actor.author(), self.text)

    async def result(self, output: Notes, project: OpenProject, actor: Actor) -> ToolResult:
        return ToolResult(f"noted; you have {len(output.notes)} now")


class ReadMemory(Operation[Notes]):
    tool = AgentTool(
        MEMORY_READ,
        "Read what you noted in earlier runs, newest first; or what another agent noted, if its file lets you.",
    )
    reads = True
    owner: Annotated[str, Spelling(tool="agent")] = ""

    async def run(self, project: OpenProject, actor: Actor) -> Notes:
        return await project.memories.read(actor.id, self.owner or actor.id)

    async def result(self, output: Notes, project: OpenProject, actor: Actor) -> ToolResult:
        lines = [f"- {note.at}: {note.text}" for note in reversed(output.notes)]
        text = "\n".join(lines) or f"{output.agent} has noted nothing yet"
        return ToolResult(text, sources=await project.memories.read_for(output.agent))


OPERATIONS: tuple[OperationType, ...] = (NoteMemory, ReadMemory)
