"""What a page shows, compared with what there is: printed, or in the journal of the project."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SessionStarted
from folkmoot.engine.workshop import open_journal
from folkmoot.ports import Query

_MASKS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\d{8}-\d{6}-[0-9a-f]{8}", "RUN"),
        (r"\b(ap|q|doubt|task|plan|decision|ws)_[0-9a-f]{8,}\b", r"\1_ID"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"(?<=__)[0-9a-f]{12}\b", "NONCE"),
        (r"(?<=_)[0-9a-f]{8}\b", "SUFFIX"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z|,\d+)?", "MOMENT"),
        (r"\b\d+(\.\d+)? ?(ms|s)\b", "TIME"),
        (r"[ \t]+", " "),
    )
]
_MORE = re.compile(r"^more: folkmoot docs .*\n", re.MULTILINE)


class Block(NamedTuple):
    mark: str
    language: str
    text: str
    line: int


class Lie(AssertionError):
    """The page says something that is not so."""


def compare(block: Block, what: str, shown: str, real: str) -> None:
    """The line that leads from an error to its page may be left out."""
    if not _MORE.search(shown):
        real = _MORE.sub("", real)
    if not fits(shown, real):
        raise Lie(f"line {block.line}: {what} is shown with\n\n{shown}\nbut gives\n\n{real}")


def fits(shown: str, real: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*?") + "\n"
        for line in _masked(shown).splitlines()
    )
    return bool(re.fullmatch(pattern, _masked(real)))


def first_message(agent: str) -> str:
    latest = [draft.event for draft in _recorded("session.started") if draft.agent_id == agent][-1]
    assert isinstance(latest, SessionStarted)
    return latest.request


def result(tool: str, agent: str = "") -> str:
    finished = [draft for draft in _recorded("tool.finished") if agent in ("", draft.agent_id)]
    return [draft.event.text for draft in finished if draft.event.tool == tool][-1]


def _recorded(type: str) -> list[Draft]:
    async def read() -> list[Draft]:
        journal = open_journal(Path.cwd(), readonly=True)
        try:
            return [entry.draft async for entry in journal.read(Query(types=(type,)))]
        finally:
            await journal.close()

    return asyncio.run(read())


def _masked(text: str) -> str:
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"
