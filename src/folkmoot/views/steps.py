"""The steps of a run as a tree: sessions, and in each what was asked, called, waited for and passed on, with its times.

A fold that takes entries one by one, so that it serves a run that is over and one that is under way alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    AdvisorStarted,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunPruned,
    RunStarted,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAnswered,
    QuestionAsked,
    ToolSettled,
)
from folkmoot.domain.older_entries import bare_failure
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import conversation
from folkmoot.domain.team_events import TeamCompleted, TeamStarted
from folkmoot.views.activity import CALL, Activity
from folkmoot.views.figures import counted, in_one_line
from folkmoot.views.marks import Kind, mark, started_by
from folkmoot.views.step import Step
from folkmoot.views.step_tree import StepTree

_AGENT_TOOL = "agent__"
_STATUS: dict[type[Event], str] = {
    RunCompleted: "completed",
    RunFailed: "failed",
    RunCancelled: "cancelled",
    RunPruned: "pruned",
    RunParked: "waiting",
}
_SessionEnd = SessionCompleted | SessionFailed | SessionCancelled | TeamCompleted


class Steps(StepTree):
    """All steps of one run so far."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        super().__init__()
        self.entries: dict[str, list[int]] = {}
        """Where in the journal the events of each session are."""
        self.position = self.calls = 0
        self.times: dict[int, float] = {}
        """When each entry was written, by its `runSeq`."""
        self.status = self.error = ""
        """How it ended, or `waiting`; empty while it goes on."""
        self.outcome: Outcome | None = None
        """Of the agent that answered in the end."""
        self.waiting: tuple[str, ...] = ()
        """What it was parked for last: names in the inbox, or of a work session that is paused."""
        self.request = self.work_session = self.label = ""
        self.began = ""
        self.activity = Activity()
        self._zero = 0.0
        self._sessions: dict[str, Step] = {}
        self._spans: dict[str, Step] = {}
        """Sessions by where they are."""
        self._open: dict[tuple[str, int, int], Step] = {}
        """Calls by session, turn and position; model requests at position 0, waits by the negative position."""
        self._waits: dict[str, Step] = {}
        self._tried: dict[tuple[str, str, str], int] = {}
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Fold one more entry."""
        draft = entry.draft
        at = datetime.fromisoformat(draft.ts).timestamp()
        if not self.began or isinstance(draft.event, RunForked):
            self.began, self._zero = draft.ts, at - self.now
        self.position, self.run_seq = entry.seq, entry.run_seq
        self.now = max(self.now, at - self._zero)
        self.times[entry.run_seq] = self.now
        self.activity.take(draft, self.now)
        self._run(draft, draft.event)
        self.entries.setdefault(draft.session_id, []).append(entry.seq)
        if touched := self._taken(draft, draft.event):
            for step in (touched, *touched.above()):
                step.changed, step.reach = entry.run_seq, self.now

    def _run(self, draft: Draft, event: Event) -> None:
        self.status = _STATUS.get(type(event), "")
        match event:
            case RunStarted(request=request, errand=errand):
                self.request, self.label = request, errand.label
                self.work_session = draft.work_session_id
            case RunCompleted(outcome=outcome):
                self.outcome = outcome
            case RunFailed(error=error, outcome=outcome):
                self.error, self.outcome = error, outcome
            case RunCancelled(reason=error):
                self.error = error
            case RunParked(waiting=waiting):
                self.waiting = waiting
        if self.over:
            for step in self._chain():  # the answer of the run is theirs
                step.changed = self.run_seq

    def elapsed(self, now: str) -> float:
        """Seconds from its beginning until then; of a fork without those between it and its origin."""
        return max(self.now, datetime.fromisoformat(now).timestamp() - self._zero)

    @property
    def over(self) -> bool:
        return self.status not in ("", "waiting")

    @property
    def held(self) -> tuple[int, float]:
        """Tokens and dollars that are reserved for what is under way."""
        open = [self._open[key].held for key in self.activity.work if key in self._open]
        return sum(tokens for tokens, _ in open), sum(cost for _, cost in open)

    @property
    def chain(self) -> list[str]:
        """The agents that the request went through, by route and handoff."""
        return list(dict.fromkeys(step.agent for step in self._chain()))

    def _chain(self) -> list[Step]:
        return [step for step in self._sessions.values() if step.is_in_chain]

    def answer_of(self, step: Step) -> Outcome | None:
        """The answer of the run, of a session that gave it or passed the request on to who did."""
        return self.outcome if step.contains and step.is_in_chain else None

    @property
    def descendants(self) -> int:
        """Other agents' conversations; one that goes on counts once."""
        return max(0, len({conversation(span) for span in self._spans}) - 1)

    def _taken(self, draft: Draft, event: Event) -> Step | None:
        match event:
            case RunStarted() | AdvisorStarted() | SessionStarted() | TeamStarted():
                return self._session(draft, event)
            case SessionCompleted() | SessionFailed() | SessionCancelled() | TeamCompleted():
                return self._session_ends(draft, event)
            case LlmRequest():
                who, what = f"turn {event.turn}", event.model.partition("/")[2]
                step = self._work(draft, "model", who, what, (event.turn, 0))
                step.attempt, step.held = event.attempt, (event.reserved_tokens, event.reserved_usd)
                return step
            case LlmResponse() | LlmFailed():
                return self._answered(draft, event)
            case ToolStarted() | ToolFinished() | ToolFailed() | ToolInDoubt() | ToolSettled():
                return self._tool(draft, event)
            case _:
                return self._wait(draft, event) or self._mark(draft, event)

    def _home(self, draft: Draft) -> Step | None:
        """The session in which something happened; if that has not begun, the nearest one above."""
        if step := self._sessions.get(draft.session_id):
            return step
        span = draft.span
        while span and span not in self._spans:
            span = span.rpartition("/")[0]
        return self._spans.get(span)

    def _session(
        self, draft: Draft, event: RunStarted | AdvisorStarted | SessionStarted | TeamStarted
    ) -> Step:
        """Also of an agent whose own session begins after those of its advisors: they stand below it nevertheless."""
        step = self._sessions.get(draft.session_id)
        if step is None:
            parent = self._caller(draft, event) or self._home(draft)
            step = self._add(self._step(draft, "session", draft.agent_id), parent)
            self._sessions[draft.session_id] = self._spans[draft.span] = step
            self._begin(step)
        if isinstance(event, AdvisorStarted):
            step.cause, step.kind = "advisor", "advisor"
        if isinstance(event, SessionStarted | TeamStarted):
            caller = self._sessions.get(event.parent)
            step.kind = "team" if isinstance(event, TeamStarted) else "session"
            step.kind = "advisor" if event.cause == "advisor" else step.kind
            step.cause, step.what = event.cause, started_by(event, caller.agent if caller else "")
            if called := CALL.search(draft.span):  # what its call gave is known at its own row
                step.turn, step.call = int(called[1]), int(called[2])
        return step

    def _caller(self, draft: Draft, event: Event) -> Step | None:
        """The call that it came of, if that has a row, or the session that caused it."""
        parent = getattr(event, "parent", "")
        called = CALL.search(draft.span)
        by = self._open.get((parent, int(called[1]), int(called[2]))) if called else None
        return by or self._sessions.get(parent)

    def _session_ends(self, draft: Draft, event: _SessionEnd) -> Step | None:
        step = self._sessions.get(draft.session_id)
        if step is None:
            return None
        if isinstance(event, SessionCancelled):
            failed, error = True, event.reason
        else:
            failed, error = event.outcome.failed, event.outcome.error
        if failed:
            step.what = in_one_line(error) or "failed"
        return self._end(step, "failed" if failed else "done")

    def _answered(self, draft: Draft, event: LlmResponse | LlmFailed) -> Step | None:
        step = self._open.pop((draft.session_id, event.turn, 0), None)
        if step is None:
            return None
        if isinstance(event, LlmFailed):
            step.what = in_one_line(event.error)
            return self._end(step, "failed")
        calls = [call for call in event.message.calls if not call.tool.startswith("agent__final")]
        said = counted(len(calls), "call") if calls else "report" if event.message.calls else "text"
        step.what = f"{step.what} · {said}"
        for each in (step, *step.above()):
            each.tokens += event.usage.tokens_in + event.usage.tokens_out
            each.cost += event.cost_usd
        return self._end(step, "done")

    def _tool(
        self, draft: Draft, event: ToolStarted | ToolFinished | ToolFailed | ToolInDoubt | ToolSettled
    ) -> Step | None:
        key = (draft.session_id, event.turn, event.call)
        if isinstance(event, ToolStarted):
            self.calls += 1
            if event.tool.startswith(_AGENT_TOOL):
                return None  # the session that comes of it is its row
            return self._called(draft, event)
        if isinstance(event, ToolInDoubt | ToolSettled):
            return self._doubted(key, event)
        step = self._open.pop(key, None)
        if step is None and isinstance(event, ToolFinished) and event.tool.startswith(_AGENT_TOOL):
            return self._returned(draft, event)
        if step is None:
            step = self._happen(draft, "tool", _name(event.tool))
            step.turn, step.call = event.turn, event.call
        if isinstance(event, ToolFailed):
            step.what = in_one_line(bare_failure(event.text))
            return self._end(step, "failed")
        step.evidence = event.evidence
        return self._end(step, "done")

    def _called(self, draft: Draft, event: ToolStarted) -> Step:
        what = in_one_line(", ".join(_shown(value) for value in event.arguments.values()), 60)
        step = self._work(draft, "tool", _name(event.tool), what, (event.turn, event.call))
        same = (draft.session_id, event.tool, str(event.arguments))
        step.attempt = self._tried[same] = self._tried.get(same, 0) + 1
        return step

    def _doubted(self, key: tuple[str, int, int], event: ToolInDoubt | ToolSettled) -> Step | None:
        step = self._open.get(key)
        if step is None:
            return None
        in_doubt = isinstance(event, ToolInDoubt)
        step.state, step.what = ("doubt", "may or may not have happened") if in_doubt else ("open", step.what)
        return step

    def _returned(self, draft: Draft, event: ToolFinished) -> Step | None:
        for step in reversed(self._children_of(draft.session_id)):
            if (step.turn, step.call) == (event.turn, event.call) and step.cause:
                step.evidence = event.evidence
                return step
        step = self._happen(draft, "tool", _name(event.tool), "an earlier result, read again")
        step.evidence = event.evidence
        return self._end(step, "done")

    def _children_of(self, session: str) -> list[Step]:
        step = self._sessions.get(session)
        return step.children if step else []

    def _wait(self, draft: Draft, event: Event) -> Step | None:
        match event:
            case ApprovalRequested(id=id, tool=tool):
                step = self._happen(draft, "wait", f"approval · {_name(tool)}", "waits for you")
            case ClientCalled(id=id, tool=tool):
                step = self._happen(draft, "wait", f"caller · {tool}", "waits for its caller")
            case QuestionAsked(id=id, question=question):
                step = self._happen(draft, "wait", "question", in_one_line(question))
            case ApprovalApproved(id=id, by=by):
                return self._decided(id, f"approved by {by or 'you'}")
            case ApprovalDenied(id=id, reason=reason) | ApprovalRevoked(id=id, reason=reason):
                return self._decided(id, f"denied: {reason}" if reason else "denied")
            case ApprovalExpired(id=id, reason=reason):
                return self._decided(id, reason or "nobody decided in time")
            case QuestionAnswered(id=id, by=by) | ClientAnswered(id=id, by=by):
                return self._decided(id, f"answered by {by or 'you'}")
            case _:
                return None
        step.state, step.turn, step.call = "waiting", event.turn, event.call
        self._begin(step)
        self._waits[id] = step
        return step

    def _decided(self, id: str, words: str) -> Step | None:
        if (step := self._waits.pop(id, None)) is None:
            return None
        step.what = in_one_line(words)
        return self._end(step, "done")

    def _mark(self, draft: Draft, event: Event) -> Step | None:
        if (seen := mark(event)) is None:
            return None
        kind, who, what = seen
        step = self._happen(draft, "transfer" if kind == "fail" else kind, who, in_one_line(what))
        return self._end(step, "failed" if kind == "fail" else "done")

    def _work(self, draft: Draft, kind: Kind, who: str, what: str, place: tuple[int, int]) -> Step:
        if (lost := self._open.get((draft.session_id, *place))) and lost.end is None:
            lost.what = "its process was lost; begun again"
            self._end(lost, "failed")
        step = self._happen(draft, kind, who, what)
        step.turn, step.call = place
        self._open[draft.session_id, *place] = step
        self._begin(step)
        return step

    def _happen(self, draft: Draft, kind: Kind, who: str, what: str = "") -> Step:
        return self._add(self._step(draft, kind, who, what), self._home(draft))

    def _step(self, draft: Draft, kind: Kind, who: str, what: str = "") -> Step:
        step = Step(self.run_seq, kind, who, what, draft.ts, self.now)
        step.span, step.session, step.agent = draft.span, draft.session_id, draft.agent_id
        return step


def _name(tool: str) -> str:
    """As agent files write it."""
    return tool.replace("__", ".")


def _shown(value: object) -> str:
    return value if isinstance(value, str) else str(value)
