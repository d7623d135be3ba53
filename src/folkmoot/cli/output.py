"""The only way to the terminal: what was asked for on stdout, the rest on stderr, nothing of it raw."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from folkmoot.domain.text import one_line
from folkmoot.views.figures import counted as counted

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

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u2028\u2029"  # line and paragraph separator
    "\u202a-\u202e\u2066-\u2069"  # bidi embeddings, overrides and isolates
    "\ud800-\udfff]"  # lone surrogates: no stream can write them
)
_NEWLINES = re.compile("\r\n?")
_hidden: list[Callable[[str], str]] = []


def write(text: str = "", style: str = "") -> None:
    """On stdout: what was asked for."""
    _print(console(), text, style)


def write_stderr(text: str, style: str = "") -> None:
    """On stderr: what people want to know beside it."""
    _print(console(stderr=True), text, style)


def write_json(value: Any) -> None:
    """The one document that `--json` prints."""
    import msgspec

    plain = msgspec.to_builtins(value)
    text = json.dumps(plain, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
    print(redact_and_escape(text))


def write_markdown(text: str) -> None:
    """Rendered; links keep their address in sight."""
    from rich.markdown import Markdown

    console().print(Markdown(sanitize_text(text), hyperlinks=False))


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
    return Text(sanitize_text(text).replace("\n", " ").replace("\t", " "), style)


def _print(target: Console, text: str, style: str) -> None:
    from rich.text import Text

    target.print(Text(sanitize_text(text), style), soft_wrap=True)


@contextmanager
def show_progress(doing: str, what: str = "entries") -> Iterator[Callable[[int], None]]:
    """Tell it now and then how much is done."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    with console(stderr=True).status(f"{doing} …") as status:
        yield lambda count: status.update(f"{doing}: {count:,} {what}")


def set_redactor(redact: Callable[[str], str]) -> None:
    """From here on, whatever this process shows is redacted so."""
    _hidden[:] = [redact]


def sanitize_text(text: str) -> str:
    """Newlines and tabs stay; other control characters are spelled as JSON does it, so JSON stays JSON."""
    return redact_and_escape(_NEWLINES.sub("\n", text))


def redact_and_escape(text: str) -> str:
    for redact in _hidden:
        text = redact(text)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def format_one_line(text: str, width: int = 0) -> str:
    """For a place of one line: white space collapsed, cut at `width` characters if that is given."""
    return one_line(sanitize_text(text), width)


def format_tokens(count: int) -> str:
    return counted(count, "token")


def format_dollars(amount: float) -> str:
    """Four digits for small bills, because most are."""
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def format_seconds(elapsed: float) -> str:
    if elapsed < 60:
        return f"{elapsed:.1f} s"
    minutes, rest = divmod(round(elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"


def format_elapsed(start: str | None, end: str | None) -> str:
    """The time from one timestamp to another; empty if one is missing."""
    if not start or not end:
        return ""
    return format_seconds((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def format_local_time(timestamp: str) -> str:
    """A timestamp in the time zone of this machine."""
    return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
