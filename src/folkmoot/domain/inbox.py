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


def inbox(run: str, drafts: Iterable[Draft]) -> dict[str, Item]:
    """Every item of a run by its id, in the order in which they came up."""
    items: dict[str, Item] = {}
    begun: dict[tuple[str, int, int], ToolStarted] = {}
    for draft in drafts:
        event = draft.event
        match event:
            case ToolStarted():
                begun[draft.span, event.turn, event.call] = event
                _begin_call(items, draft.span, event)
            case QuestionAsked() | ClientCalled() | ApprovalRequested():
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


def _begin_call(items: dict[str, Item], span: str, event: ToolStarted) -> None:
    """From here on nobody can take back the word for it."""
    for item in list(items.values()):
        if (item.span, item.turn, item.call) == (span, event.turn, event.call):
            items[item.id] = replace(item, begun=True)


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
        case QuestionAnswered() | ClientAnswered():
            failed = isinstance(event, ClientAnswered) and event.failed
            status, by, text = "failed" if failed else "answered", event.by, event.text
            items[event.id] = replace(items[event.id], ticket=event.ticket)
        case ApprovalApproved():
            status, by, text = "approved", event.by, ""
        case ApprovalDenied():
            status, by, text = "denied", event.by, event.reason
        case ApprovalRevoked():
            items[event.id] = replace(items[event.id], status="revoked", by=event.by, text=event.reason)
            return
        case ApprovalDeclined():
            items[event.id] = replace(items[event.id], approvers=items[event.id].approvers[1:])
            return
        case ApprovalExpired():
            status, by, text = "expired", "", event.reason
        case _:
            return
    items[event.id] = _closed(items[event.id], status, by, text)


def _closed(item: Item, status: str, by: str = "", text: str = "") -> Item:
    return replace(item, status=status, by=by, text=text) if item.is_open else item
