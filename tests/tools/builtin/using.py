"""Calls of built-in tools, as a session makes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.settings import Builtins
from folkmoot.ports import Site
from folkmoot.tools.builtin.toolset import builtin_tools
from folkmoot.tools.functions import Refused

SITE = Site("run", "run", "0", 1, 1)


class Using:
    def __init__(
        self, folder: Path, limits: Builtins = Builtins(), env: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self._tools = builtin_tools(limits, env or {})

    async def __call__(self, tool: str, **arguments: Any) -> ToolResult:
        return await self._tools[tool].call(ToolCall("1", tool, arguments), SITE, self.folder)

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self(tool, **arguments)
        assert not result.failed, result.text
        return result.text

    async def refusal(self, tool: str, **arguments: Any) -> str:
        with pytest.raises(Refused) as raised:
            await self(tool, **arguments)
        return str(raised.value)
