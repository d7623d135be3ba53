"""What happened in a run as spans: one for each agent that ran, each request to a model and each call of a tool. Pure.

A span is told once, when it has ended. The names of everything, and so their ids, follow from the journal alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec import UNSET

from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunForked,
    RunStarted,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.report import BROADCAST
from folkmoot.domain.spans import call_place
from folkmoot.domain.team_events import TeamBroadcast, TeamCompleted, TeamStarted
from folkmoot.domain.trace import attempt_name, call_name, parent_id, span_id, trace_id
from folkmoot.sinks import genai

Operation = Literal["invoke_agent", "chat", "execute_tool"]
INTERRUPTED = "interrupted"
"""The `error.type` of what was under way when all around it ended."""


@dataclass
class Span:
    name: str
    """Of which its id is made."""
    run: str
    operation: Operation
    subject: str
    """The agent, the model or the tool."""
    started: str
    ended: str = ""
    parent: str = ""
    """The name of the span around it; empty for the run itself."""
    attributes: genai.Attributes = field(default_factory=dict)
    error: str = ""
    """Its `error.type`; empty if all went well."""
    seconds: float | None = None
    """How long it took by a clock that nobody sets, where that is known."""
    source: str = ""
    """The run that this one was forked from."""
    asked: int = 0
    """The `runSeq` of a request to a model: where its prompt can be made again."""
    within: str = ""
    """The `traceparent` of whoever asked for the run."""
    source_within: str = ""
    """The `traceparent` of whoever asked for the source."""

    @property
    def trace_id(self) -> str:
        return trace_id(self.run, self.within)

    @property
    def id(self) -> str:
        return span_id(self.name)

    @property
    def parent_id(self) -> str:
        return span_id(self.parent) if self.parent else parent_id(self.within)


class Trace:
    """The spans of one run, as its entries come in. What is under way is all that it keeps."""

    def __init__(self, run: str, *, forked: int = 0, content: bool = False) -> None:
        """`forked`: up to this `runSeq` it is another run's past, which that one has told."""
        self.run = run
        self.seq = 0
        """Of the last entry that it took."""
        self.over = False
        self._forked = forked
        self._content = content
        self._open: dict[str, Span] = {}
        self._ended: list[Span] = []
        """By the last entry."""
        self._within = ""
        """The `traceparent` of whoever asked for the run."""
        self._early: dict[str, str] = {}
        """When the first advisor of a session began, which itself has not begun yet."""

    def take(self, entry: Entry) -> list[Span]:
        """The spans that ended with this entry."""
        self.seq, self._ended = entry.seq, []
        if not self.over and entry.draft.session_id:
            self._apply(entry.draft, entry.event, entry.run_seq)
        return self._ended if entry.run_seq > self._forked else []

    def _apply(self, draft: Draft, event: Event, at: int) -> None:
        match event:
            case RunStarted() | SessionStarted() | TeamStarted():
                self._begin_session(draft, event)
            case RunForked():
                self._fork(draft, event)
            case SessionCompleted() | SessionFailed() | SessionCancelled() | TeamCompleted():
                self._end_session(draft, event)
            case RunCompleted() | RunFailed() | RunCancelled():
                self._end_run(draft, event)
            case LlmRequest():
                self._ask(draft, event, at)
            case LlmResponse() | LlmFailed():
                self._answer(draft, event)
            case ToolStarted() | ToolFinished() | ToolFailed():
                self._call(draft, event)
            case TeamBroadcast(kind="update", message=message):
                name = f"{draft.session_id}/broadcast:{event.order}"
                told = genai.arguments({"message": message}) if self._content else {}
                self._begin(draft, name, "execute_tool", BROADCAST, genai.tool(draft, BROADCAST, name) | told)
                self._end(name, draft.ts, "")

    def _begin(
        self, draft: Draft, name: str, operation: Operation, subject: str, attributes: genai.Attributes
    ) -> Span:
        span = self._open[name] = Span(name, self.run, operation, subject, draft.ts, attributes=attributes)
        span.parent, span.within = draft.session_id, self._within
        return span

    def _begin_session(self, draft: Draft, event: RunStarted | SessionStarted | TeamStarted) -> None:
        """The root begins with the run; of its own session only what it was asked is new."""
        name, cause, parent = draft.session_id, "", ""
        asked = {} if isinstance(event, TeamStarted) or not self._content else genai.request(event.request)
        if isinstance(event, RunStarted):
            self._within = event.errand.traceparent
        else:
            cause, parent = event.cause, self._around(draft, event.parent)
        if name in self._open:
            self._add(name, asked)
            return
        if cause == "advisor" and parent not in self._open:
            self._early.setdefault(parent, draft.ts)
        attributes = genai.agent(draft, self.run, cause) | asked
        span = self._begin(draft, name, "invoke_agent", draft.agent_id, attributes)
        span.started, span.parent = self._early.pop(name, draft.ts), parent

    def _around(self, draft: Draft, parent: str) -> str:
        """The call that it came of, or the session that caused it."""
        called = call_place(draft.span)
        call = call_name(parent, called.turn, called.call) if called else ""
        return call if call in self._open else parent or self.run

    def _fork(self, draft: Draft, event: RunForked) -> None:
        """What is under way began before, in another run; here it begins now."""
        for span in self._open.values():
            span.started = draft.ts
        if root := self._open.get(self.run):
            root.source, root.source_within = event.source, event.traceparent
        self._early = dict.fromkeys(self._early, draft.ts)

    def _ask(self, draft: Draft, event: LlmRequest, at: int) -> None:
        """A request that comes again after a crash is the same one, and is not told twice."""
        name = attempt_name(draft.session_id, event.turn, event.attempt)
        model = genai.model(draft, event)
        self._begin(draft, name, "chat", model[genai.MODEL], model).asked = at
        self._add(draft.session_id, {genai.PROVIDER: model[genai.PROVIDER], genai.MODEL: model[genai.MODEL]})

    def _answer(self, draft: Draft, event: LlmResponse | LlmFailed) -> None:
        name = attempt_name(draft.session_id, event.turn, event.attempt)
        if span := self._open.get(name):
            span.seconds = event.latency_ms / 1_000
        if isinstance(event, LlmResponse):
            self._add(name, genai.answer(event) | (genai.output(event.message) if self._content else {}))
        self._end(name, draft.ts, genai.failure(event) if isinstance(event, LlmFailed) else "")

    def _call(self, draft: Draft, event: ToolStarted | ToolFinished | ToolFailed) -> None:
        name = call_name(draft.session_id, event.turn, event.call)
        if name not in self._open:  # a call that comes again after a crash is the same one
            arguments = getattr(event, "arguments", UNSET) if self._content else UNSET
            attributes = genai.tool(draft, event.tool, name) | genai.arguments(arguments)
            self._begin(draft, name, "execute_tool", event.tool, attributes)
        if not isinstance(event, ToolStarted):
            self._add(name, genai.result(event.text) if self._content else {})
            self._end(name, draft.ts, event.code or genai.OTHER if isinstance(event, ToolFailed) else "")

    def _end_session(
        self, draft: Draft, event: SessionCompleted | SessionFailed | SessionCancelled | TeamCompleted
    ) -> None:
        """The root's own conversation may be over long before the run is."""
        name, error = draft.session_id, "CANCELLED"
        if not isinstance(event, SessionCancelled):
            error = event.outcome.stop_reason if event.outcome.failed else ""
            self._add(name, genai.report(event.outcome.report) if self._content else {})
        self._interrupt(f"{name}/", draft.ts, error)
        if name != self.run:
            self._end(name, draft.ts, error)

    def _end_run(self, draft: Draft, event: RunCompleted | RunFailed | RunCancelled) -> None:
        self.over = True
        error = "CANCELLED" if isinstance(event, RunCancelled) else ""
        if isinstance(event, RunFailed):
            error = event.stop_reason
        elif isinstance(event, RunCompleted) and self._content:
            self._add(self.run, genai.report(event.outcome.report))
        self._interrupt("", draft.ts, error)
        self._end(self.run, draft.ts, error)

    def _interrupt(self, prefix: str, ts: str, error: str) -> None:
        """End what is under way below a session; the run itself ends last."""
        for name in [name for name in self._open if name.startswith(prefix) and name != self.run]:
            self._end(name, ts, error or INTERRUPTED)

    def _add(self, name: str, attributes: genai.Attributes) -> None:
        if span := self._open.get(name):
            span.attributes |= attributes

    def _end(self, name: str, ts: str, error: str) -> None:
        if span := self._open.pop(name, None):
            span.ended, span.error = max(ts, span.started), error
            self._ended.append(span)
