"""One thing that `folkmoot doctor` found."""

from __future__ import annotations

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    status: Literal["ok", "warning", "failed"]
    text: str
    provider: str = ""
    """Of a model server: its line below `providers` in `folkmoot.yaml`."""
    model: str = ""
    """Of a model server: one of its models, as `models` takes it."""
