"""Operations on the inbox: what runs wait for someone to say. Approvals are the part of it that is about calls."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec

from folkmoot.domain.inbox import Item, Kind, Reply
from folkmoot.domain.inbox_events import Settlement
from folkmoot.engine.claims import find_holder
from folkmoot.engine.commands import allow_call_always, find_item, read_inbox
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling
from folkmoot.operations.project import OpenProject
from folkmoot.ports import ItemQuery
from folkmoot.views.inbox import document

ItemId = Annotated[str, Spelling(terminal="ID", http=False, help="As `list` shows it.")]
Everything = Annotated[bool, Spelling(help="Also what is decided already.")]
RunId = Annotated[str, Spelling(terminal=None, help="Of one run.")]
Reason = Annotated[str, Spelling(help="The agent reads it.")]
_OF_FIRST = "$response.body#/0/id"


def _post(path: str) -> Http:
    return Http(method="POST", path=path, problems=(409,), links={"showItem": "$response.body#/id"})


class ItemList(Operation[list[Item]]):
    reads = True

    def document(self, output: list[Item]) -> list[dict[str, Any]]:
        return [document(item) for item in output]

    async def read(self, project: OpenProject, run: str, kind: Kind | None, *, all: bool) -> list[Item]:
        items = await read_inbox(project.journal, ItemQuery(run=run))
        return [item for item in items if kind in (None, item.kind) and (all or item.is_open)]


class ListInbox(ItemList):
    """List what waits for someone, of all runs, the oldest first."""

    command = "list"
    examples = ("folkmoot inbox list", "folkmoot inbox list --all --json")
    http = Http(
        method="GET",
        path="/inbox",
        links=dict.fromkeys(("showItem", "answerQuestion", "settleCall"), _OF_FIRST),
    )
    run_id: RunId = msgspec.field(default="", name="run")
    all: Everything = False
    kind: Annotated[Kind | None, Spelling(terminal=None)] = None
    """Those of this kind."""

    async def run(self, project: OpenProject, actor: Actor) -> list[Item]:
        return await self.read(project, self.run_id, self.kind, all=self.all)


class ListApprovals(ItemList):
    """List the calls that wait for someone's word."""

    command = "list"
    examples = ("folkmoot approvals list",)
    http = Http(
        method="GET",
        path="/approvals",
        links=dict.fromkeys(("approveCall", "denyCall", "revokeApproval"), _OF_FIRST),
    )
    run_id: RunId = msgspec.field(default="", name="run")
    all: Everything = False

    async def run(self, project: OpenProject, actor: Actor) -> list[Item]:
        return await self.read(project, self.run_id, "approval", all=self.all)


class ShowItem(Operation[Item]):
    """Show one item: who asks, and the whole call or question."""

    command = "show"
    examples = ("folkmoot inbox show ap_1f0a2b3c4d5e",)
    http = Http(method="GET", path="/inbox/{id}")
    subject = "id"
    reads = True
    id: ItemId

    async def run(self, project: OpenProject, actor: Actor) -> Item:
        return await find_item(project.journal, self.id)

    def document(self, output: Item) -> dict[str, Any]:
        return document(output)


class RecordedReply(msgspec.Struct, rename="camel"):
    """What was said is durable."""

    id: str
    status: str
    run_id: str
    held_by: str | None
    """The process that goes on with the run; null if none has it."""
    by_workers: bool
    """Whether a worker takes it then."""


class ReplyToItem(Operation[RecordedReply]):
    """Leave a reply; whoever holds the run goes on with it, else a server or a worker does."""

    subject = "id"
    reads_files = False
    needs_runs = True
    id: ItemId
    wake: Annotated[bool, Spelling(terminal=None, http=False)] = True
    """Whether workers are told."""

    def reply(self, item: Item, by: str) -> Reply:
        raise NotImplementedError

    async def run(self, project: OpenProject, actor: Actor) -> RecordedReply:
        reply = self.reply(await find_item(project.journal, self.id), actor.id)
        item = await project.engine.reply(reply, wake=self.wake)
        project.host.go_on(item.run)
        owner = await find_holder(project.journal, item.run)
        return RecordedReply(item.id, "recorded", item.run, owner or None, project.journal.shared)


class AnswerQuestion(ReplyToItem, kw_only=True):
    """Answer a question of an agent, or say what a tool of its caller gave."""

    command = "answer"
    examples = (
        'folkmoot inbox answer q_1f0a2b3c4d5e "The blue one."',
        'folkmoot inbox answer q_1f0a2b3c4d5e "The blue one." --resume',
    )
    http = _post("/inbox/{id}/answer")
    text: Annotated[str, Spelling(terminal="TEXT")]
    """What the agent will read."""

    def reply(self, item: Item, by: str) -> Reply:
        if item.kind == "question" and not self.text.strip():
            raise WrongUse(f"there is nothing in the answer to {item.id}; give it a text", code=BAD_VALUE)
        return item.answer(self.text, by)


class SettleCall(ReplyToItem, kw_only=True):
    """Say what became of a call that was under way when its process died, or that a tool of the run's caller failed.

    `done`: it happened, and its result is TEXT. `retry`: it did not, make it again. `fail`: tell the agent that it
    failed.
    """

    command = "settle"
    examples = (
        'folkmoot inbox settle doubt_1f0a2b3c4d5e done --text "refund 4711"',
        "folkmoot inbox settle doubt_1f0a2b3c4d5e fail --resume",
    )
    http = _post("/inbox/{id}/settle")
    decision: Annotated[Settlement, Spelling(terminal="done|retry|fail")]
    """What became of the call."""
    text: str = ""
    """Its result, or why it failed; the agent reads it."""

    def reply(self, item: Item, by: str) -> Reply:
        return item.settle(self.decision, self.text, by)


class ApproveCall(ReplyToItem):
    """Let a call be made: exactly the one that is shown, once.

    Equal calls are those of the same tool with the same arguments.
    """

    command = "approve"
    examples = (
        "folkmoot approvals approve ap_1f0a2b3c4d5e --resume",
        "folkmoot approvals approve ap_1f0a2b3c4d5e --for-run",
    )
    http = _post("/approvals/{id}/approve")
    scope: Annotated[Literal["once", "run", "always"], Spelling(terminal=None)] = "once"
    """`run`: equal calls of this run need no further word. `always`: nor do equal calls of later runs; that adds a
    rule to folkmoot.yaml."""

    async def run(self, project: OpenProject, actor: Actor) -> RecordedReply:
        if self.scope == "always":
            item = await find_item(project.journal, self.id)
            await asyncio.to_thread(allow_call_always, project.host.folder, require_open(item), actor.id)
        return await super().run(project, actor)

    def reply(self, item: Item, by: str) -> Reply:
        return item.approve(by, "once" if self.scope == "once" else "run")


class DenyCall(ReplyToItem):
    """Refuse a call; the agent reads why and goes on without it."""

    command = "deny"
    examples = ('folkmoot approvals deny ap_1f0a2b3c4d5e --reason "too much money"',)
    http = _post("/approvals/{id}/deny")
    reason: Reason = ""

    def reply(self, item: Item, by: str) -> Reply:
        return item.deny(self.reason, by)


class RevokeApproval(ReplyToItem):
    """Take an approval back, as long as the call was not made; the agent reads it as a denial."""

    command = "revoke"
    examples = ('folkmoot approvals revoke ap_1f0a2b3c4d5e --reason "wrong customer"',)
    http = _post("/approvals/{id}/revoke")
    reason: Reason = ""

    def reply(self, item: Item, by: str) -> Reply:
        return item.revoke(self.reason, by)


def require_open(item: Item) -> Item:
    if item.kind != "approval" or not item.is_open:
        raise WrongUse(f"{item.id} is no approval that waits for a word")
    return item


INBOX: tuple[OperationType, ...] = (ListInbox, ShowItem, AnswerQuestion, SettleCall)
APPROVALS: tuple[OperationType, ...] = (ListApprovals, ApproveCall, DenyCall, RevokeApproval)
OPERATIONS = INBOX + APPROVALS
