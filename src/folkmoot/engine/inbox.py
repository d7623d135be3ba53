"""The inboxes of all runs, as the journal tells them: what is open, and how to leave an answer there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from folkmoot.domain.item import APPROVED, Item, Reply, check_time, decided, too_late
from folkmoot.engine.owner import holder
from folkmoot.errors import NotFound, WrongUse
from folkmoot.orchestration.invocation import Run
from folkmoot.ports import InboxQuery, Journal, Post

ANSWER = "answer"
"""The kind of a post that holds a reply."""
ATTEND_EVERY = 0.25
"""Seconds between looks into the inboxes of the runs that are held here."""


async def read_inbox(journal: Journal, query: InboxQuery = InboxQuery()) -> list[Item]:
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
    for item in await _with_replies(journal, await journal.items(InboxQuery(id=id)) if id else ()):
        return item
    raise NotFound(
        f"nothing waits under the id {id!r}; `folkmoot inbox list` shows what does", code="item_not_found"
    )


async def leave(journal: Journal, reply: Reply, now: str, *, wake: bool = True) -> Item:
    """Leave an answer in the inbox of its run. Raises `WrongUse` if it comes too late: the first one counts."""
    item = await find_item(journal, reply.id)
    check_time(item, reply, now)
    decided(item, reply)
    await journal.post(item.run, ANSWER, msgspec.json.encode(reply).decode(), wake=wake)
    for post in await journal.posts([item.run]):
        first = read_reply(post)
        if first and first.id == reply.id and (first.word == "revoke") == (reply.word == "revoke"):
            if first != reply:
                raise WrongUse(f"{reply.id} is decided already: {first.word} by {first.by}")
            break
    return item


async def withdrawn(journal: Journal, item: Item, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Return when a revocation that was left holds. Raises `WrongUse` if the call was made before it was read.

    If nobody holds the run, whoever does next reads what was left before anything else.
    """
    while await holder(journal, item.run) and await _is_left(journal, item):
        await sleep(ATTEND_EVERY)
    now = await find_item(journal, item.id)
    if now.status not in ("revoke", "revoked"):
        raise too_late(now)


async def _is_left(journal: Journal, item: Item) -> bool:
    left = [read_reply(post) for post in await journal.posts([item.run])]
    return any(reply and reply.id == item.id and reply.word == "revoke" for reply in left)


def read_reply(post: Post) -> Reply | None:
    """None for other posts, and for what is no reply."""
    if post.kind != ANSWER:
        return None
    try:
        return msgspec.json.decode(post.body, type=Reply)
    except msgspec.DecodeError:
        return None


async def take_in(journal: Journal, run: Run, post: Post) -> None:
    """Let an answer happen to a run that is held here; one that came too late is dropped."""
    if reply := read_reply(post):
        with suppress(WrongUse):
            run.inbox.take(reply)
        await run.log.settle()
    await journal.take(post)
