"""The live tree: the agents of a run, who caused whom, and what each does now; drawn again and again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from folkmoot.cli.output import (
    STYLES,
    format_dollars,
    format_elapsed,
    format_one_line,
    format_tokens,
    sanitize_text,
)
from folkmoot.domain.entry import Draft, pattern
from folkmoot.engine.clock import SystemClock
from folkmoot.orchestration.invocation import SpanTokenListener
from folkmoot.ports import Clock
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import Branch, Row, open_rows, rows
from folkmoot.views.timeline import line_of

_MARKS = {"completed": "✔", "failed": "✘", "cancelled": "■", "waiting": "·"}
_NAME, _STATE = 14, 20
"""The least widths; with them the tree does not jump about while it grows."""
_CAUSE, _TOKENS, _COST, _ELAPSED = 7, 12, 8, 6
_GAP = 2
_log = logging.getLogger("folkmoot")


class LiveDisplay:
    def __init__(self, console: Console, clock: Clock | None = None) -> None:
        self._tree = RunTree()
        self.hear: SpanTokenListener | None = self._tree.hear
        self._console = console
        self._clock = clock or SystemClock()
        self._notes: list[str] = []
        self._aside = False
        self._spinner = Spinner("dots")
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def take(self, draft: Draft) -> None:
        self._tree.apply(draft)
        if line := line_of(draft, detailed=True):
            _log.info(sanitize_text(line))

    def recall(self, draft: Draft) -> None:
        self._tree.apply(draft)

    def note(self, text: str) -> None:
        self._notes.append(text)
        self.beat()

    @contextmanager
    def aside(self) -> Iterator[None]:
        self._live.stop()
        self._aside = True
        try:
            yield
        finally:
            self._aside = False

    def beat(self) -> None:
        if self._aside:
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._drawing(whole=False), refresh=True)

    def close(self) -> None:
        """The last state stays on the screen, whole, however long it is."""
        self._live.stop()
        self._notes.clear()
        if self._tree.root:
            self._console.print(self._drawing(whole=True))
            self._console.print()

    def _drawing(self, *, whole: bool) -> Group:
        every = list(rows(self._tree.root)) if self._tree.root else []
        room = max(3, self._console.height - len(self._notes) - 3)
        kept = every if whole or len(every) <= room else open_rows(every)[:room]
        hidden = len(every) - len(kept)
        notes = [f"… and {hidden} more"] * bool(hidden) + self._notes
        return Group(self._table(kept, whole=whole), *(Text(note, "yellow") for note in notes))

    def _table(self, kept: list[Row], *, whole: bool) -> Table:
        """What does not fit is cut where it is least missed: the bill first, then what is being done."""
        names = [self._name(row) for row in kept]
        name = max([_NAME, *(text.cell_len for text in names)])
        left = self._console.width - name - _CAUSE - _ELAPSED - 3 * _GAP
        billed = left - _TOKENS - _COST - 2 * _GAP >= _STATE
        state = max(_STATE, left - (_TOKENS + _COST + 2 * _GAP if billed else 0) - _GAP)
        grid = Table.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(no_wrap=True, width=name)
        grid.add_column(no_wrap=True, width=_CAUSE)
        grid.add_column(no_wrap=not whole, overflow="ellipsis", width=min(state, 60))
        for width in (_TOKENS, _COST) * billed + (_ELAPSED,):
            grid.add_column(no_wrap=True, justify="right", width=width)
        for text, row in zip(names, kept, strict=True):
            branch = row.branch
            bill = (
                (format_tokens(branch.tokens), format_dollars(branch.cost_usd)) if branch.tokens else ("", "")
            )
            amounts = (*(bill if billed else ()), self._elapsed(branch))
            cells = [Text(amount, "dim") for amount in amounts]
            grid.add_row(text, Text(pattern(branch.cause), "dim"), self._state(branch), *cells)
        return grid

    def _name(self, row: Row) -> Text:
        agent = format_one_line(row.branch.agent)
        return Text.assemble((row.guide, "dim"), self._mark(row.branch), " ", (agent, "bold"))

    def _mark(self, branch: Branch) -> Text:
        busy = branch.status == "running" or (branch.status == "waiting" and branch.children)
        if busy and not self._tree.status:
            frame = self._spinner.render(self._console.get_time())
            return frame if isinstance(frame, Text) else Text("*")
        return Text(_MARKS.get(branch.status, "·"), STYLES.get(branch.status, ""))

    def _state(self, branch: Branch) -> Text:
        said = format_one_line(branch.doing or branch.note)
        style = {"failed": "red", "cancelled": "yellow"}.get(branch.status, "")
        state = Text(f"turn {branch.turn}  " if branch.turn and branch.status == "running" else "", "dim")
        state.append(said, style)
        if branch.heard and not branch.tools:
            state.append("  …" + format_one_line(branch.heard)[-30:], "dim italic")
        return state

    def _elapsed(self, branch: Branch) -> str:
        until = branch.ended_at or ("" if self._tree.status else self._clock.now())
        return format_elapsed(branch.started_at, until)
