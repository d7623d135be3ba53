"""The steps of a run's tree: what each row says, and how the tree grows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, TypeVar

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import conversation, is_in_chain, without_cycle
from folkmoot.domain.team_events import TeamStarted
from folkmoot.views.activity import Activity, Key
from folkmoot.views.figures import counted
from folkmoot.views.sessions import Branch

Kind = Literal["session", "advisor", "model", "tool", "transfer", "team", "wait"]
State = Literal["open", "done", "failed", "waiting", "doubt"]
_T = TypeVar("_T")
_STARTED = {
    "": "",
    "advisor": "advisor",
    "route": "routed by {by}",
    "handoff": "handed off by {by}",
    "sub": "called by {by}",
    "clarify": "asked again by {by}",
    "ask": "asked by the agent it called",
    "member": "member",
    "lead": "lead",
    "planner": "makes the plan",
    "executor": "carries out the plan",
    "step": "a step of the plan",
    "sense": "looks at what is there",
    "reflect": "looks back",
}
_INSTANTS: Mapping[str, tuple[Kind | Literal["fail"], str, str]] = {
    "router.selected": ("transfer", "route → {0.agent}", "{0.message}"),
    "handoff.requested": ("transfer", "handoff → {0.receiver}", "{0.reason} {0.subject}"),
    "team.broadcast": ("team", "broadcast", "{0.message}"),
    "budget.exceeded": ("fail", "limit", "{0.limit}"),
    "system.error": ("fail", "system error", "{0.error}"),
    "claim.demoted": ("fail", "claim not verified", "{0.reason}"),
    "run.cancel_requested": ("transfer", "cancel", "{0.reason}"),
    "run.forked": ("transfer", "fork", "of {0.source} at {0.at}"),
    "run.repinned": ("transfer", "current files", "the run goes on with the files as they are now"),
    "plan.created": ("team", "plan", "is made"),
    "plan.rejected": ("fail", "plan sent back", "{0.problems[0]}"),
    "step.started": ("team", "step {0.step}", "begins"),
    "step.completed": ("team", "step {0.step}", "is over"),
    "step.blocked": ("fail", "step {0.step}", "{0.reason}"),
    "decision.proposed": ("team", "put to the vote", "{0.proposal.topic}"),
    "decision.voted": ("team", "vote · {0.voter}", "{0.option}"),
    "decision.escalated": ("team", "the votes do not decide", "{0.reason}"),
    "decision.committed": ("team", "decided", "{0.summary}"),
}
_WAITS: Mapping[str, tuple[str, str, str]] = {
    "approval.requested": ("approval · {tool}", "waits for you", "asks to call {tool}"),
    "client.called": ("caller · {0.tool}", "waits for its caller", "waits for {0.tool} of its caller"),
    "question.asked": ("question", "{0.question}", "asks: {0.question}"),
}
"""Who is waited for, and for what; and the same as a sentence of which the run is the subject."""
_ANSWERS: Mapping[str, tuple[str, str]] = {
    "approval.approved": ("approved by {by}", ""),
    "approval.denied": ("denied: {0.reason}", "denied"),
    "approval.revoked": ("denied: {0.reason}", "denied"),
    "approval.expired": ("{0.reason}", "nobody decided in time"),
    "question.answered": ("answered by {by}", ""),
    "client.answered": ("answered by {by}", ""),
}
"""What was answered, and what is said if nobody gave a reason."""


@dataclass(eq=False)
class Step:
    """A session, a request to a model, a call, a wait, or something that happens at once."""

    seq: int
    """The `runSeq` of the entry that began it: its name."""
    kind: Kind
    who: str
    what: str = ""
    start: float = 0.0
    """Seconds since the run began."""
    end: float | None = None
    last: int = 0
    """The `runSeq` of the entry that ended it; 0 as long as there is none."""
    state: State = "open"
    span: str = ""
    session: str = ""
    agent: str = ""
    turn: int = 0
    call: int = 0
    attempt: int = 1
    evidence: str = ""
    tokens: int = 0
    """With all below it; so is the cost."""
    cost: float = 0.0
    held: tuple[int, float] = (0, 0.0)
    """Tokens and dollars that are reserved for it as long as it is open."""
    cause: str = ""
    changed: int = 0
    """The `runSeq` of the last entry that changed it, or anything below it."""
    reach: float = 0.0
    """When anything of it or below it happened last."""
    under_way: int = 0
    """How much of it and below it has not ended."""
    parent: Step | None = field(default=None, repr=False)
    children: list[Step] = field(default_factory=list, repr=False)
    entries: list[int] = field(default_factory=list, repr=False)
    """Where in the journal its own events are."""
    opened: int = 0
    """Of a session: the `runSeq` of the entry with which its own conversation began; 0 before that."""
    closed: int = 0
    """Of a session: that of the entry that ended its conversation."""
    doubted: bool = False
    """Of a call: nobody knew whether it was done."""
    came: Step | None = field(default=None, repr=False)
    """Of a call: the session that came of it."""

    @property
    def is_instant(self) -> bool:
        """It happens, and takes no time."""
        return self.end == self.start and self.last == self.seq

    @property
    def contains(self) -> bool:
        """It holds what others do; its own time is theirs."""
        return self.kind in ("session", "advisor", "team") and not self.is_instant

    @property
    def is_in_chain(self) -> bool:
        return is_in_chain(self.span) and self.kind in ("session", "team")

    def as_of(self, at: int) -> State:
        """Its state after that entry; 0, or one before it began: at the end."""
        if not at or at < self.seq or 0 < self.last <= at:
            return self.state
        return "waiting" if self.kind == "wait" else "open"

    def above(self) -> Iterator[Step]:
        step = self.parent
        while step is not None:
            yield step
            step = step.parent

    @property
    def level(self) -> int:
        return 1 + sum(1 for _ in self.above())

    def begin(self) -> None:
        self._count_open(1)

    def finish(self, state: State, at: float, seq: int) -> None:
        if not self.is_instant and self.end is None and self.under_way:
            self._count_open(-1)
        self.end, self.last, self.state = at, seq, state

    def _count_open(self, change: int) -> None:
        for each in (self, *self.above()):
            each.under_way += change


class Held(NamedTuple):
    """What is reserved for requests that are under way."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


class TreeState:
    """What is known of a run so far, and how a step is added to it."""

    root: Branch | None = None
    position = run_seq = calls = failures = 0
    now = _zero = 0.0
    status = error = ""
    """How it ended, or `waiting`; empty while it goes on."""
    outcome: Outcome | None = None
    """Of the agent that answered in the end."""
    waiting: tuple[str, ...] = ()
    """What it was parked for last: names in the inbox, or of a work session that is paused."""
    request = work_session = label = began = ""

    def __init__(self) -> None:
        self.activity = Activity()
        self.roots: list[Step] = []
        self.by_seq: dict[int, Step] = {}
        self.unended: dict[int, Step] = {}
        self.sessions: dict[str, Step] = {}
        self.ops: dict[str, list[Step]] = {}
        """What each session did, in order: requests, calls, broadcasts, and the sessions that came of no call."""
        self.times: dict[int, float] = {}
        """When each entry was written, by its `runSeq`."""
        self._spans: dict[str, Step] = {}
        """Sessions by where they are."""
        self._branches: dict[str, Branch] = {}
        self._open: dict[Key, Step] = {}
        self._calls: dict[Key, Step] = {}
        """The last attempt at each call, over or not."""
        self._waits: dict[str, Step] = {}
        self.asks: dict[str, str] = {}
        """What somebody is asked, in words, by its name in the inbox."""
        self._touched: list[tuple[int, Step]] = []
        """What each entry changed, by its `runSeq`."""
        self._tried: dict[tuple[str, str, str], int] = {}

    def elapsed(self, now: str) -> float:
        """Seconds from its beginning until then; of a fork without those between it and its origin."""
        return max(self.now, datetime.fromisoformat(now).timestamp() - self._zero)

    @property
    def over(self) -> bool:
        return self.status not in ("", "waiting")

    @property
    def held(self) -> Held:
        open = [self._open[key] for key in self.activity.work if key in self._open and not key[2]]
        return Held(len(open), sum(step.held[0] for step in open), sum(step.held[1] for step in open))

    @property
    def chain(self) -> list[str]:
        """The agents that the request went through, by route and handoff."""
        return list(dict.fromkeys(step.agent for step in self._chain()))

    def _chain(self) -> list[Step]:
        return [step for step in self.sessions.values() if step.is_in_chain]

    def answer_of(self, step: Step) -> Outcome | None:
        """The answer of the run, of a session that gave it or passed the request on to who did."""
        return self.outcome if step.contains and step.is_in_chain else None

    @property
    def descendants(self) -> int:
        """Other agents' conversations; one that goes on counts once."""
        return max(0, len({conversation(span) for span in self._spans}) - 1)

    def flat(self) -> list[Step]:
        """In the order of the page: children below their parents."""
        rows: list[Step] = []
        stack = self.roots[::-1]
        while stack:
            step = stack.pop()
            rows.append(step)
            stack += step.children[::-1]
        return rows

    def changed_since(self, seen: int) -> list[Step]:
        """What is not as it was after that entry, or has not ended, in the order of the page."""
        first = bisect_right(self._touched, seen, key=lambda each: each[0])
        changed = {step for _, last in self._touched[first:] for step in (last, *last.above())}
        every = changed.union(self.unended.values())
        return sorted(every, key=lambda step: [each.seq for each in (step, *step.above())][::-1])

    def row_above(self, step: Step) -> Step | None:
        """The row after which a step stands on the page."""
        siblings = step.parent.children if step.parent else self.roots
        place = bisect_left(siblings, step.seq, key=lambda each: each.seq)
        above = siblings[place - 1] if place else None
        while above and above.children:
            above = above.children[-1]
        return above or step.parent

    def hear(self, span: str, text: str) -> None:
        """A piece of an answer that is coming in; it is shown and forgotten."""
        if branch := self._branches.get(without_cycle(span)):
            branch.hear(text)

    def _branch(self, draft: Draft) -> Branch:
        span = without_cycle(draft.span)
        if branch := self._branches.get(span):
            return branch
        branch = self._branches[span] = Branch(draft.session_id, draft.agent_id, span, started_at=draft.ts)
        if parent := nearest(self._branches, span.rpartition("/")[0]):
            parent.children.append(branch)
        else:
            self.root = self.root or branch
        return branch

    def _work(self, draft: Draft, kind: Kind, who: str, what: str, place: tuple[int, int]) -> Step:
        if (lost := self._open.get((draft.session_id, *place))) and lost.end is None:
            self._end(lost, "failed", "its process was lost; begun again")
        step = self._happen(draft, kind, who, what)
        step.turn, step.call = place
        self._open[draft.session_id, *place] = step
        step.begin()
        return step

    def _happen(self, draft: Draft, kind: Kind, who: str, what: str = "") -> Step:
        """In the session in which it happened; if that has not begun, in the nearest one above."""
        home = self.sessions.get(draft.session_id) or nearest(self._spans, draft.span)
        return self._add(self._step(draft, kind, who, what), home)

    def _step(self, draft: Draft, kind: Kind, who: str, what: str = "") -> Step:
        step = Step(self.run_seq, kind, who, what, self.now)
        step.span, step.session, step.agent = draft.span, draft.session_id, draft.agent_id
        return step

    def _add(self, step: Step, parent: Step | None) -> Step:
        """It has happened; it takes time only if it begins too."""
        self.by_seq[step.seq] = self.unended[step.seq] = step
        step.parent = parent
        (parent.children if parent else self.roots).append(step)
        return step

    def _end(self, step: Step, state: State, what: str | None = None) -> Step:
        step.what = step.what if what is None else what
        step.finish(state, self.now, self.run_seq)
        self.unended.pop(step.seq, None)
        self.failures += state == "failed" and step.kind in ("model", "tool")
        return step


def nearest(places: Mapping[str, _T], span: str) -> _T | None:
    """What is at a place, or else at the nearest one above."""
    while span and span not in places:
        span = span.rpartition("/")[0]
    return places.get(span)


def started_by(event: SessionStarted | TeamStarted, caller: str) -> str:
    """Why a session runs, beside its agent's name."""
    if isinstance(event, TeamStarted):
        return f"team of {counted(len(event.members), 'member')}"
    return _STARTED[event.cause].format(by=caller or "the run")


def instant(event: Event) -> tuple[Kind | Literal["fail"], str, str] | None:
    """Kind, name and a few words of what happens without taking time; none for what has no row."""
    form = _INSTANTS.get(event.type)
    if form is None or (isinstance(event, HandoffRequested) and event.kind in ("route", "delegate")):
        return None  # a route has its own event, and what is delegated is a session
    kind, who, what = form
    return kind, who.format(event), what.format(event)


def wait_for(event: Event) -> list[str]:
    """Name, words and sentence of a wait; empty if the event asks nobody."""
    tool = getattr(event, "tool", "").replace("__", ".")
    return [form.format(event, tool=tool) for form in _WAITS.get(event.type, ())]


def answer_to(event: Event) -> str:
    """What was answered; empty if the event is no answer."""
    form, without_reason = _ANSWERS.get(event.type, ("", ""))
    if without_reason and not getattr(event, "reason", ""):
        return without_reason
    return form.format(event, by=getattr(event, "by", "") or "you")
