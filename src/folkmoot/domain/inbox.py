"""What a run waits for someone to say: questions, approvals, calls in doubt; folded from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    RUN_ENDS,
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    Event,
    QuestionAnswered,
    QuestionAsked,
    Settlement,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolSettled,
    ToolStarted,
)
from folkmoot.domain.message import Risk
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse

Kind = Literal["question", "approval", "in_doubt"]
Word = Literal["answer", "approve", "deny", "done", "retry", "fail"]
WORDS: dict[Kind, tuple[Word, ...]] = {
    "question": ("answer",),
    "approval": ("approve", "deny"),
    "in_doubt": ("done", "retry", "fail"),
}
"""What may be said to each kind."""
_SETTLEMENTS: dict[Word, Settlement] = {"done": "done", "retry": "retry", "fail": "fail"}


class Reply(Value):
    """What somebody said to one item."""

    id: str
    word: Word
    text: str = ""
    """The answer, the reason of a denial, or what a call in doubt gave."""
    by: str = ""
    hash: str = ""
    """Of the call that was shown to whoever approved it."""


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

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    def answer(self, text: str, by: str = "user") -> Reply:
        return self._reply("answer", text, by)

    def approve(self, by: str = "user") -> Reply:
        return self._reply("approve", "", by)

    def deny(self, reason: str = "", by: str = "user") -> Reply:
        return self._reply("deny", reason, by)

    def settle(self, decision: Settlement, text: str = "", by: str = "user") -> Reply:
        return self._reply(decision, text, by)

    def _reply(self, word: Word, text: str, by: str) -> Reply:
        return Reply(id=self.id, word=word, text=text, by=by, hash=self.hash)


def inbox(run: str, drafts: Iterable[Draft]) -> dict[str, Item]:
    """Every item of a run by its id, in the order in which they came up."""
    items: dict[str, Item] = {}
    begun: dict[tuple[str, int, int], ToolStarted] = {}
    for draft in drafts:
        event = draft.event
        match event:
            case ToolStarted():
                begun[draft.span, event.turn, event.call] = event
            case QuestionAsked() | ApprovalRequested():
                items[event.id] = _asked(run, draft, event)
            case ToolInDoubt():
                item = _in_doubt(run, draft, event, begun[draft.span, event.turn, event.call])
                items[item.id] = item
            case ToolFinished() | ToolFailed() | ToolSettled():
                _close_call(items, draft.span, event)
            case _ if isinstance(event, RUN_ENDS):
                items = {id: _closed(item, "over") for id, item in items.items()}
            case _:
                _decide(items, event)
    return items


def decided(item: Item | None, reply: Reply) -> Event:
    """The event that a reply becomes. Raises `WrongUse` if it cannot be said, or is said too late."""
    if item is None:
        raise WrongUse(f"nothing waits under the id {reply.id!r}; `folkmoot inbox list` shows what does")
    if not item.is_open:
        by = f" by {item.by}" if item.by else ""
        raise WrongUse(f"{item.id} is decided already: {item.status}{by}")
    if reply.word not in WORDS[item.kind]:
        can = " or ".join(WORDS[item.kind])
        raise WrongUse(f"{item.id} is {NOUNS[item.kind]}; it takes {can}, not {reply.word}")
    if reply.hash != item.hash:
        raise WrongUse(f"{item.id} asks about another call than the one that was shown; look at it again")
    return _event(item, reply)


NOUNS: dict[Kind, str] = {"question": "a question", "approval": "an approval", "in_doubt": "a call in doubt"}


def _event(item: Item, reply: Reply) -> Event:
    match reply.word:
        case "answer":
            return QuestionAnswered(id=item.id, text=reply.text, by=reply.by)
        case "approve":
            return ApprovalApproved(id=item.id, by=reply.by)
        case "deny":
            return ApprovalDenied(id=item.id, by=reply.by, reason=reply.text)
        case word:
            return ToolSettled(item.turn, item.call, _SETTLEMENTS[word], reply.text, reply.by)


def _asked(run: str, draft: Draft, event: QuestionAsked | ApprovalRequested) -> Item:
    item = Item(
        id=event.id,
        kind="question",
        run=run,
        span=draft.span,
        session=draft.session_id,
        agent=draft.agent_id,
        turn=event.turn,
        call=event.call,
        at=draft.ts,
    )
    if isinstance(event, QuestionAsked):
        return replace(item, question=event.question)
    return replace(
        item,
        kind="approval",
        tool=event.tool,
        arguments=event.arguments,
        hash=event.hash,
        risk=event.risk,
        preview=event.preview,
    )


def _in_doubt(run: str, draft: Draft, event: ToolInDoubt, begun: ToolStarted) -> Item:
    return Item(
        id=event.id or begun.key,
        kind="in_doubt",
        run=run,
        span=draft.span,
        session=draft.session_id,
        agent=draft.agent_id,
        turn=event.turn,
        call=event.call,
        at=draft.ts,
        tool=event.tool,
        arguments=begun.arguments,
    )


def _close_call(items: dict[str, Item], span: str, event: ToolFinished | ToolFailed | ToolSettled) -> None:
    """A call that has its result waits for nobody, whatever was asked about it."""
    for item in list(items.values()):
        if (item.span, item.turn, item.call) != (span, event.turn, event.call):
            continue
        if isinstance(event, ToolSettled) and item.kind == "in_doubt":
            items[item.id] = _closed(item, event.decision, event.by, event.text)
        elif not isinstance(event, ToolSettled):
            items[item.id] = _closed(item, "over")


def _decide(items: dict[str, Item], event: Event) -> None:
    match event:
        case QuestionAnswered():
            status, by, text = "answered", event.by, event.text
        case ApprovalApproved():
            status, by, text = "approved", event.by, ""
        case ApprovalDenied():
            status, by, text = "denied", event.by, event.reason
        case ApprovalExpired():
            status, by, text = "expired", "", event.reason
        case _:
            return
    items[event.id] = _closed(items[event.id], status, by, text)


def _closed(item: Item, status: str, by: str = "", text: str = "") -> Item:
    return replace(item, status=status, by=by, text=text) if item.is_open else item
