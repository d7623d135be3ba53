"""Makes the sinks that `folkmoot.yaml` names, from what it says and from what the environment holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from folkmoot.domain.providers import LOOPBACK
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.sinking import Outlet
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.journal.codec import to_line
from folkmoot.journal.database import FOLDER, make_folder
from folkmoot.ports import Sink

if TYPE_CHECKING:
    from folkmoot.coordination.moot import Moot
    from folkmoot.sinks.discord import Rows


def outlets(folder: Path, env: Mapping[str, str], moot: Moot) -> list[Outlet]:
    """Raises `WrongUse` for a variable that is not set."""
    maker = _Maker(folder, env, moot)
    return [Outlet(name, sink, maker.sink(name, sink)) for name, sink in moot.graph.settings.sinks.items()]


@dataclass(frozen=True)
class _Maker:
    folder: Path
    env: Mapping[str, str]
    moot: Moot

    def sink(self, name: str, said: SinkSettings) -> Sink:
        match said.kind:
            case "ndjson":
                from folkmoot.sinks.ndjson import NdjsonSink

                return NdjsonSink(self._file(name, said.file), to_line, said.max_bytes)
            case "discord":
                from folkmoot.sinks.discord import DiscordSink

                return DiscordSink(self._address(name, said), self.moot.clock)
            case "dashboard":
                from folkmoot.sinks.discord import DashboardSink

                return DashboardSink(self._address(name, said), self.moot.clock, rows_of(self.moot))
            case "webhook":
                from folkmoot.sinks.http import WebhookSink

                key = self._variable(name, said.secret_env) if said.secret_env else ""
                return WebhookSink(self._address(name, said), key, self.moot.clock, to_line)
            case "otel":
                return self._otel(name, said)

    def _otel(self, name: str, said: SinkSettings) -> Sink:
        from folkmoot.engine.replay import prompt
        from folkmoot.sinks.otel import OtelSink

        try:
            from folkmoot.sinks.otlp import Otlp
        except ImportError as error:
            raise OperationFailed(
                f"the sink {name!r} needs a package that is not installed ({error});"
                " install it with: pip install 'folkmoot[otel]'",
                code="package_missing",
            ) from error
        url = self._address(name, said) if said.url or said.url_env else ""
        headers = {header: self._variable(name, value) for header, value in said.headers_env.items()}
        prompts = partial(prompt, self.moot.journal) if said.content else None
        wire = Otlp(url, headers, said.resource)
        return OtelSink(wire, self.moot.journal, prompt=prompts, metrics=said.metrics)

    def _file(self, name: str, path: str) -> Path:
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder.resolve()):
            raise WrongUse(f"the file of the sink {name!r} would lie outside of the project")
        kept = self.folder.resolve() / FOLDER
        if file.is_relative_to(kept) and not kept.is_dir():  # with a journal on a server nobody else makes it
            make_folder(self.folder, journal=False)
        return file

    def _address(self, name: str, said: SinkSettings) -> str:
        url = said.url or self._variable(name, said.url_env or "")
        parts = urlsplit(url)
        if not parts.hostname or not (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        ):
            raise WrongUse(f"the address in ${said.url_env} of the sink {name!r} must begin with https://")
        return url

    def _variable(self, name: str, variable: str) -> str:
        if not (value := self.env.get(variable)):
            raise WrongUse(f"the sink {name!r} needs ${variable}, which is not set")
        return value


def rows_of(moot: Moot) -> Rows:
    """The team as its journal tells it."""
    from folkmoot.sinks.discord import TeamRow

    async def rows() -> Sequence[TeamRow]:
        tasks = await moot.tasks.all()
        return [
            TeamRow(
                each.agent_id,
                each.status,
                tasks[each.current_task_id].description if each.current_task_id in tasks else "",
                each.last_heartbeat,
                each.last_failure or each.last_failure_reason,
            )
            for each in await moot.team.members(tasks)
        ]

    return rows
