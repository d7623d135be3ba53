"""The parts of a run's tree: the steps that were taken, the agents that took them, and how the tree grows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from folkmoot.domain.entry import Draft
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import conversation, is_in_chain, without_cycle
from folkmoot.views.activity import Activity, Key

Kind = Literal["session", "advisor", "model", "tool", "transfer", "team", "wait"]
State = Literal["open", "done", "failed", "waiting", "doubt"]
Status = Literal["waiting", "running", "completed", "failed", "cancelled"]
_HEARD = 200
"""Characters of a coming answer that are kept to be shown."""
_T = TypeVar("_T")
_CAUSES = {"0": "", "call": "sub", "mission": "sub", "to": "sub", "summary": "sub", "try": "planner"}


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

    @property
    def path(self) -> list[int]:
        """Sorts steps as the page shows them."""
        return [step.seq for step in (self, *self.above())][::-1]

    def begin(self) -> None:
        self._count_open(1)

    def finish(self, state: State, at: float, seq: int) -> None:
        if not self.is_instant and self.end is None and self.under_way:
            self._count_open(-1)
        self.end, self.last, self.state = at, seq, state

    def _count_open(self, change: int) -> None:
        for each in (self, *self.above()):
            each.under_way += change


@dataclass(eq=False)
class Branch:
    """One agent, asked once; a member of a team has a session in every cycle."""

    id: str
    """Of its latest session."""
    agent: str
    span: str
    status: Status = "waiting"
    turn: int = 0
    asking: str = ""
    """The model that is being asked."""
    attempt: int = 1
    tools: dict[int, str] = field(default_factory=dict)
    """The calls under way, by position in the answer."""
    heard: str = ""
    """The end of the answer that is coming in."""
    note: str = ""
    """How it left, or what went wrong last."""
    lack: str = ""
    """What its last answer lacks."""
    tokens: int = 0
    cost_usd: float = 0.0
    started_at: str = ""
    ended_at: str = ""
    children: list[Branch] = field(default_factory=list, repr=False)

    @property
    def cause(self) -> str:
        """Why it was asked: the pattern, as in the events; empty for the root."""
        last = self.span.rpartition("/")[2].partition(":")[0]
        return _CAUSES.get(last, last)

    @property
    def doing(self) -> str:
        if self.tools:
            counts = Counter(self.tools.values())
            return ", ".join(f"{tool} ×{times}" if times > 1 else tool for tool, times in counts.items())
        if self.asking:
            return self.asking + (f", attempt {self.attempt}" if self.attempt > 1 else "")
        if self.status == "waiting" and self.children:
            awaited = [child.agent for child in self.children if not child.ended_at]
            return f"waits for {', '.join(awaited) if len(awaited) < 4 else f'{len(awaited)} agents'}"
        return ""

    def begin(self, session: str, ts: str) -> None:
        self.started_at = self.started_at if self.turn else ts
        self.id, self.status, self.ended_at, self.note = session, "running", "", ""

    def finish(self, status: Status, ts: str, note: str = "") -> None:
        self.status, self.ended_at, self.note = status, ts, note
        self.asking, self.heard, self.tools = "", "", {}

    def hear(self, note: str) -> None:
        """The model has answered, or has not."""
        self.asking, self.heard, self.note = "", "", note


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
    def held(self) -> tuple[int, float]:
        """Tokens and dollars that are reserved for what is under way."""
        open = [self._open[key].held for key in self.activity.work if key in self._open]
        return sum(tokens for tokens, _ in open), sum(cost for _, cost in open)

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
        return sorted(changed.union(self.unended.values()), key=lambda step: step.path)

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
            branch.heard = (branch.heard + text)[-_HEARD:]

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
