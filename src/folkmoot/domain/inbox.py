"""What a run waits for someone to say: questions, approvals, calls in doubt, results of its caller's tools; folded
from its events."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from folkmoot.domain.duration import later
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    RUN_ENDS,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.fence import retry_opens_at
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
    ToolSettled,
)
from folkmoot.domain.item import Item

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
