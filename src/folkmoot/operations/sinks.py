"""Operations on sinks: where events are sent on to, and how far each of these places is."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from folkmoot.engine.sinking import count_lag, move_sink, read_sink_state
from folkmoot.errors import NotFound
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling
from folkmoot.operations.project import OpenProject


class SinkRow(msgspec.Struct):
    id: str
    name: str
    """The same."""
    status: str
    """`ok`, or `failing`."""
    kind: str
    position: int
    """Up to this entry it has taken everything."""
    lag: int
    """So many events wait for it."""
    error: str | None


class ListSinks(Operation[list[SinkRow]]):
    """List the sinks of folkmoot.yaml: how far each is, how many events wait for it, and what is wrong with it."""

    command = "list"
    examples = ("folkmoot sinks list", "folkmoot sinks list --json")
    http = Http(method="GET", path="/sinks", pages="")
    reads = True
    reads_files = True

    async def run(self, project: OpenProject, actor: Actor) -> list[SinkRow]:
        journal, rows = project.journal, []
        for name, sink in project.graph.settings.sinks.items():
            at = await read_sink_state(journal, name)
            left, status = await count_lag(journal, sink, at), "failing" if at.failed else "ok"
            rows.append(SinkRow(name, name, status, sink.kind, at.seq, left, at.failed or None))
        return rows


class SinkPlace(msgspec.Struct):
    id: str
    position: int
    """It goes on after this entry."""


class MoveSink(Operation[SinkPlace]):
    """Let a sink go on from another place: to send everything again, or to leave out what lies behind.

    To write a file anew, remove it first.
    """

    command = "move"
    examples = ("folkmoot sinks move log --to start", "folkmoot sinks move chat --to end")
    http = Http(method="POST", path="/sinks/{id}/move", problems=(409,), by=False)
    subject = "id"
    reads_files = True
    needs_runs = True
    id: Annotated[str, Spelling(terminal="SINK", http=False, help="As `list` shows it.")]
    to: Annotated[
        Annotated[int, Meta(ge=0, le=2**53 - 1)] | Literal["start", "end"], Spelling(metavar="start|end|SEQ")
    ]
    """The entry after which it goes on: the beginning, the end, or its `seq`."""

    async def run(self, project: OpenProject, actor: Actor) -> SinkPlace:
        if self.id not in (known := project.graph.settings.sinks):
            raise NotFound(
                f"there is no sink {self.id!r}; there are {', '.join(known) or 'none'}", code="sink_not_found"
            )
        return SinkPlace(self.id, await move_sink(project.journal, project.clock, self.id, self.to))


OPERATIONS: tuple[OperationType, ...] = (ListSinks, MoveSink)
