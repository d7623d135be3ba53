"""The project as this server has it open: whether all is well, its files and settings, its journal and artifacts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from folkmoot import __version__
from folkmoot.contract.folds import Fault, Guarantee
from folkmoot.contract.verify import verify
from folkmoot.domain.part import media_of
from folkmoot.domain.run_row import OPEN_STATUSES
from folkmoot.engine.admission import build_agent_summary
from folkmoot.engine.runs import find_run, list_runs
from folkmoot.errors import NotFound, Problem
from folkmoot.http.endpoint import ApiRequest, Endpoint
from folkmoot.journal.codec import to_line
from folkmoot.loader.options import Setting
from folkmoot.operations.actor import by_account
from folkmoot.operations.agents import AgentState, AgentSummary, ShowTeam
from folkmoot.ports import Journal, Query, RunQuery, Stored
from folkmoot.views.graph import mermaid

T = TypeVar("T")
_AT_ONCE = 100
_LINES = "application/x-ndjson"
_HASH = 64
_UNKNOWN = "application/octet-stream"
_ENDINGS = {
    "application/json": "json",
    "text/plain": "txt",
    "application/pdf": "pdf",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    _UNKNOWN: "bin",
}


class HealthStatus(msgspec.Struct):
    ok: bool


class Status(msgspec.Struct, rename="camel"):
    version: str
    project: str
    position: int
    """Of the last entry of the journal."""
    agents: list[AgentState]
    runs: dict[str, int]
    """How many there are, by status."""
    work_sessions: dict[str, int]
    waiting: int
    """How many things wait for someone."""
    refused: dict[str, int]
    """How often something was not let in since the server started, by kind."""


class GraphEdge(msgspec.Struct):
    source: str
    target: str
    pattern: str


class GraphDocument(msgspec.Struct):
    nodes: list[AgentSummary]
    edges: list[GraphEdge]
    """By the files of the agents."""
    mermaid: str
    problems: list[Problem]
    """What is wrong in the files as they are now; the server goes on with those that it began with."""


class GuaranteeCheck(msgspec.Struct):
    title: str
    checked: str
    """What was looked at."""
    faults: int


class VerdictDocument(msgspec.Struct, rename="camel"):
    holds: bool
    checked: dict[Guarantee, GuaranteeCheck]
    entries: int
    runs: int
    state_hash: str | None
    faults: list[Fault]


async def health(asked: ApiRequest) -> HealthStatus:
    return HealthStatus(ok=True)


async def status(asked: ApiRequest) -> Status:
    moot = asked.moot
    team = ShowTeam()
    members = await team.run(asked.house.project, by_account("http"))
    return Status(
        version=__version__,
        project=moot.folder.resolve().name,
        position=await moot.position(),
        agents=team.document(members).agents,
        runs=await _count_runs(moot.moot.journal),
        work_sessions=(await asked.house.folds.now()).work.statuses(asked.desks.clock.now()),
        waiting=len(await moot.inbox(status="open")),
        refused=dict(asked.house.refusals.counts),
    )


async def _count_runs(journal: Journal) -> dict[str, int]:
    counts = Counter(dict(await journal.group_runs(RunQuery(), ("status",))))
    for each in OPEN_STATUSES:
        counts.pop(each, None)
    counts.update(row.status for row in await list_runs(journal, RunQuery(statuses=OPEN_STATUSES)))
    return counts


async def show_graph(asked: ApiRequest) -> GraphDocument:
    graph = asked.moot.graph
    nodes = [
        msgspec.convert(build_agent_summary(graph, agent), AgentSummary) for agent in graph.agents.values()
    ]
    edges = [GraphEdge(file, to, how) for file, agent in graph.agents.items() for how, to in agent.edges]
    return GraphDocument(nodes, edges, mermaid(graph), await list_problems(asked))


async def list_problems(asked: ApiRequest) -> list[Problem]:
    return list((await asked.house.files_now()).problems)


async def list_settings(asked: ApiRequest) -> list[Setting]:
    """Those that this server was started with; the first source that says something holds."""
    written = asked.moot.secrets.content(msgspec.json.encode(asked.moot.settings))
    return msgspec.json.decode(written, type=list[Setting])


async def _iterate_with_pauses(read: AsyncIterator[T]) -> AsyncIterator[T]:
    """A long read in which everybody else gets a turn."""
    left = _AT_ONCE
    async for each in read:
        yield each
        left -= 1
        if not left:
            left = _AT_ONCE
            await asyncio.sleep(0)


@dataclass(frozen=True)
class _YieldingJournal:
    """A journal that is read beside all else that the server does."""

    journal: Journal

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        return _iterate_with_pauses(self.journal.stored(query))

    async def artifact(self, id: str) -> bytes:
        return await self.journal.artifact(id)


async def verify_journal(asked: ApiRequest) -> dict[str, Any]:
    """The guarantees C1 to C7 on all that is recorded; nothing is run. A long journal takes its time."""
    return (await verify(_YieldingJournal(asked.desks.journal), await _resolve_run_id(asked))).to_json()


async def export_journal(asked: ApiRequest) -> Response:
    """Every event as one line of JSON, in order, with the hashes that chain them, as `folkmoot log export`
    writes it."""
    run, journal = await _resolve_run_id(asked), asked.desks.journal

    async def lines() -> AsyncIterator[bytes]:
        async for entry in _iterate_with_pauses(journal.read(Query(stream=run))):
            yield to_line(entry)

    named = f'attachment; filename="{run or "journal"}.ndjson"'
    return StreamingResponse(lines(), 200, {"content-disposition": named}, _LINES)


async def _resolve_run_id(asked: ApiRequest) -> str:
    """The run that is meant; empty: all there is."""
    return (await find_run(asked.desks.journal, asked.id)).run_id if asked.path else ""


async def show_artifact(asked: ApiRequest) -> Response:
    """As what its content shows that it is; always to be saved, never to be run."""
    missing = NotFound(f"there is no artifact {asked.id!r}", code="artifact_not_found")
    if len(asked.id) != _HASH or not asked.id.isalnum():
        raise missing
    try:
        content = await asked.desks.journal.artifact(asked.id)
    except KeyError:
        raise missing from None
    media = "application/json" if _is_json(content) else media_of(content) or _UNKNOWN
    headers = {
        "content-disposition": f'attachment; filename="{asked.id[:16]}.{_ENDINGS[media]}"',
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(content, 200, headers, media_type=media)


def _is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _make_get_endpoint(
    path: str,
    summary: str,
    handle: Any,
    answer: Any = Any,
    name: str = "",
    media: tuple[str, ...] = ("application/json",),
) -> Endpoint:
    return Endpoint(
        method="GET", path=path, summary=summary, handle=handle, answer=answer, name=name, media=media
    )


OPERATIONS = (
    _make_get_endpoint("/health", "Whether it answers", health, HealthStatus),
    _make_get_endpoint(
        "/status", "What it is, what agents and work sessions do, and where the journal ends", status, Status
    ),
    _make_get_endpoint("/graph", "Which agents work with which, and how", show_graph, GraphDocument),
    _make_get_endpoint(
        "/problems", "What is wrong in the files of the project", list_problems, list[Problem]
    ),
    _make_get_endpoint("/settings", "Each setting with its source", list_settings, list[Setting]),
    _make_get_endpoint("/verify", "Whether the journal keeps every promise", verify_journal, VerdictDocument),
    _make_get_endpoint(
        "/runs/{id}/verify",
        "Whether what is recorded of a run keeps every promise",
        verify_journal,
        VerdictDocument,
        "verifyRun",
    ),
    _make_get_endpoint("/log", "The whole journal, one line for each event", export_journal, media=(_LINES,)),
    _make_get_endpoint(
        "/runs/{id}/log", "One run, one line for each event", export_journal, Any, "exportRun", (_LINES,)
    ),
    _make_get_endpoint("/artifacts/{id}", "Content by its hash", show_artifact, media=tuple(_ENDINGS)),
)
