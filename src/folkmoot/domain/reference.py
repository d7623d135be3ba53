"""How people name a run or a record: by its id, the beginning of one that fits no other, or `last`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from folkmoot.domain.entry import Draft
from folkmoot.errors import NotFound, WrongUse

R = TypeVar("R")
LAST = "last"
_SHOWN = 5
"""Ids that are named when several fit."""


@dataclass(frozen=True)
class Reference:
    name: str
    """For people: `task`."""
    prefix: str
    """Of their ids, which are the names of their streams; nobody need write it."""
    command: str
    """What lists them."""

    def resolve(self, ids: Iterable[str], name: str) -> str:
        """`ids` are in the order in which they came into being. Raises `NotFound`, or `WrongUse` if several fit."""
        known = [*ids]
        if name in known:
            return name
        if name == LAST and known:
            return known[-1]
        wanted = name.removeprefix(self.prefix)
        fitting = [id for id in known if wanted and id.removeprefix(self.prefix).startswith(wanted)]
        if not fitting:
            raise self.missing(name)
        if len(fitting) > 1:
            more = " …" if len(fitting) > _SHOWN else ""
            shown = ", ".join(fitting[:_SHOWN])
            told = f"{len(fitting)} {self.name}s begin with {name!r}: {shown}{more}; write more of the id"
            raise WrongUse(told, code="ambiguous_id")
        return fitting[0]

    def missing(self, id: str) -> NotFound:
        remedy = f"; `{self.command}` shows those that are" if self.command else ""
        return NotFound(
            f"there is no {self.name} {id!r}{remedy}", code=f"{self.name.replace(' ', '_')}_not_found"
        )


@dataclass(frozen=True)
class Kind(Reference, Generic[R]):
    """A kind of record."""

    evolve: Callable[[R | None, Draft], R]
    """The record after one more event; before the first there is none."""


RUN = Reference("run", "", "folkmoot runs list")
CONVERSATION = Reference("conversation", "conv_", "folkmoot conversations list --all")
