"""Which trace a client's request belongs to, as its headers say."""

from __future__ import annotations

from starlette.datastructures import Headers

from folkmoot.domain.trace import PARENT, STATE, Told, told


def trace_of(headers: Headers) -> Told:
    """Fields of an `Errand`. A header that comes twice is one with commas: sound for one of the two only."""
    return told({name: ",".join(headers.getlist(name)) for name in (PARENT, STATE)})
