"""What a run keeps under an id: who may name it, and what stands behind it."""

from __future__ import annotations

import msgspec

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.events import ArtifactCreated, ToolFinished
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.plan import PlanCreated
from folkmoot.domain.spans import ROOT
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotCreated
from folkmoot.errors import WrongUse
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.runtime_tools import ArtifactRead, read_arguments
from folkmoot.ports import Site


class ArtifactReference(Value):
    id: str
    kind: str
    """`request`, `manifest`, or the tag of the block that it was."""
    source: str = ""
    """The agent that said it."""


def store_artifact(run: Run, inv: Invocation, kind: str, what: object) -> str:
    """Keep a text, or a record as JSON, so that others in this run may read it by its id."""
    readable = what if isinstance(what, str) else as_json(what)
    content = readable.encode()
    artifact = run.keep(content)
    run.log.once(inv.place, ArtifactCreated(artifact=artifact, kind=kind, size=len(content)))
    return artifact


def as_json(record: object) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode()


def store_request_blocks(run: Run, inv: Invocation) -> tuple[ArtifactReference, ...]:
    """The request and what others added to it, each under an id of its own."""
    request = ArtifactReference(store_artifact(run, inv, "request", inv.original), "request")
    added = (
        ArtifactReference(store_artifact(run, inv, block.tag, block.text), block.tag, block.agent)
        for block in inv.blocks
    )
    return (request, *added)


def find_run_artifacts(run: Run) -> dict[str, str]:
    """The artifacts that this run named, with their kinds. Those of other runs are none of its business."""
    found: dict[str, str] = {}
    for draft in run.log.drafts:
        match draft.event:
            case ArtifactCreated(artifact=id, kind=kind):
                found[id] = kind
            case HandoffRequested(artifact_ids=ids):
                found |= dict.fromkeys(ids, "transfer")
            case PlanCreated(artifact=id):
                found[id] = "plan"
            case SnapshotCreated(artifact=id):
                found[id] = "snapshot"
            case ToolFinished(artifact=id) if id:
                found[id] = "result"
    return found


async def read_artifact(run: Run, inv: Invocation, call: ToolCall, site: Site) -> ToolResult:
    """It may hold what any tool of the run gave."""
    read = run.readings.within(ROOT)
    try:
        asked = read_arguments(call.arguments, ArtifactRead)
    except WrongUse as error:
        return ToolResult(text=str(error), failed=True, sources=read)
    text = await _read_artifact_text(run, asked.id)
    if text is None:
        unknown = f"unknown_artifact: there is no {asked.id!r} in this run; use an id that you were given"
        return ToolResult(text=unknown, failed=True, sources=read)
    begin = max(0, asked.offset)
    end = begin + max(1, asked.limit)
    left = len(text) - end
    more = f"\n[{left} more characters; go on with offset {end}]" if left > 0 else ""
    return ToolResult(text=text[begin:end] + more, sources=read)


async def _read_artifact_text(run: Run, id: str) -> str | None:
    if evidence := run.evidence.results.get(id):
        if not evidence.artifact:
            results = (event for event in run.log.of(evidence.span) if isinstance(event, ToolFinished))
            return next(event.text for event in results if event.evidence == id)
        id = evidence.artifact
    if id not in find_run_artifacts(run):
        return None
    return (await run.artifact(id)).decode("utf-8", "replace")
