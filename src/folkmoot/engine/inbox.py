"""The inboxes of all runs, as the journal tells them: what is open, and what was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.inbox import inbox
from folkmoot.domain.item import Item, Reply, decided
from folkmoot.errors import NotFound, WrongUse
from folkmoot.ports import Journal, Post, Query

ANSWER = "answer"
"""The kind of a post that holds a reply."""
ATTEND_EVERY = 0.25
"""Seconds between looks into the inboxes of the runs that are held here."""
ASKING = ("question.asked", "client.called", "approval.requested", "tool.in_doubt")
CHANGING = (
    *(*ASKING, "question.answered", "client.answered", "approval.declined", "approval.expired"),
    *("approval.approved", "approval.denied", "approval.revoked", "tool.settled", "tool.started"),
    *("tool.finished", "tool.failed", "run.completed", "run.failed", "run.cancelled", "run.pruned"),
    "run.forked",
)
"""The events that change what waits for people in a run, or may."""


async def read_inbox(journal: Journal, run: str) -> list[Item]:
    """Every item of a run, the oldest first; an answer that nobody took in yet counts."""
    return await with_replies(journal, await items_of(journal, run))


async def with_replies(journal: Journal, items: dict[str, Item]) -> list[Item]:
    waiting = {item.run for item in items.values()}
    for post in await journal.posts([*waiting]) if waiting else ():
        reply = read_reply(post)
        if reply and (item := items.get(reply.id)):
            with suppress(WrongUse):
                decided(item, reply)
                said = {"by": reply.by, "text": reply.text, "ticket": reply.ticket}
                items[item.id] = replace(item, status=reply.word, **said)
    return list(items.values())


async def find_item(journal: Journal, id: str) -> Item:
    async for run in _naming(journal, id):
        for item in await read_inbox(journal, run):
            if item.id == id:
                return item
    raise NotFound(
        f"nothing waits under the id {id!r}; `folkmoot inbox list` shows what does", code="item_not_found"
    )


def read_reply(post: Post) -> Reply | None:
    """None for other posts, and for what is no reply."""
    if post.kind != ANSWER:
        return None
    try:
        return msgspec.json.decode(post.body, type=Reply)
    except msgspec.DecodeError:
        return None


async def _naming(journal: Journal, id: str) -> AsyncIterator[str]:
    """The runs that may ask under this id, the newest first: an agent may write an id that is another's."""
    if not id:
        return
    if "/" in id:  # a call in doubt of 0.1.0
        yield id.partition("/")[0]
    named, told = id.encode(), set[str]()
    async for stored in journal.stored(Query(types=ASKING, newest_first=True)):
        if named in stored.text and stored.stream not in told:
            told.add(stored.stream)
            yield stored.stream


async def items_of(journal: Journal, run: str) -> dict[str, Item]:
    drafts: Sequence[Draft] = [entry.draft async for entry in journal.read(Query(stream=run))]
    return inbox(run, drafts)
