"""Everything that can happen in every run."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.entry import AgentRole, Cause, Event
from folkmoot.domain.errand import Errand
from folkmoot.domain.message import Access, Code, Effect, Grounds, Message, Records, Usage
from folkmoot.domain.part import Part
from folkmoot.domain.report import Outcome, StopReason
from folkmoot.domain.sources import Sources
from folkmoot.errors import FailureKind

BEHAVIOR = 2
"""The version of prompts, turns and error texts in this release. A run keeps the version it was started with, so that
journals of earlier releases resume and replay as they were recorded."""


class RunStarted(Event):
    """A run begins. All its randomness comes from `seed`, so that a resumed run draws the same."""

    type = "run.started"
    agent: str
    """The root agent's file."""
    request: str
    graph: str
    """The artifact that holds the resolved project this run is pinned to."""
    seed: str
    tools: str = ""
    """The artifact that holds what its tools are, by name; absent in old journals."""
    errand: Errand = Errand()
    behavior: int = 1
    """The version of prompts, turns and error texts that the run keeps; 1 in journals of 0.1.0."""
    origin: str = ""
    """A proof of the installation that started it, which alone continues it; absent in old journals."""


class RunCompleted(Event):
    """The run reached its answer."""

    type = "run.completed"
    outcome: Outcome
    sources: Sources = ()
    """What its sessions have read, as in `tool.finished`: the answer may be based on it."""


class RunFailed(Event):
    """The run ended without an answer; `error` names the stage."""

    type = "run.failed"
    error: str
    stop_reason: StopReason
    outcome: Outcome | None = None
    sources: Sources = ()
    """As in `run.completed`."""
    kind: FailureKind | Literal[""] = ""
    """Why the last model that was asked gave no answer; empty in old journals."""
    reset_after: float = 0.0
    """As in `llm.failed`."""


class CancelRequested(Event):
    """The stop is acknowledged: from here on no model request and no tool call starts."""

    type = "run.cancel_requested"
    reason: str


class RunCancelled(Event):
    """The run was stopped and everything below it has ended."""

    type = "run.cancelled"
    reason: str


class RunParked(Event):
    """The run waits for someone; nobody holds it until then."""

    type = "run.parked"
    waiting: tuple[str, ...]
    until: str = ""
    """When the first of these has waited long enough; empty: none ever has."""


class RunBound(Event):
    """The run has begun to use a working folder, and goes on only where that is."""

    type = "run.bound"
    label: str
    """Of the workers there."""


class RunPruned(Event):
    """What happened in the run was removed to save room. Its chain ends here: `prev` is the run's last hash."""

    type = "run.pruned"
    agent: str
    """The root agent's file."""
    status: str
    """How the run ended."""
    started_at: str
    ended_at: str


class SessionStarted(Event):
    """One agent begins its own conversation."""

    type = "session.started"
    agent: str
    """The agent's file."""
    request: str
    """The whole user message, envelopes included."""
    parent: str = ""
    """The session that caused it."""
    cause: Cause = ""
    title: str = ""
    agent_role: AgentRole = ""
    parts: tuple[Part, ...] = ()
    """The images and documents that go with the request."""
    sources: Sources = ()
    """Where its request came from, as in `tool.finished`."""


class SessionCompleted(Event):
    """The session left through one of its exits."""

    type = "session.completed"
    outcome: Outcome


class SessionFailed(Event):
    """The session ended without an answer of its own; the report is synthetic."""

    type = "session.failed"
    outcome: Outcome


class SessionCancelled(Event):
    """The session was stopped from outside."""

    type = "session.cancelled"
    reason: str


class LlmRequest(Event):
    """A model is about to be asked; what the request may cost at most is reserved."""

    type = "llm.request"
    turn: int
    attempt: int
    model: str
    """`provider/model`."""
    max_output: int
    reserved_tokens: int
    reserved_usd: float = 0.0
    final: bool = False
    """Only the exits are offered."""


class LlmResponse(Event):
    """The model answered."""

    type = "llm.response"
    turn: int
    attempt: int
    model: str
    message: Message
    usage: Usage
    cost_usd: float = 0.0
    stop: str = ""
    latency_ms: int = 0
    guessed: bool = False
    """The provider did not count the tokens; they were estimated, so that no answer is free by omission."""


class LlmFailed(Event):
    """The attempt gave no answer; another attempt may follow in the same turn."""

    type = "llm.failed"
    turn: int
    attempt: int
    model: str
    error: str
    retryable: bool
    retry_after: float | None = None
    latency_ms: int = 0
    status: int = 0
    """Of HTTP, where the provider answered with one; 0 in old journals."""
    kind: FailureKind | Literal[""] = ""
    """Empty in old journals."""
    reset_after: float = 0.0
    """Seconds after which the provider says in its own words that it can be asked again."""


class ToolStarted(Event):
    """A tool call was let through and is about to be made."""

    type = "tool.started"
    turn: int
    call: int
    """Position in the model's answer: the call's name."""
    tool: str
    arguments: dict[str, Any]
    effect: Effect
    access: Access
    key: str
    """The idempotency key handed to the tool: run, span and call."""
    decision: str
    """Why the gate let it through."""
    plan_id: str = ""
    """The plan that it carries out, under contract."""
    grounds: Grounds = ""
    """The same as `decision` in one word; empty in old journals."""


class ToolFinished(Event):
    """The tool gave a result."""

    type = "tool.finished"
    turn: int
    call: int
    tool: str
    text: str
    """What the model reads."""
    evidence: str
    """The id of this result, minted by the runtime."""
    artifact: str = ""
    """The whole text, when the model reads only a part of it."""
    latency_ms: int = 0
    parts: tuple[Part, ...] = ()
    """Images that the model sees beside the text, if it can."""
    sources: Sources = ()
    """Where its text came from, if nobody vouches for it or it must not get out."""
    records: Records | None = None
    """How the task that the call has changed stands, or the plans that it told of; absent in old journals."""


class ToolFailed(Event):
    """The call was refused or gave no result; the model reads why."""

    type = "tool.failed"
    turn: int
    call: int
    tool: str
    text: str
    overflow: bool = False
    """The result did not fit into the model's context; the next turn is the last."""
    broke_schema: bool = False
    """The call was a report that does not fit the schema its agent declares."""
    latency_ms: int = 0
    code: Code = ""
    """Which stage of the gate refused the call; empty if it was made, or in old journals."""
    limit: str = ""
    """With `budget`, the limit that the call would have broken; empty in old journals."""
    sources: Sources = ()
    """As in `tool.finished`."""


class ToolInDoubt(Event):
    """A `once` call was under way when its process died; only a person can say what became of it."""

    type = "tool.in_doubt"
    turn: int
    call: int
    tool: str
    id: str = ""
    """Its name in the inbox; empty in old journals, where the call's key stands for it."""
    retry_after: float = 0.0
    """Seconds for which nobody can have it made again: its former process may still do so. None in old journals."""


READING = (SessionStarted, ToolFinished, ToolFailed)
"""Events that say what a session has read."""


class ArtifactCreated(Event):
    """Content was kept outside the events."""

    type = "artifact.created"
    artifact: str
    kind: str
    size: int


class BudgetExceeded(Event):
    """A limit stopped something before it was sent."""

    type = "budget.exceeded"
    limit: str
    """Such as `requests 5` of `front-desk`."""


class SystemError(Event):
    """Something broke that no agent and no user caused."""

    type = "system.error"
    error: str


RUN_ENDS = (RunCompleted, RunFailed, RunCancelled, RunPruned)
"""After one of these nothing happens in a run any more, but that it is pruned."""


SESSION_ENDS = (SessionCompleted, SessionFailed, SessionCancelled)


ADOPTIONS = "adoptions"
"""The stream of `RunAdopted`."""


class RunForked(Event):
    """Everything before this was taken over from another run; from here on this run goes its own way."""

    type = "run.forked"
    source: str
    """The run it was taken from."""
    at: int
    """The last entry of that run which was taken over, by its `runSeq`."""
    changes: tuple[str, ...] = ()
    """What is different, in words."""
    traceparent: str = ""
    """What that run belonged to; this one is a trace of its own."""


class RunRepinned(Event):
    """Somebody wanted the run to go on with the files as they are now."""

    type = "run.repinned"
    graph: str
    """The artifact that holds the resolved project from here on."""
    tools: str = ""
    """The artifact that holds what its tools are."""
    changed: tuple[str, ...] = ()
    """The agent files that are not as they were."""


class RunAdopted(Event):
    """A person lets a run continue here that another installation started. It stands in a stream of its own."""

    type = "journal.adopted"
    run: str
    proof: str
    """Made with the secret of the installation that adopted it."""
