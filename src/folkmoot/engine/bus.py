"""Tells listeners what happens in a project, as it happens. The bus is the journal: there is no second stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Self

import msgspec

from folkmoot.coordination.author import Author
from folkmoot.domain.entry import Draft, Entry
from folkmoot.engine.history import append_last
from folkmoot.errors import JournalTooNew, NotFound, WrongUse
from folkmoot.journal.codec import decode_event
from folkmoot.ports import Clock, Journal

PROJECT = "project"
"""The stream of what belongs to no run and no record."""

Listener = Callable[[Entry], None]
_log = logging.getLogger(__name__)


class Bus:
    """Use it as `async with moot.bus() as bus:`; whoever subscribes hears what becomes durable from then on."""

    def __init__(self, journal: Journal, clock: Clock, after: int) -> None:
        """`after`: the position of the journal from which on listeners are told."""
        self._journal = journal
        self._clock = clock
        self._after = after
        self._listeners: list[tuple[str, Listener]] = []

    async def __aenter__(self) -> Self:
        self._hearing = asyncio.create_task(self._hear())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)

    def subscribe(self, pattern: str, listener: Listener) -> Callable[[], None]:
        """To a type of events, `task.*` or `*`. What is returned ends it."""
        heard = (pattern, listener)
        self._listeners.append(heard)

        def unsubscribe() -> None:
            if heard in self._listeners:
                self._listeners.remove(heard)

        return unsubscribe

    def reset(self) -> None:
        """End all subscriptions."""
        self._listeners.clear()

    async def emit(self, type: str, data: Mapping[str, Any], author: Author = Author()) -> None:
        """Record an event of the project. Raises `WrongUse`, and records nothing, if it is not what the type says."""
        try:
            event = decode_event(type, 1, msgspec.json.encode(data))
        except JournalTooNew:
            raise NotFound(
                f"there is no event {type!r}; docs/reference/events.md lists them", code="event_not_found"
            ) from None
        except msgspec.ValidationError as error:
            raise WrongUse(f"this is no {type} event: {error}") from error
        draft = Draft(self._clock.now(), event, agent_id=author.name, work_session_id=author.work_session)
        await append_last(self._journal, PROJECT, draft)

    async def _hear(self) -> None:
        """Tell everybody, without end. What a listener does wrong harms no one else."""
        async for entry in self._journal.follow(self._after):
            for pattern, listener in [*self._listeners]:
                if not fnmatchcase(entry.event.type, pattern):
                    continue
                try:
                    listener(entry)
                except Exception:
                    _log.exception("a listener of %r failed", pattern)
