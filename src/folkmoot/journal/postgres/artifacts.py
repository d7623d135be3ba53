"""The artifacts of a project's schema: kept before entries name them, swept when none does any more.

Content is sent before the head is locked, because it may be large; whoever then names it makes sure under the lock that
it is still there, and nothing is removed but under the same lock. So no sweep, on whatever host, comes between.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from folkmoot.domain.catalogue import MENTIONED
from folkmoot.journal.artifacts import REFRESH, Unnamed, sound
from folkmoot.journal.postgres.server import Connection
from folkmoot.journal.postgres.statements import select
from folkmoot.ports import Swept

_BYTES = 8_000_000
"""Sent at a time, unless a single content is larger."""
_PAGE = 500
"""Entries looked at in one go."""

Ask = Callable[..., Awaitable[Any]]
"""A statement and its values become rows."""


def portions(contents: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """In order of their ids, so that no two who keep the same wait for each other."""
    portion, size = dict[str, bytes](), 0
    for id, content in sorted(contents.items()):
        if portion and size + len(content) > _BYTES:
            yield portion
            portion, size = {}, 0
        portion[id] = content
        size += len(content)
    if portion:
        yield portion


async def keep(contents: Mapping[str, bytes], connection: Connection) -> None:
    """What is there already is not sent again, only young again."""
    missing = [id for (id,) in await select(connection, _REFRESHED, [*map(bytes.fromhex, contents)])]
    if missing:
        await connection.execute(_KEEP, (missing, [contents[id.hex()] for id in missing]))


async def unnamed(ask: Ask, young: float) -> Unnamed:
    """Of those that were not kept within the last `young` seconds. Takes as long as reading the whole journal."""
    ((before,),) = await ask("SELECT moment() - %s::float8", young)
    ids = {id.hex() for (id,) in await ask("SELECT id FROM artifact WHERE kept < %s", before)}
    seq = await _strike(ask, ids, 0)
    return Unnamed(ids, before, seq)


async def remove(found: Unnamed, swept: list[Swept], connection: Connection) -> None:
    """Under the lock: no entry can be added now, and what was kept again meanwhile is no longer old."""

    async def ask(statement: str, *values: object) -> Any:
        return await select(connection, statement, *values)

    ids = set(found.ids)
    await _strike(ask, ids, found.seq)
    rows = await ask(_REMOVE, [*map(bytes.fromhex, ids)], found.before)
    swept.append(Swept(len(rows), sum(size for (size,) in rows)))


async def _strike(ask: Ask, ids: set[str], after: int) -> int:
    """Take whatever the entries after this one mention off the list; the last entry that was looked at."""
    while ids and (rows := await ask(_ENTRIES, after, _PAGE)):
        for _, text, data in rows:
            mentioned: list[bytes] = MENTIONED.findall(text)
            if data is not None:
                mentioned.append(data.hex().encode())
                for (content,) in await ask("SELECT content FROM artifact WHERE id = %s", data):
                    mentioned += MENTIONED.findall(sound(data.hex(), content, "the database"))
            ids.difference_update(map(bytes.decode, mentioned))
        after = rows[-1][0]
    return after


_REFRESHED = f"""
WITH wanted AS (SELECT unnest(%b::bytea[]) AS id),
  old AS (SELECT id FROM artifact WHERE id IN (SELECT id FROM wanted) AND kept < moment() - {REFRESH}
    ORDER BY id FOR UPDATE),
  refreshed AS (UPDATE artifact SET kept = moment() WHERE id IN (SELECT id FROM old))
SELECT id FROM wanted WHERE NOT EXISTS (SELECT FROM artifact WHERE artifact.id = wanted.id) ORDER BY id"""
# Who was quicker kept it just now.
_KEEP = """
INSERT INTO artifact SELECT id, content, moment() FROM unnest(%b::bytea[], %b::bytea[]) AS new (id, content)
ON CONFLICT DO NOTHING"""
_REMOVE = "DELETE FROM artifact WHERE id = ANY(%s::bytea[]) AND kept < %s RETURNING length(content)"
_ENTRIES = "SELECT seq, text, data FROM entry WHERE seq > %s ORDER BY seq LIMIT %s"
