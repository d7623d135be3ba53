"""The only way to the terminal: what was asked for on stdout, the rest on stderr, nothing of it raw."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from folkmoot.cli.shown import escaped, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Cell = str | tuple[str, str]
"""What stands in a table: a text, or a text and its style."""

STYLES = {
    "completed": "green",
    "running": "cyan",
    "queued": "cyan",
    "waiting": "magenta",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "pruned": "dim",
    "ok": "green",
    "warning": "yellow",
}


def write(text: str = "", style: str = "") -> None:
    """On stdout: what was asked for."""
    _print(console(), text, style)


def say(text: str, style: str = "") -> None:
    """On stderr: what people want to know beside it."""
    _print(console(stderr=True), text, style)


def write_json(value: Any) -> None:
    """The one document that `--json` prints."""
    import msgspec

    plain = msgspec.to_builtins(value)
    text = json.dumps(plain, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
    print(escaped(text))


def write_markdown(text: str) -> None:
    """Rendered; links keep their address in sight."""
    from rich.markdown import Markdown

    console().print(Markdown(shown(text), hyperlinks=False))


def write_table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Aligned columns; on a terminal a line that does not fit is cut, in a pipe it is whole."""
    from rich.text import Text

    lines = [[_cell(cell) for cell in row] for row in ([(name.upper(), "dim") for name in head], *rows)]
    widths = [max(line[column].cell_len for line in lines) for column in range(len(head))]
    target = console()
    for line in lines:
        for cell, width in zip(line[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
        joined = Text("  ").join(line)
        joined.rstrip()
        write_line(target, joined)


def write_line(target: Console, text: Text) -> None:
    if target.file.isatty():
        target.print(text, no_wrap=True, overflow="ellipsis")
    else:
        target.print(text, soft_wrap=True)


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def _cell(cell: Cell) -> Text:
    from rich.text import Text

    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(shown(text).replace("\n", " ").replace("\t", " "), style)


def _print(target: Console, text: str, style: str) -> None:
    from rich.text import Text

    target.print(Text(shown(text), style), soft_wrap=True)
