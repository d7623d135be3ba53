"""What follows from the journal outside of it: the sinks that `folkmoot.yaml` names, listeners in the same process
(`EventBus`), and files for people and other programs.

The files say what the journal says of tasks, plans, decisions and the team. They are written from the records alone,
so that they can be made anew at any time, byte for byte. Nobody reads them back: editing one changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import msgspec

from folkmoot.coordination.record_store import Author
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.providers import LOOPBACK
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.value import Value
from folkmoot.engine.history import append_last
from folkmoot.engine.sinking import ConfiguredSink
from folkmoot.errors import JournalTooNew, NotFound, OperationFailed, WrongUse
from folkmoot.journal.codec import decode_event, to_line
from folkmoot.journal.database import FOLDER, make_durable_folder, make_folder, write_durably
from folkmoot.ports import Clock, Journal, Sink
from folkmoot.views import decisions, plans, tasks, team

if TYPE_CHECKING:
    from folkmoot.coordination.moot import Moot
    from folkmoot.sinks.discord import Rows


def build_sinks(folder: Path, env: Mapping[str, str], moot: Moot) -> list[ConfiguredSink]:
    """Raises `WrongUse` for a variable that is not set."""
    maker = _SinkBuilder(folder, env, moot)
    return [
        ConfiguredSink(name, sink, maker.sink(name, sink)) for name, sink in moot.graph.settings.sinks.items()
    ]


@dataclass(frozen=True)
class _SinkBuilder:
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

                return DashboardSink(self._address(name, said), self.moot.clock, build_team_reader(self.moot))
            case "webhook":
                from folkmoot.sinks.http import WebhookSink

                key = self._variable(name, said.secret_env) if said.secret_env else ""
                return WebhookSink(self._address(name, said), key, self.moot.clock, to_line)
            case "otel":
                return self._otel(name, said)

    def _otel(self, name: str, said: SinkSettings) -> Sink:
        from folkmoot.engine.replay import rebuild_prompt
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
        prompts = partial(rebuild_prompt, self.moot.journal) if said.content else None
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


def build_team_reader(moot: Moot) -> Rows:
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


_log = logging.getLogger(__name__)
KEPT = ("tasks", "plans", "decisions", "snapshots")
"""The folders below `.folkmoot` that hold nothing but projections; what stands there for no reason goes."""


async def render_record_files(moot: Moot) -> dict[str, str]:
    """What should stand in them, by path."""
    every_task = await moot.tasks.all()
    return {
        **tasks.projected(every_task),
        **plans.projected(await moot.plans.all()),
        **decisions.projected([*(await moot.decisions.all()).values()]),
        **team.projected(await moot.team.members(every_task)),
    }


async def write_record_files(moot: Moot, folder: Path) -> FileDifference:
    """Write them, where nobody's business is held up if that fails: they can always be made anew."""
    try:
        return update_files(folder, await render_record_files(moot))
    except (OSError, OperationFailed) as error:
        _log.warning("the files in %s are behind the journal: %s", folder, error)
        return FileDifference()


class FileDifference(Value):
    """What the files are behind the records."""

    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Files of which the records say nothing, or no longer."""


def find_file_differences(folder: Path, wanted: Mapping[str, str]) -> FileDifference:
    """`folder` is `.folkmoot`, `wanted` what should stand there, by path."""
    there = {
        path.relative_to(folder).as_posix()
        for kept in KEPT
        for path in (folder / kept).rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    changed = (path for path, text in wanted.items() if _read_content(folder / path) != text.encode())
    return FileDifference(tuple(sorted(changed)), tuple(sorted(there - wanted.keys())))


def update_files(folder: Path, wanted: Mapping[str, str]) -> FileDifference:
    """Bring the files up to the records; what was behind. Each is afterwards old or new, never half."""
    behind = find_file_differences(folder, wanted)
    if behind.changed and not folder.is_dir():  # with a journal on a server nobody else makes it
        make_folder(folder.parent, journal=False)
    for path in behind.changed:
        _make_folders(folder, (folder / path).parent)
        write_durably(folder / path, wanted[path].encode())
    for path in behind.gone:
        (folder / path).unlink(missing_ok=True)
    return behind


def _read_content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _make_folders(top: Path, folder: Path) -> None:
    if folder != top and not folder.is_dir():
        _make_folders(top, folder.parent)
        make_durable_folder(folder)


PROJECT = "project"
"""The stream of what belongs to no run and no record."""

Listener = Callable[[Entry], None]
_log = logging.getLogger(__name__)


class EventBus:
    """Use it as `async with moot.bus() as bus:`; whoever subscribes hears what becomes durable from then on."""

    def __init__(self, journal: Journal, clock: Clock, after: int) -> None:
        """`after`: the position of the journal from which on listeners are told."""
        self._journal = journal
        self._clock = clock
        self._after = after
        self._listeners: list[tuple[str, Listener]] = []

    async def __aenter__(self) -> Self:
        self._hearing = asyncio.create_task(self._hear())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)

    def subscribe(self, pattern: str, listener: Listener) -> Callable[[], None]:
        """To a type of events, `task.*` or `*`. What is returned ends it."""
        heard = (pattern, listener)
        self._listeners.append(heard)

        def unsubscribe() -> None:
            if heard in self._listeners:
                self._listeners.remove(heard)

        return unsubscribe

    def reset(self) -> None:
        """End all subscriptions."""
        self._listeners.clear()

    async def emit(self, type: str, data: Mapping[str, Any], author: Author = Author()) -> None:
        """Record an event of the project. Raises `WrongUse`, and records nothing, if it is not what the type says."""
        try:
            event = decode_event(type, 1, msgspec.json.encode(data))
        except JournalTooNew:
            raise NotFound(
                f"there is no event {type!r}; docs/reference/events.md lists them", code="event_not_found"
            ) from None
        except msgspec.ValidationError as error:
            raise WrongUse(f"this is no {type} event: {error}") from error
        draft = Draft(self._clock.now(), event, agent_id=author.name, work_session_id=author.work_session)
        await append_last(self._journal, PROJECT, draft)

    async def _hear(self) -> None:
        """Tell everybody, without end. What a listener does wrong harms no one else."""
        async for entry in self._journal.follow(self._after):
            for pattern, listener in [*self._listeners]:
                if not fnmatchcase(entry.event.type, pattern):
                    continue
                try:
                    listener(entry)
                except Exception:
                    _log.exception("a listener of %r failed", pattern)
