"""The tree of a run: one fold over its events, behind the page, the terminal, the API and comparisons.

It takes events one by one, so it serves a run that is over and one that is under way alike. It keeps no texts: whoever
shows what was asked and answered looks it up by the `runSeq` of a step's first and last entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from folkmoot.domain.call_events import AdvisorStarted
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunForked,
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
from folkmoot.domain.inbox_events import ToolSettled
from folkmoot.domain.older_entries import bare_failure
from folkmoot.domain.spans import call_place
from folkmoot.domain.team_events import TeamBroadcast, TeamCancelled, TeamCompleted, TeamStarted
from folkmoot.domain.text import one_line
from folkmoot.views.activity import Key
from folkmoot.views.figures import counted
from folkmoot.views.run_nodes import State, Step, TreeState, answer_to, instant, nearest, started_by, wait_for
from folkmoot.views.sessions import Status

_AGENT_TOOL = "agent__"
_WIDTH = 80
"""Characters of what a row says."""
STATUS: dict[type[Event], str] = {
    RunCompleted: "completed",
    RunFailed: "failed",
    RunCancelled: "cancelled",
    RunPruned: "pruned",
    RunParked: "waiting",
}
"""What a run is after its last event; it goes on after any other."""
_Start = RunStarted | AdvisorStarted | SessionStarted | TeamStarted
_SessionEnd = SessionCompleted | SessionFailed | SessionCancelled | TeamCompleted
_ToolEvent = ToolStarted | ToolFinished | ToolFailed | ToolInDoubt | ToolSettled


class RunTree(TreeState):
    """All of one run so far: steps below the sessions they belong to, and the agents with what each does now."""

    def __init__(self, drafts: Iterable[Draft] = ()) -> None:
        super().__init__()
        for draft in drafts:
            self.apply(draft)

    def apply_entry(self, entry: Entry) -> None:
        self.position = entry.seq
        event, session = entry.event, entry.draft.session_id
        place = (getattr(event, "turn", 0), getattr(event, "call", 0))
        for step in {self.apply(entry.draft, entry.run_seq), self._open.get((session, *place))}:
            if step and step.session == session:
                step.entries.append(entry.seq)

    def apply(self, draft: Draft, run_seq: int = 0) -> Step | None:
        """Fold one more event, without its `runSeq` as the next one; the step that it is about."""
        at = datetime.fromisoformat(draft.ts).timestamp()
        if not self.began or isinstance(draft.event, RunForked):
            self.began, self._zero = draft.ts, at - self.now
        self.run_seq = run_seq or self.run_seq + 1
        self.now = max(self.now, at - self._zero)
        self.times[self.run_seq] = self.now
        self.activity.take(draft, self.now)
        self._run(draft, draft.event)
        if draft.span:
            self._branch(draft).apply(draft)
        if touched := self._apply(draft, draft.event):
            self._touched.append((self.run_seq, touched))
            for step in (touched, *touched.above()):
                step.changed, step.reach = self.run_seq, self.now
        return touched

    def _run(self, draft: Draft, event: Event) -> None:
        self.status = STATUS.get(type(event), "")
        match event:
            case RunStarted(request=request, errand=errand):
                self.request, self.label = request, errand.label
                self.work_session = draft.work_session_id
            case RunCompleted(outcome=outcome):
                self.outcome = outcome
            case RunFailed(error=error, outcome=outcome):
                self.error, self.outcome = error, outcome
                self._stop("failed", draft.ts)
            case RunCancelled(reason=error):
                self.error = error
                self._stop("cancelled", draft.ts)
            case RunParked(waiting=waiting):
                self.waiting = waiting
        if self.over:
            for step in self._chain():  # the answer of the run is theirs
                step.changed = self.run_seq
                self._touched.append((self.run_seq, step))

    def _stop(self, status: Status, ts: str) -> None:
        """A root that was stopped before its own session began gets no end of its own."""
        for branch in self._branches.values():
            if not branch.ended_at:
                branch.finish(status, ts, self.error)

    def _apply(self, draft: Draft, event: Event) -> Step | None:
        match event:
            case RunStarted() | AdvisorStarted() | SessionStarted() | TeamStarted():
                return self._session(draft, event)
            case SessionCompleted() | SessionFailed() | SessionCancelled() | TeamCompleted():
                return self._session_ends(draft, event)
            case LlmRequest():
                return self._ask(draft, event)
            case LlmResponse() | LlmFailed():
                return self._answered(draft, event)
            case ToolStarted() | ToolFinished() | ToolFailed() | ToolInDoubt() | ToolSettled():
                return self._tool(draft, event)
            case _:
                if isinstance(event, TeamCancelled) and draft.session_id in self.sessions:
                    self.sessions[draft.session_id].closed = self.run_seq
                return self._wait(draft, event) or self._instant(draft, event)

    def _session(self, draft: Draft, event: _Start) -> Step:
        """Also of an agent whose own session begins after those of its advisors: they stand below it nevertheless."""
        step = self.sessions.get(draft.session_id)
        if step is None:
            parent = self._caller(draft, event) or nearest(self._spans, draft.span)
            step = self._add(self._step(draft, "session", draft.agent_id), parent)
            self.sessions[draft.session_id] = self._spans[draft.span] = step
            step.begin()
        if isinstance(event, AdvisorStarted):
            step.cause, step.kind = "advisor", "advisor"
        if isinstance(event, SessionStarted | TeamStarted):
            self._opened(step, event)
        return step

    def _opened(self, step: Step, event: SessionStarted | TeamStarted) -> None:
        caller = self.sessions.get(event.parent)
        step.kind = "team" if isinstance(event, TeamStarted) else "session"
        step.kind = "advisor" if event.cause == "advisor" else step.kind
        step.cause, step.what = event.cause, started_by(event, caller.agent if caller else "")
        step.opened = self.run_seq
        called = call_place(step.span)
        if called:  # what its call gave is known at its own row
            step.turn, step.call = called.turn, called.call
        call = self._calls.get((event.parent, step.turn, step.call))
        if call and called and not called.is_part:
            call.came = step
        elif event.parent:
            self.ops.setdefault(event.parent, []).append(step)

    def _caller(self, draft: Draft, event: Event) -> Step | None:
        """The call that it came of, if that has a row, or the session that caused it."""
        parent = getattr(event, "parent", "")
        called = call_place(draft.span)
        by = self._open.get((parent, called.turn, called.call)) if called else None
        return by or self.sessions.get(parent)

    def _session_ends(self, draft: Draft, event: _SessionEnd) -> Step | None:
        step = self.sessions.get(draft.session_id)
        if step is None:
            return None
        step.closed = self.run_seq
        if not isinstance(event, SessionCancelled) and not event.outcome.failed:
            return self._end(step, "done")
        error = event.reason if isinstance(event, SessionCancelled) else event.outcome.error
        return self._end(step, "failed", one_line(error, _WIDTH) or "failed")

    def _ask(self, draft: Draft, event: LlmRequest) -> Step:
        model = event.model.partition("/")[2]
        step = self._work(draft, "model", f"turn {event.turn}", model, (event.turn, 0))
        step.attempt, step.held = event.attempt, (event.reserved_tokens, event.reserved_usd)
        self.ops.setdefault(draft.session_id, []).append(step)
        return step

    def _answered(self, draft: Draft, event: LlmResponse | LlmFailed) -> Step | None:
        step = self._open.pop((draft.session_id, event.turn, 0), None)
        if step is None:
            return None
        if isinstance(event, LlmFailed):
            return self._end(step, "failed", one_line(event.error, _WIDTH))
        spent = event.usage.tokens_in + event.usage.tokens_out
        calls = [call for call in event.message.calls if not call.tool.startswith("agent__final")]
        said = counted(len(calls), "call") if calls else "report" if event.message.calls else "text"
        for each in (step, *step.above()):
            each.tokens, each.cost = each.tokens + spent, each.cost + event.cost_usd
        return self._end(step, "done", f"{step.what} · {said}")

    def _tool(self, draft: Draft, event: _ToolEvent) -> Step | None:
        key = (draft.session_id, event.turn, event.call)
        match event:
            case ToolStarted():
                self.calls += 1
                return self._called(draft, event)
            case ToolInDoubt() | ToolSettled():
                return self._doubted(key, isinstance(event, ToolInDoubt))
        failed, by_agent = isinstance(event, ToolFailed), event.tool.startswith(_AGENT_TOOL)
        state: State = "failed" if failed else "done"
        step = self._open.pop(key, None)
        row = self._returned(draft, event) if step is None and by_agent and not failed else step
        if row is None:
            again = "an earlier result, read again" if by_agent else ""
            step = row = self._happen(draft, "tool", _name(event.tool), again)
            row.turn, row.call = event.turn, event.call
        call = self._calls.get(key) or self._call(draft, event, step)
        if call is not row:
            call.finish(state, self.now, self.run_seq)
        if isinstance(event, ToolFinished):
            row.evidence = event.evidence
            return self._end(row, state) if row is step else row
        return self._end(row, state, one_line(bare_failure(event.text), _WIDTH))

    def _call(self, draft: Draft, event: ToolStarted | ToolFinished | ToolFailed, row: Step | None) -> Step:
        """A call of an agent has no row of its own: the session that comes of it is its row."""
        step = row or self._step(draft, "tool", _name(event.tool))
        step.turn, step.call = event.turn, event.call
        self._calls[draft.session_id, event.turn, event.call] = step
        self.ops.setdefault(draft.session_id, []).append(step)
        return step

    def _called(self, draft: Draft, event: ToolStarted) -> Step | None:
        place = (event.turn, event.call)
        if event.tool.startswith(_AGENT_TOOL):
            self._call(draft, event, None)
            return None
        what = one_line(", ".join(map(str, event.arguments.values())), 60)
        step = self._work(draft, "tool", _name(event.tool), what, place)
        self._call(draft, event, step)
        same = (draft.session_id, event.tool, str(event.arguments))
        step.attempt = self._tried[same] = self._tried.get(same, 0) + 1
        return step

    def _doubted(self, key: Key, in_doubt: bool) -> Step | None:
        if call := self._calls.get(key):
            call.doubted = True
        if step := self._open.get(key):
            words = "may or may not have happened" if in_doubt else step.what
            step.state, step.what = "doubt" if in_doubt else "open", words
        return step

    def _returned(self, draft: Draft, event: ToolFinished | ToolFailed) -> Step | None:
        home = self.sessions.get(draft.session_id)
        place = (event.turn, event.call)
        rows = reversed(home.children if home else [])
        return next((step for step in rows if (step.turn, step.call) == place and step.cause), None)

    def _wait(self, draft: Draft, event: Event) -> Step | None:
        if decided := answer_to(event):
            id = getattr(event, "id", "")
            self.asks.pop(id, None)
            step = self._waits.pop(id, None)
            return step and self._end(step, "done", one_line(decided, _WIDTH))
        if not (asked := wait_for(event)):
            return None
        id, turn, call = (getattr(event, name) for name in ("id", "turn", "call"))
        step = self._happen(draft, "wait", asked[0], one_line(asked[1], _WIDTH))
        self.asks[id] = one_line(asked[2], _WIDTH)
        step.state, step.turn, step.call = "waiting", turn, call
        step.begin()
        self._waits[id] = step
        return step

    def _instant(self, draft: Draft, event: Event) -> Step | None:
        if (seen := instant(event)) is None:
            return None
        kind, who, what = seen
        step = self._happen(draft, "transfer" if kind == "fail" else kind, who, one_line(what, _WIDTH))
        if isinstance(event, TeamBroadcast) and event.kind == "update":
            self.ops.setdefault(draft.session_id, []).append(step)
        return self._end(step, "failed" if kind == "fail" else "done")


def _name(tool: str) -> str:
    """As agent files write it."""
    return tool.replace("__", ".")
