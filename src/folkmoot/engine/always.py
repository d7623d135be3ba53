"""A person's "always" to a call: a rule in the project's settings, and this user's consent to that rule."""

from __future__ import annotations

from pathlib import Path

from folkmoot.domain.item import Item
from folkmoot.loader.project_file import allow_always
from folkmoot.tools.consent import ConsentStore
from folkmoot.tools.wanted import rule_item


def allow_call_always(folder: Path, item: Item, by: str) -> None:
    """From the next run on, this very call needs no approval."""
    ConsentStore().grant(folder, [rule_item(allow_always(folder, item, by))])
