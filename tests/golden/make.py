"""Make golden journals: `python -m tests.golden.make NAME …`, names as in `tests/scenes.py`, all by default.

A golden journal is what `folkmoot log export` writes, with the artifacts that it names beside it. One that is there is
never written again: it stands for what a release recorded. A new kind of run gets a new one, under a new name.
"""

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path

from folkmoot import MemoryJournal
from folkmoot.journal.codec import from_line, to_line
from folkmoot.ports import NewRun, Query
from tests.scenes import SCENES, played

FOLDER = Path(__file__).parent
ARTIFACT = re.compile(rb"\b[0-9a-f]{64}\b")


async def make(name, folder=FOLDER):
    file = folder / f"{name}.ndjson"
    if file.exists():
        return False
    with tempfile.TemporaryDirectory() as desk:
        journal = (await played(name, Path(desk))).journal
    lines = [to_line(entry) async for entry in journal.read(Query(stream="run-1"))]
    artifacts = {}
    for id in sorted({id.decode() for line in lines for id in ARTIFACT.findall(line)}):
        try:
            artifacts[id] = (await journal.artifact(id)).decode()
        except KeyError:
            continue  # the hash of an entry or of a call
    file.write_bytes(b"".join(lines))
    file.with_suffix(".artifacts.json").write_text(json.dumps(artifacts, indent=1) + "\n")
    return True


async def opened(name, folder=FOLDER):
    """A journal that holds a golden run."""
    journal = MemoryJournal()
    file = folder / f"{name}.ndjson"
    for text in json.loads(file.with_suffix(".artifacts.json").read_text()).values():
        journal.keep(text.encode())
    drafts = [from_line(line).draft for line in file.read_bytes().splitlines()]
    await journal.append("run-1", NewRun("nobody", 0.0), drafts)
    return journal


if __name__ == "__main__":
    for each in sys.argv[1:] or SCENES:
        made = asyncio.run(make(each))
        print(f"{each}: {'made' if made else 'is there already, and stays as it is'}")
