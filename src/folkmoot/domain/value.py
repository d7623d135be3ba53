"""The base of everything that is stored or shown."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen, compared by content, camelCase outside, defaults left out; subclasses inherit all of it.

    Values are trees, never cycles, so the garbage collector need not look at them.
    """
