"""What is different since its user allowed it: in the files of an item, in lines; in what a tool server offers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

from folkmoot.domain.message import visible
from folkmoot.domain.settings import ToolSource
from folkmoot.engine.claims import is_owner_gone, this_process
from folkmoot.errors import ServerFailed
from folkmoot.tools.consent import ConsentItem, ConsentStore, Grant, Offer, granted_files, mark_of
from folkmoot.tools.consent import changes as changed_offers
from folkmoot.tools.mcp.servers import Servers

MOST_FILES, MOST_LINES, MOST_CHARACTERS = 20, 20, 200
"""Of the changed files of one item, of all their changed lines, and of one such line."""


@dataclass(frozen=True, slots=True)
class ServerInspection:
    """What a server offered when it was asked, or why it could not be."""

    name: str
    mark: str
    offers: tuple[Offer, ...] = ()
    failed: str = ""

    def changed_tools(self, known: Iterable[Offer]) -> Iterator[ConsentItem]:
        """Each tool that is not what was allowed."""
        now = {offer.name: offer for offer in self.offers}
        for tool, how in changed_offers(known, self.offers):
            said = f": {now[tool].description}" if tool in now else ""
            text = f"the tool {self.name}.{tool} {how}{said}"
            yield ConsentItem("server", f"tools.{self.name}.{tool}", text, f"{self.mark} {how}")


def inspect_servers(folder: Path, sources: Mapping[str, ToolSource]) -> list[ServerInspection]:
    """Start each server once and ask what it offers. Their commands must have been allowed."""
    return asyncio.run(_inspect_all(folder, sources))


async def _inspect_all(folder: Path, sources: Mapping[str, ToolSource]) -> list[ServerInspection]:
    servers = Servers(folder, os.environ, ConsentStore().listings, this_process(), is_owner_gone)

    async def look(name: str) -> ServerInspection:
        source = sources[name]
        try:
            return ServerInspection(name, mark_of(source), await servers.offers(name, source))
        except ServerFailed as error:
            return ServerInspection(name, mark_of(source), failed=str(error))

    try:
        return await asyncio.gather(*map(look, sources))
    finally:
        await servers.close()


def describe_changes(
    store: ConsentStore, folder: Path, item: ConsentItem, id: str, grant: Grant
) -> list[str]:
    """`grant` is what was allowed under this id."""
    said = [f"was: {visible(grant.text)}"] if grant.text != item.text else []
    if grant.value is None:
        return said or ["what changed is not known: an earlier release of Folkmoot kept no contents"]
    before, now = granted_files(id, grant), item.files
    files = [
        _describe_file_change(store, folder, file, before.get(file), now.get(file))
        for file in sorted({*before, *now})
        if before.get(file) != now.get(file)
    ]
    if not said and not files:
        return ["its variables or headers are others"]
    return [*said, *_limit_lines(files)]


def _describe_file_change(
    store: ConsentStore, folder: Path, file: str, before: str | None, now: str | None
) -> tuple[str, list[str]]:
    """What happened to it, and its changed lines as far as they are known."""
    if now is None:
        return f"{visible(file)} is not used any more", []
    old = store.text(folder, before) if before else ""
    new = _read_matching_text(folder / file, now)
    head = f"{visible(file)} {'changed' if before else 'is new'}"
    return head, [] if old is None or new is None else list(_changed_lines(old, new))


def _changed_lines(old: str, new: str) -> Iterator[str]:
    for line in [*unified_diff(_split_lines(old), _split_lines(new), n=0, lineterm="")][2:]:
        if line.startswith("@@"):
            continue
        whole = "\t".join(map(visible, line.split("\t")))
        more = len(whole) - MOST_CHARACTERS
        yield f"  {whole[:MOST_CHARACTERS]}" + (f"… and {more} more characters" if more > 0 else "")


def _split_lines(text: str) -> list[str]:
    """Broken at newlines alone: every other character that could break a line is shown."""
    return text.removesuffix("\n").split("\n") if text else []


def _read_matching_text(file: Path, digest: str) -> str | None:
    try:
        content = file.read_bytes()
        return content.decode() if sha256(content).hexdigest() == digest else None
    except (OSError, UnicodeDecodeError):
        return None


def _limit_lines(files: list[tuple[str, list[str]]]) -> Iterable[str]:
    left = MOST_LINES
    for head, lines in files[:MOST_FILES]:
        yield head
        yield from lines[:left]
        left = max(left - len(lines), 0)
    told = min(sum(len(lines) for _, lines in files[:MOST_FILES]), MOST_LINES)
    if more := sum(len(lines) for _, lines in files) - told:
        yield f"… and {more} more changed lines"
    if len(files) > MOST_FILES:
        yield f"… and {len(files) - MOST_FILES} more files"
