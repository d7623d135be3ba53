"""Prices and context windows of well-known models, from `known.json` (made by `checks/known_models.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from folkmoot.domain.agent import KnownModel
from folkmoot.domain.budget import Price

_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)$")


@cache
def known_models() -> Mapping[str, KnownModel]:
    """By `provider/model`. A name with a date or `-latest` at its end is found under the bare name."""
    rows = msgspec.json.decode(
        Path(__file__).with_name("known.json").read_bytes(), type=dict[str, list[_Row]]
    )
    return _Known({name: row for row_list in rows.values() for row in row_list for name in row.names})


class _Row(msgspec.Struct, array_like=True):
    """One line of the data file."""

    names: list[str]
    context_window: int
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class _Known(Mapping[str, KnownModel]):
    def __init__(self, rows: dict[str, _Row]) -> None:
        self._rows = rows

    def __getitem__(self, ref: str) -> KnownModel:
        row = self._rows.get(ref) or self._rows[_DATED.sub("", ref)]
        return KnownModel(row.context_window, Price(row.input, row.output, row.cache_read, row.cache_write))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
