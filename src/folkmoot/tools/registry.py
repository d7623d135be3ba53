"""What every tool is, and all tools of a project by the names that agent files use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFailed, ToolFinished
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import GROUPS, wire_name
from folkmoot.domain.settings import ToolSource
from folkmoot.errors import DeclarationError, Problem
from folkmoot.ports import Site
from folkmoot.tools.modules import without_own_name


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


class Registry:
    """`look` is one tool; `psp` stands for all tools of the source `psp`, `psp.refund` for one of them."""

    def __init__(self, tools: Iterable[Tool] = (), folder: Path = Path()) -> None:
        self._folder = folder
        self._tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self._on_wire: dict[str, Tool] = {wire_name(name): tool for name, tool in self._tools.items()}
        self._specs: dict[str, ToolSpec] = {}

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def add(self, name: str, tool: Tool) -> None:
        self._tools[name] = tool
        self._on_wire[wire_name(name)] = tool

    def add_source(self, name: str, source: ToolSource, tools: Iterable[Tool]) -> None:
        """What the settings say of a source's effect and access holds for all its tools."""
        for tool in tools:
            known = f"{name}.{tool.name}"
            if wire_name(known) in self._on_wire:
                message = f"two tools are called {wire_name(known)!r} by the model, one of them {known!r}"
                raise DeclarationError(
                    [Problem(file="folkmoot.yaml", message=f"{message}; take one of their sources out")]
                )
            self.add(known, tool.under(source))

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(self._spec(known) for name in names for known in meant(name, self._tools))

    def declared(self) -> dict[str, ToolSpec]:
        """Every tool by its name: what a run is pinned to beside its files."""
        return {name: self._spec(name) for name in self._tools}

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        folder = self._folder / site.work_dir if site.work_dir else self._folder
        if self._leads_out(site.work_dir):
            return ToolResult(f"the working folder {site.work_dir!r} leads out of the project", failed=True)
        return await self._on_wire[call.tool].call(call, site, folder)

    def _leads_out(self, work_dir: str) -> bool:
        """By a link, which a project from elsewhere may bring with it; an absolute folder was trusted by its name."""
        if not work_dir or Path(work_dir).is_absolute():
            return False
        return not (self._folder / work_dir).resolve().is_relative_to(self._folder.resolve())

    def _spec(self, name: str) -> ToolSpec:
        """As a run is pinned to it: what is written and read back is the same to the last token of its size."""
        if name not in self._specs:
            written = msgspec.json.encode(self._tools[name].spec(name))
            self._specs[name] = msgspec.json.decode(without_own_name(written), type=ToolSpec)
        return self._specs[name]


def meant(name: str, known: Iterable[str]) -> list[str]:
    """The tools that a name of an agent file stands for."""
    names = tuple(known)
    if name in GROUPS:
        return [each for each in GROUPS[name] if each in names]
    return [name] if name in names else [each for each in names if each.startswith(f"{name}.")]


class RecordedTools:
    """Tools that give what they gave, from a journal: nothing is really called."""

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        drafts: Sequence[Draft],
        whole: Mapping[str, bytes],
        turn: Callable[[int], Awaitable[None]],
        too_long: int,
    ) -> None:
        """`whole` are the results by artifact that models read only a part of; a result of `too_long` bytes
        stands for one that did not fit into the context, and of which nothing else is known. `turn` returns when it is
        the turn of an entry of the record."""
        self._specs = specs
        self._whole = whole
        self._turn = turn
        self._too_long = too_long
        self._results = {
            (draft.span, draft.event.turn, draft.event.call): (place, draft.event)
            for place, draft in enumerate(drafts)
            if isinstance(draft.event, ToolFinished | ToolFailed)
        }

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(self._specs[known] for name in names for known in meant(name, self._specs))

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        place, event = self._results.get((site.span, site.turn, site.call), (-1, None))
        await self._turn(place)
        match event:
            case ToolFinished():
                whole = self._whole.get(event.artifact)
                text = event.text if whole is None else whole.decode()
                return ToolResult(
                    text=text,
                    parts=event.parts,
                    sources=event.sources,
                    records=event.records,
                    recorded=whole is None,
                )
            case ToolFailed(overflow=True):
                return ToolResult(text="x" * self._too_long, sources=event.sources)
            case ToolFailed():
                return ToolResult(
                    text=event.text, failed=True, sources=event.sources, code=event.code, recorded=True
                )
            case None:
                return ToolResult(text=f"the record holds no result of {site.key}", failed=True)
