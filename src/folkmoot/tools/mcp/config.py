"""How a server is reached: its entry in the settings, and what it is given of what surrounds the project."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from folkmoot.domain.naming import VARIABLE
from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed
from folkmoot.tools.mcp.processes import MARK

LONGEST = 16_000_000
"""Bytes of one message from a server. Nothing that a model could read is longer."""
_EVERYBODYS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""What every process gets; all else must be named by its entry."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    name: str
    """Of the source in the settings."""
    source: ToolSource
    folder: Path
    """Of the project."""
    env: Mapping[str, str]
    mark: str
    """Borne by the server's process and by all that it starts."""

    @property
    def shown(self) -> str:
        """For people: the exact command line, or the address."""
        return shlex.join(self.source.command) or self.source.url or ""

    @property
    def cwd(self) -> Path:
        return self.folder / (self.source.cwd or "")

    def environment(self) -> dict[str, str]:
        given = {name: self.env[name] for name in _EVERYBODYS if name in self.env}
        named = {name: self._value(name) for name in self.source.env}
        return {"PATH": os.defpath, **given, **named, MARK: self.mark}

    def headers(self) -> dict[str, str]:
        """With the values of the variables that they name as `${NAME}`."""
        return {
            name: VARIABLE.sub(lambda found: self._value(found[1]), text)
            for name, text in self.source.headers.items()
        }

    def failed(self, why: str, remedy: str) -> ServerFailed:
        return ServerFailed(f"the tool server {self.name!r} did not start: {why} ({self.shown}); {remedy}")

    def _value(self, variable: str) -> str:
        if not self.env.get(variable):
            raise self.failed(f"it needs ${variable}", "set this environment variable")
        return self.env[variable]
