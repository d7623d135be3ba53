"""What happened in a run as spans: one for each agent that ran, each request to a model and each call of a tool. Pure.

A span is told once, when it has ended. The names of everything, and so their ids, follow from the journal alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.report import BROADCAST
from folkmoot.domain.spans import call_place
from folkmoot.domain.team_events import TeamBroadcast, TeamCompleted, TeamStarted
from folkmoot.domain.trace import attempt_name, call_name
from folkmoot.sinks import genai
from folkmoot.sinks.span import INTERRUPTED, Span


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
        self._within = ""
        """The `traceparent` of whoever asked for the run."""
        self._early: dict[str, str] = {}
        """When the first advisor of a session began, which itself has not begun yet."""

    def take(self, entry: Entry) -> list[Span]:
        """The spans that ended with this entry."""
        draft = entry.draft
        ended = [] if self.over or not draft.session_id else self._taken(draft, draft.event, entry.run_seq)
        self.seq = entry.seq
        told = ended if entry.run_seq > self._forked else []
        return [replace(span, within=self._within) for span in told]

    def _taken(self, draft: Draft, event: Event, at: int) -> list[Span]:
        match event:
            case RunStarted() | SessionStarted() | TeamStarted():
                return self._begins(draft, event)
            case RunForked():
                return self._forks(draft, event)
            case SessionCompleted() | SessionFailed() | SessionCancelled() | TeamCompleted():
                return self._session_ends(draft, event)
            case RunCompleted() | RunFailed() | RunCancelled():
                return self._run_ends(draft, event)
            case LlmRequest():
                return self._asks(draft, event, at)
            case _:
                return self._works(draft, event)

    def _works(self, draft: Draft, event: Event) -> list[Span]:
        match event:
            case LlmResponse() | LlmFailed():
                return self._answered(draft, event)
            case ToolStarted() | ToolFinished() | ToolFailed():
                return self._calls(draft, event)
            case TeamBroadcast(kind="update"):
                return self._speaks(draft, event)
            case _:
                return []

    def _begins(self, draft: Draft, event: RunStarted | SessionStarted | TeamStarted) -> list[Span]:
        """The root begins with the run; of its own session only what it was asked is new."""
        name = draft.session_id
        if isinstance(event, RunStarted):
            self._within = event.errand.traceparent
        cause = "" if isinstance(event, RunStarted) else event.cause
        asked = {} if isinstance(event, TeamStarted) or not self._content else genai.request(event.request)
        if name in self._open:
            self._add(name, asked)
            return []
        parent = "" if isinstance(event, RunStarted) else self._around(draft, event.parent)
        if cause == "advisor" and parent not in self._open:
            self._early.setdefault(parent, draft.ts)
        started = self._early.pop(name, draft.ts)
        attributes = genai.agent(draft, self.run, cause) | asked
        self._open[name] = Span(
            name, self.run, "invoke_agent", draft.agent_id, started, parent=parent, attributes=attributes
        )
        return []

    def _around(self, draft: Draft, parent: str) -> str:
        """The call that it came of, or the session that caused it."""
        called = call_place(draft.span)
        call = call_name(parent, called.turn, called.call) if called else ""
        return call if call in self._open else parent or self.run

    def _forks(self, draft: Draft, event: RunForked) -> list[Span]:
        """What is under way began before, in another run; here it begins now."""
        for name, span in self._open.items():
            source = (event.source, event.traceparent) if name == self.run else ("", "")
            self._open[name] = replace(span, started=draft.ts, source=source[0], source_within=source[1])
        self._early = dict.fromkeys(self._early, draft.ts)
        return []

    def _asks(self, draft: Draft, event: LlmRequest, at: int) -> list[Span]:
        """A request that comes again after a crash is the same one, and is not told twice."""
        name = attempt_name(draft.session_id, event.turn, event.attempt)
        model = genai.model(draft, event)
        self._open[name] = Span(
            name, self.run, "chat", model[genai.MODEL], draft.ts, "", draft.session_id, model, asked=at
        )
        self._add(draft.session_id, {genai.PROVIDER: model[genai.PROVIDER], genai.MODEL: model[genai.MODEL]})
        return []

    def _answered(self, draft: Draft, event: LlmResponse | LlmFailed) -> list[Span]:
        name = attempt_name(draft.session_id, event.turn, event.attempt)
        if name not in self._open:
            return []
        error = ""
        if isinstance(event, LlmFailed):
            error = genai.failure(event)
        else:
            self._add(name, genai.answer(event) | (genai.output(event.message) if self._content else {}))
        return [replace(self._end(name, draft.ts, error), seconds=event.latency_ms / 1_000)]

    def _calls(self, draft: Draft, event: ToolStarted | ToolFinished | ToolFailed) -> list[Span]:
        name = call_name(draft.session_id, event.turn, event.call)
        if name not in self._open:  # a call that comes again after a crash is the same one
            arguments = getattr(event, "arguments", UNSET) if self._content else UNSET
            attributes = genai.tool(draft, event.tool, name) | genai.arguments(arguments)
            self._open[name] = Span(
                name, self.run, "execute_tool", event.tool, draft.ts, "", draft.session_id, attributes
            )
        if isinstance(event, ToolStarted):
            return []
        self._add(name, genai.result(event.text) if self._content else {})
        error = event.code or genai.OTHER if isinstance(event, ToolFailed) else ""
        return [self._end(name, draft.ts, error)]

    def _speaks(self, draft: Draft, event: TeamBroadcast) -> list[Span]:
        name = f"{draft.session_id}/broadcast:{event.order}"
        attributes = genai.tool(draft, BROADCAST, name)
        if self._content:
            attributes |= genai.arguments({"message": event.message})
        return [
            Span(name, self.run, "execute_tool", BROADCAST, draft.ts, draft.ts, draft.session_id, attributes)
        ]

    def _session_ends(
        self, draft: Draft, event: SessionCompleted | SessionFailed | SessionCancelled | TeamCompleted
    ) -> list[Span]:
        """The root's own conversation may be over long before the run is."""
        name = draft.session_id
        if isinstance(event, SessionCancelled):
            error = "CANCELLED"
        else:
            error = event.outcome.stop_reason if event.outcome.failed else ""
            self._add(name, genai.report(event.outcome.report) if self._content else {})
        left = self._left_below(f"{name}/", draft.ts, error)
        ends = name != self.run and name in self._open
        return [*left, *([self._end(name, draft.ts, error)] if ends else [])]

    def _run_ends(self, draft: Draft, event: RunCompleted | RunFailed | RunCancelled) -> list[Span]:
        self.over = True
        error = ""
        if isinstance(event, RunFailed):
            error = event.stop_reason
        elif isinstance(event, RunCancelled):
            error = "CANCELLED"
        elif self._content:
            self._add(self.run, genai.report(event.outcome.report))
        root = [self._end(self.run, draft.ts, error)] if self.run in self._open else []  # it may be pruned
        return [*self._left_below("", draft.ts, error), *root]

    def _left_below(self, prefix: str, ts: str, error: str) -> list[Span]:
        names = [name for name in self._open if name.startswith(prefix)]
        return [self._end(name, ts, error or INTERRUPTED) for name in names]

    def _add(self, name: str, attributes: Mapping[str, Any]) -> None:
        if attributes and (span := self._open.get(name)):
            self._open[name] = replace(span, attributes={**span.attributes, **attributes})

    def _end(self, name: str, ts: str, error: str) -> Span:
        span = self._open.pop(name)
        return replace(span, ended=max(ts, span.started), error=error)
