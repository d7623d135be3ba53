"""One thing that `folkmoot doctor` found."""

from __future__ import annotations

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True):
    id: str
    status: Literal["ok", "warning", "failed"]
    text: str
