"""What may be spent, and what things cost."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from folkmoot.domain.message import Usage
from folkmoot.domain.value import Value

Duration = Annotated[float, Meta(ge=0, extra={"written": "duration"})]
"""Seconds. Written as `domain.duration` reads it; `off` is 0 and means without end."""

LEAST_OUTPUT = 256
"""A model is never asked for fewer output tokens than this: it could not say anything useful."""


class Budget(Value, forbid_unknown_fields=True):
    """Limits of one invocation and everything it starts. Absent means: only what lies around it limits."""

    usd: Annotated[float, Meta(gt=0)] | None = None
    """US dollars."""
    tokens: Annotated[int, Meta(gt=0)] | None = None
    """Input and output tokens together."""
    requests: Annotated[int, Meta(gt=0)] | None = None
    """Model requests, failed attempts included."""
    descendants: Annotated[int, Meta(ge=0)] | None = None
    """Agent sessions below this one."""
    wall: Duration | None = None
    """Time from its start."""


class Limits(Value, forbid_unknown_fields=True):
    """Bounds of a whole run that are on by default."""

    call_depth: Annotated[int, Meta(ge=1)] = 3
    """How deep agents may call agents as tools; the root counts."""
    a2a_hops: Annotated[int, Meta(ge=1)] = 5
    """How many hops a message between agents may take."""
    children_per_parent: Annotated[int, Meta(ge=1)] = 20
    """How many agents one agent session may call as tools."""
    concurrent: Annotated[int, Meta(ge=1)] = 16
    """How many model requests of one run may be under way at once."""
    tool_calls_per_minute: Annotated[int, Meta(ge=1)] | None = None
    """How many tool calls each agent of a run may make within 60 s; absent: no such limit."""
    client_call: Duration = 86_400.0
    """How long a call of a tool that the run's caller brought along waits for its result; then the run is cancelled.
    `off`: without end."""


class Price(Value, forbid_unknown_fields=True):
    """US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0)]
    """US dollars per million tokens that are sent."""
    output: Annotated[float, Meta(ge=0)]
    """US dollars per million tokens that come back."""
    cache_read: Annotated[float, Meta(ge=0)] | None = None
    """Absent: as `input`."""
    cache_write: Annotated[float, Meta(ge=0)] | None = None
    """Absent: as `input`."""


class Room(Value):
    """What is left of one limit, and whose limit it is."""

    left: float = math.inf
    limit: str = ""
    """Such as `5 requests of 'front-desk'`."""


class Allowance(Value):
    """What one session may spend now, over all budgets around it."""

    requests: Room = Room()
    tokens: Room = Room()
    usd: Room = Room()
    seconds: Room = Room()


FREE = Price(input=0.0, output=0.0)


def cost(usage: Usage, price: Price) -> float:
    """`tokens_in` counts all input; what came from or went to a cache is a part of it."""
    read, write = usage.tokens_cache_read, usage.tokens_cache_write
    plain = max(0, usage.tokens_in - read - write)
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    spent = plain * price.input + read * read_price + write * write_price + usage.tokens_out * price.output
    return spent / 1_000_000
