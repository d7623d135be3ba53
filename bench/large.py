"""A large journal: seconds to verify it and to read its last page.

`python -m bench.large [EVENTS]`, 1,000,000 by default.

Its runs are one real run of a desk with an advisor, a route, tools and a sub-agent, recorded and written again under
other names. The journal is made in a temporary folder and removed.
"""

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

from bench.scenes import FOUND, PROMPT, QUESTION
from folkmoot import Folkmoot, MemoryJournal, ScriptedModel, Surroundings, tool
from folkmoot.contract.verify import verify
from folkmoot.domain.catalogue import named_by
from folkmoot.domain.entry import Draft
from folkmoot.engine.workshop import open_journal
from folkmoot.journal.database import FILE, FOLDER
from folkmoot.ports import Epoch, Journal, NewRun, Query

AGENTS = {
    "desk": "advisors: [risk.ai]\nrouter: {destinations: [clerk.ai]}",
    "risk": "",
    "clerk": "tools: [look_up]\nagents: [helper.ai]",
    "helper": "tools: [look_up]",
}
LOOK = {"calls": [{"tool": "look_up", "arguments": {"what": f"payment {number}"}} for number in range(2)]}
SCRIPT = {
    "desk": [{"route": {"agent": "clerk", "message": "It is about order 1042."}}],
    "risk": ["No sign of fraud: two payments within a day, the second one marked as a retry."],
    "clerk": [
        LOOK,
        LOOK,
        {"calls": [{"tool": "agent__helper", "arguments": {"prompt": QUESTION, "reason": "check"}}]},
        "One payment was a retry and goes back to you within three days.",
    ],
    "helper": [LOOK, "Both payments are in the books."],
}
PAGE = 100


@tool(effect="pure", access="read")
def look_up(what: str) -> str:
    """Look something up in the shop's books."""
    return f"{what}: {FOUND}"


def main(arguments: list[str]) -> int:
    events = int(arguments[0]) if arguments else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measured(Path(folder), events))


async def measured(folder: Path, events: int) -> int:
    drafts, contents = await one_run(folder)
    journal = open_journal(folder)
    try:
        began = time.monotonic()
        count = await written(journal, drafts, contents, events)
        size = (folder / FOLDER / FILE).stat().st_size
        print(f"{count:,} events, {size / 1e6:,.0f} MB, written in {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        page = [entry async for entry in journal.read(Query(newest_first=True, limit=PAGE))]
        print(f"last page of {len(page)}: {(time.monotonic() - began) * 1000:.1f} ms (goal: 20)")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic()
        verdict = await verify(journal)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"verify: {time.monotonic() - began:.1f} s (goal: 60), {grown / 1024:.0f} MB more memory")
        print("\n".join(f"  {guarantee} {words}" for guarantee, words in verdict.checked()))
        return 0 if verdict.holds else 1
    finally:
        await journal.close()


async def one_run(folder: Path) -> tuple[list[Draft], list[bytes]]:
    """Its events, and the contents that they name."""
    (folder / "folkmoot.yaml").write_text(
        "models: {default: scripted/any}\nproviders: {scripted: {kind: scripted, script: s.yaml}}\n"
    )
    (folder / "s.yaml").write_text("{}")
    for name, keys in AGENTS.items():
        (folder / f"{name}.ai").write_text(f"---\n{keys}\n---\n{PROMPT}\n")
    journal, model = MemoryJournal(), ScriptedModel(SCRIPT)
    around = Surroundings(env={}, journal=journal)
    async with Folkmoot.open(folder, tools=[look_up], models={"scripted": model}, around=around) as moot:
        result = await moot.run("desk.ai", QUESTION)
    drafts = [entry.draft async for entry in journal.read(Query(stream=result.run_id))]
    named = {id for draft in drafts for id in named_by(draft.event)}
    return drafts, [await journal.artifact(id) for id in named]


async def written(journal: Journal, drafts: list[Draft], contents: list[bytes], events: int) -> int:
    """Many runs at once, so that their entries lie mixed, as those of a busy machine do."""
    for content in contents:
        journal.keep(content)
    runs = events // len(drafts) + 1
    for first in range(0, runs, 500):
        names = [f"20260301-120000-{number:08x}" for number in range(first, min(first + 500, runs))]
        half = len(drafts) // 2
        await asyncio.gather(*(journal.append(name, NewRun("bench", 0.0), drafts[:half]) for name in names))
        await asyncio.gather(*(journal.append(name, Epoch(1), drafts[half:]) for name in names))
    return runs * len(drafts)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
