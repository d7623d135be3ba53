"""What waits for someone, what they may say to it, and the inbox of a run folded from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec.structs import replace

from folkmoot.domain.duration import later
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    RUN_ENDS,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.fence import retry_opens_at
from folkmoot.domain.gate import HUMAN, Approver
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDeclined,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAnswered,
    QuestionAsked,
    Scope,
    Settlement,
    ToolSettled,
)
from folkmoot.domain.message import Risk
from folkmoot.domain.part import Part
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound, WrongUse

Kind = Literal["question", "approval", "in_doubt", "client_call"]
Word = Literal["answer", "approve", "deny", "revoke", "done", "retry", "fail"]
WORDS: dict[Kind, tuple[Word, ...]] = {
    "question": ("answer",),
    "approval": ("approve", "deny"),
    "in_doubt": ("done", "retry", "fail"),
    "client_call": ("answer", "fail"),
}
"""What may be said to each kind while it is open; `revoke` takes an approval back."""
APPROVED = ("approve", "approved")
"""The status of what somebody approved: not taken in by the run yet, or taken in."""
NOUNS: dict[Kind, str] = {
    "question": "a question",
    "approval": "an approval",
    "in_doubt": "a call in doubt",
    "client_call": "a call of a tool of the run's caller",
}
_SETTLEMENTS: dict[Word, Settlement] = {"done": "done", "retry": "retry", "fail": "fail"}


class Reply(Value):
    """What somebody said to one item."""

    id: str
    word: Word
    text: str = ""
    """The answer, the reason of a denial, or what a call gave."""
    by: str = ""
    hash: str = ""
    """Of the call that was shown to whoever approved it."""
    scope: Scope = "once"
    """Of an approval: for this call alone, or for equal calls of its run."""
    ticket: str = ""
    """Of the request that brought it, see `Errand.ticket`."""
    parts: tuple[Part, ...] = ()
    """Images that a tool of the caller gave."""


class Item(Value, omit_defaults=False):
    id: str
    kind: Kind
    run: str
    span: str
    session: str
    agent: str
    turn: int
    call: int
    at: str
    """Since when it waits."""
    tool: str = ""
    arguments: dict[str, Any] = {}
    question: str = ""
    hash: str = ""
    risk: Risk = ""
    preview: str = ""
    status: str = "open"
    """`open`; then what was decided; `over` if the run or the call ended first."""
    by: str = ""
    text: str = ""
    """The answer, or the reason."""
    begun: bool = False
    """Whether the call was let through."""
    why: str = ""
    """Why the gate asks; empty: because the tool itself wants it."""
    foreign: tuple[str, ...] = ()
    """Arguments whose values came from what tools gave, if the session has read untrusted text or secrets."""
    approvers: tuple[Approver, ...] = HUMAN
    """Who is asked now, and who would be next."""
    until: str = ""
    """From then on nobody can approve it, or the run is cancelled for want of its result; empty: without end."""
    ticket: str = ""
    """Of the request that decided it, see `Errand.ticket`."""
    retry_from: str = ""
    """From then on a call in doubt can be made again; empty: at once."""

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    def answer(self, text: str, by: str = "user") -> Reply:
        return self._reply("answer", text, by)

    def approve(self, by: str = "user", scope: Scope = "once") -> Reply:
        """Let the call be made; with the scope `run`, equal calls of this run too, without asking again."""
        return replace(self._reply("approve", "", by), scope=scope)

    def deny(self, reason: str = "", by: str = "user") -> Reply:
        return self._reply("deny", reason, by)

    def revoke(self, reason: str = "", by: str = "user") -> Reply:
        """Take an approval back, as long as its call was not made."""
        return self._reply("revoke", reason, by)

    def settle(self, decision: Settlement, text: str = "", by: str = "user") -> Reply:
        """Say what became of a call: of one in doubt, or, with `fail`, of a tool that the caller brought along."""
        return self._reply(decision, text, by)

    def _reply(self, word: Word, text: str, by: str) -> Reply:
        return Reply(id=self.id, word=word, text=text, by=by, hash=self.hash)


def decided(item: Item | None, reply: Reply) -> Event:
    """The event that a reply becomes. Raises `WrongUse` if it cannot be said, or is said too late."""
    if item is None:
        raise NotFound(
            f"nothing waits under the id {reply.id!r}; `folkmoot inbox list` shows what does",
            code="item_not_found",
        )
    if reply.word == "revoke":
        return _revoked(item, reply)
    if not item.is_open:
        by = f" by {item.by}" if item.by else ""
        raise WrongUse(f"{item.id} is decided already: {item.status}{by}")
    if reply.word not in WORDS[item.kind]:
        can = " or ".join(WORDS[item.kind])
        raise WrongUse(f"{item.id} is {NOUNS[item.kind]}; it takes {can}, not {reply.word}")
    if reply.hash != item.hash:
        raise WrongUse(f"{item.id} asks about another call than the one that was shown; look at it again")
    return _event(item, reply)


def check_time(item: Item | None, reply: Reply, now: str) -> None:
    """Raises `WrongUse` for an approval that comes after its time, and for a repetition that comes before it."""
    if item and reply.word == "retry" and now and now < item.retry_from:
        raise WrongUse(
            f"{item.id} can be made again from {item.retry_from} on: until then the process that began the call may"
            " still carry it out; `done` and `fail` can be said at once"
        )
    if item and item.until and now >= item.until and reply.word == "approve":
        raise WrongUse(f"{item.id} has expired: it could be approved until {item.until}")


def _revoked(item: Item, reply: Reply) -> Event:
    if item.begun:
        raise too_late(item)
    if item.is_open and item.kind == "approval":
        raise WrongUse(
            f"{item.id} is not approved, so there is nothing to take back; it takes approve or deny"
        )
    if item.status not in APPROVED:
        raise WrongUse(
            f"{item.id} is {NOUNS[item.kind]}, {item.status}; only what is approved can be taken back"
        )
    return ApprovalRevoked(id=item.id, by=reply.by, reason=reply.text)


def too_late(item: Item) -> WrongUse:
    return WrongUse(
        f"too late: the call of {item.id} is made already; `folkmoot runs cancel {item.run}` stops its run"
    )


def _event(item: Item, reply: Reply) -> Event:
    match reply.word:
        case "answer" | "fail" if item.kind == "client_call":
            failed = reply.word == "fail"
            return ClientAnswered(item.id, reply.text, failed, reply.by, reply.ticket, reply.parts)
        case "answer":
            return QuestionAnswered(item.id, reply.text, reply.by, reply.ticket)
        case "approve":
            return ApprovalApproved(id=item.id, by=reply.by, scope=reply.scope)
        case "deny":
            return ApprovalDenied(id=item.id, by=reply.by, reason=reply.text)
        case word:
            return ToolSettled(item.turn, item.call, _SETTLEMENTS[word], reply.text, reply.by)


_ASKING = (QuestionAsked, ClientCalled, ApprovalRequested, ToolInDoubt)
_DECIDING = (
    *(QuestionAnswered, ClientAnswered, ApprovalApproved, ApprovalDenied, ApprovalRevoked, ApprovalDeclined),
    *(ApprovalExpired, ToolSettled),
)
INBOX_EVENTS = frozenset(
    event.type for event in (*_ASKING, *_DECIDING, *RUN_ENDS, ToolStarted, ToolFinished, ToolFailed)
)
"""The types of the events that items follow from."""


def inbox(run: str, drafts: Iterable[Draft]) -> dict[str, Item]:
    """Every item of a run by its id, in the order in which they came up."""
    fold = InboxFold(run)
    for draft in drafts:
        fold.take(draft)
    return fold.items


class InboxFold:
    """Takes the events of one run in their order."""

    __slots__ = ("_begun", "_run", "changed", "items")

    def __init__(self, run: str) -> None:
        self._run = run
        self.items: dict[str, Item] = {}
        self.changed: dict[str, None] = {}
        """The ids of the items that changed; whoever reads it empties it."""
        self._begun: dict[tuple[str, int, int], ToolStarted] = {}
        """Calls under way."""

    def take(self, draft: Draft) -> None:
        event = draft.event
        match event:
            case ToolStarted():
                self._begun[draft.span, event.turn, event.call] = event
                for item in self._of_call(draft.span, event):
                    self._put(replace(item, begun=True))  # from here on nobody can take back the word for it
            case QuestionAsked() | ClientCalled() | ApprovalRequested():
                self._put(_asked(self._run, draft, event))
            case ToolInDoubt():
                if begun := self._begun.get((draft.span, event.turn, event.call)):
                    self._put(_in_doubt(self._run, draft, event, begun))
            case ToolFinished() | ToolFailed() | ToolSettled():
                self._close_call(draft.span, event)
            case _ if isinstance(event, RUN_ENDS):
                for item in [*self.items.values()]:
                    self._close(item, "over")
            case _:
                if self.items and (asked := self.items.get(getattr(event, "id", ""))):
                    self._decide(asked, event)

    def _put(self, item: Item) -> None:
        self.items[item.id] = item
        self.changed[item.id] = None

    def _close(self, item: Item, status: str, by: str = "", text: str = "") -> None:
        if item.is_open:
            self._put(replace(item, status=status, by=by, text=text))

    def _of_call(self, span: str, event: ToolStarted | ToolFinished | ToolFailed | ToolSettled) -> list[Item]:
        place = span, event.turn, event.call
        return [item for item in self.items.values() if (item.span, item.turn, item.call) == place]

    def _close_call(self, span: str, event: ToolFinished | ToolFailed | ToolSettled) -> None:
        """A call that has its result waits for nobody, whatever was asked about it."""
        if not isinstance(event, ToolSettled):
            self._begun.pop((span, event.turn, event.call), None)
        for item in self._of_call(span, event):
            if not isinstance(event, ToolSettled):
                self._close(item, "over")
            elif item.kind == "in_doubt":
                self._close(item, event.decision, event.by, event.text)

    def _decide(self, item: Item, event: Event) -> None:
        match event:
            case QuestionAnswered() | ClientAnswered():
                failed = isinstance(event, ClientAnswered) and event.failed
                self._put(answered := replace(item, ticket=event.ticket))
                self._close(answered, "failed" if failed else "answered", event.by, event.text)
            case ApprovalApproved():
                self._close(item, "approved", event.by)
            case ApprovalDenied():
                self._close(item, "denied", event.by, event.reason)
            case ApprovalRevoked():
                self._put(replace(item, status="revoked", by=event.by, text=event.reason))
            case ApprovalDeclined():
                self._put(replace(item, approvers=item.approvers[1:]))
            case ApprovalExpired():
                self._close(item, "expired", "", event.reason)


def _asked(run: str, draft: Draft, event: QuestionAsked | ClientCalled | ApprovalRequested) -> Item:
    item = _item(run, draft, event)
    if isinstance(event, QuestionAsked):
        return replace(item, kind="question", question=event.question)
    item = replace(item, until=later(draft.ts, event.expires) if event.expires else "")
    if isinstance(event, ClientCalled):
        return replace(item, kind="client_call", tool=event.tool, arguments=event.arguments, begun=True)
    return replace(
        item,
        tool=event.tool,
        arguments=event.arguments,
        hash=event.hash,
        risk=event.risk,
        preview=event.preview,
        why=event.why,
        foreign=event.foreign,
        approvers=event.approvers,
    )


def _in_doubt(run: str, draft: Draft, event: ToolInDoubt, begun: ToolStarted) -> Item:
    item = _item(run, draft, event)
    id = event.id or begun.key
    opens = retry_opens_at(draft.ts, event.retry_after)
    return replace(item, id=id, kind="in_doubt", tool=event.tool, arguments=begun.arguments, retry_from=opens)


def _item(
    run: str, draft: Draft, event: QuestionAsked | ClientCalled | ApprovalRequested | ToolInDoubt
) -> Item:
    return Item(
        id=event.id,
        kind="approval",
        run=run,
        span=draft.span,
        session=draft.session_id,
        agent=draft.agent_id,
        turn=event.turn,
        call=event.call,
        at=draft.ts,
    )
