"""How far long work has come, where somebody is watching; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from folkmoot.cli.output import console


@contextmanager
def counting(doing: str, what: str = "entries") -> Iterator[Callable[[int], None]]:
    """Tell it now and then how much is done."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    with console(stderr=True).status(f"{doing} …") as status:
        yield lambda count: status.update(f"{doing}: {count:,} {what}")
