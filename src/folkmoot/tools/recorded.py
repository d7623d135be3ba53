"""Tools that give what they gave, from a journal: nothing is really called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFailed, ToolFinished
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.ports import Site
from folkmoot.tools.registry import meant

Turn = Callable[[int], Awaitable[None]]
"""Return when it is the turn of this entry of the record."""


class RecordedTools:
    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        drafts: Sequence[Draft],
        whole: Mapping[str, bytes],
        turn: Turn,
        too_long: int,
    ) -> None:
        """`whole` are the results by artifact that models read only a part of; a result of `too_long` bytes
        stands for one that did not fit into the context, and of which nothing else is known."""
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
