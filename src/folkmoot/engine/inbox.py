"""The inboxes of all runs, as the journal tells them: what is open, and what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from folkmoot.domain.inbox import APPROVED, Item, Reply, decided
from folkmoot.errors import NotFound, WrongUse
from folkmoot.ports import ItemQuery, Journal, Post

ANSWER = "answer"
"""The kind of a post that holds a reply."""
ATTEND_EVERY = 0.25
"""Seconds between looks into the inboxes of the runs that are held here."""


async def read_inbox(journal: Journal, query: ItemQuery = ItemQuery()) -> list[Item]:
    """Items of a run, or of all, the oldest first; an answer that nobody took in yet counts."""
    return await _with_replies(journal, await journal.items(query))


async def _with_replies(journal: Journal, items: Sequence[Item]) -> list[Item]:
    waiting = {item.run for item in items if item.is_open or item.status in APPROVED}
    known = {item.id: item for item in items}
    for post in await journal.posts([*waiting]) if waiting else ():
        reply = read_reply(post)
        if reply and (item := known.get(reply.id)):
            with suppress(WrongUse):
                decided(item, reply)
                said = {"by": reply.by, "text": reply.text, "ticket": reply.ticket}
                known[item.id] = replace(item, status=reply.word, **said)
    return list(known.values())


async def find_item(journal: Journal, id: str) -> Item:
    for item in await _with_replies(journal, await journal.items(ItemQuery(id=id)) if id else ()):
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
