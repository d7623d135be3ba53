"""What every tool is, whoever made it: a Python function, a built-in, a tool of an MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.settings import ToolSource
from folkmoot.ports import Site


class Tool(Protocol):
    @property
    def name(self) -> str:
        """Its own name, without that of its source."""

    def spec(self, name: str) -> ToolSpec:
        """As it is offered under this name of agent files."""

    def under(self, source: ToolSource) -> Tool:
        """The same with what the settings say of the effect and access of its source's tools."""

    async def call(self, call: ToolCall, site: Site, work_dir: Path) -> ToolResult:
        """Do it. Whatever goes wrong is a result that says so to the model."""
