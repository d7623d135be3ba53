"""A project in a folder, run with a scripted model in memory: what most tests look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from folkmoot import FakeClock, Folkmoot, MemoryJournal, Result, ScriptedModel, Surroundings
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Draft
from folkmoot.engine.claims import Identity
from folkmoot.ports import Journal, Query
from folkmoot.tools.consent import ConsentStore, FolderConsent

SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
"""
BLOCK = re.compile(
    r'<(\w+)__([0-9a-f]{12})(?: agent="([^"]*)")?(?: runtime="[^"]*")?>\n(.*?)\n</\1__\2>', re.DOTALL
)


def write(folder: Path, files: Mapping[str, str], settings: str = SETTINGS, *, mine: bool = True) -> Path:
    """`files` go by name without `.ai`; a value without `---` is frontmatter alone."""
    (folder / "folkmoot.yaml").write_text(settings)
    (folder / "script.yaml").write_text("{}")
    for name, text in files.items():
        path = folder / f"{name}.ai"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith("---") else f"---\n{text.strip()}\n---\nYou are {name}.\n")
    return made_mine(folder) if mine else folder


def made_mine(folder: Path) -> Path:
    """A folder of the user who runs the test: nothing is asked in it."""
    ConsentStore().write(folder, FolderConsent(str(folder.resolve()), mine=True))
    return folder


def blocks(prompt: str) -> list[tuple[str, str, str]]:
    """The envelope of a prompt as (tag, agent, text)."""
    return [(tag, agent, text) for tag, _, agent, text in BLOCK.findall(prompt)]


def unclaimed(drafts: list[Draft]) -> list[Draft]:
    """Whoever goes on with a run does so under a claim of its own; nothing else tells."""
    return [replace(draft, epoch=0) for draft in drafts]


@dataclass
class Played:
    """What a run gave, what its model heard and what its journal holds."""

    result: Result
    model: ScriptedModel
    drafts: list[Draft]

    @property
    def report(self) -> str:
        assert self.result.final_report is not None
        return self.result.final_report.content

    @property
    def types(self) -> list[str]:
        return [draft.event.type for draft in self.drafts]

    def prompt(self, agent: str, session: int = 0) -> str:
        """What an agent was asked first, in its nth session."""
        firsts = [request for request in self.model.heard_from(agent) if request.turn == request.attempt == 1]
        return next(message.text for message in firsts[session].messages if message.role == "user")

    def offered(self, agent: str, request: int = 0) -> list[str]:
        return [spec.name for spec in self.model.heard_from(agent)[request].tools]

    def events(self, type: str) -> list[Any]:
        return [draft.event for draft in self.drafts if draft.event.type == type]

    def started(self) -> list[str]:
        """The agents whose sessions began, in order."""
        return [draft.agent_id for draft in self.drafts if draft.event.type == "session.started"]


class Desk:
    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str],
        script: Mapping[str, Any],
        *,
        settings: str = SETTINGS,
        tools: list[Callable[..., Any]] | None = None,
    ) -> None:
        self.folder = write(folder, files, settings)
        self.clock = FakeClock()
        self.model = ScriptedModel(script, sleep=self.clock.sleep)
        self.journal: Journal = MemoryJournal(self.clock.monotonic)
        self.tools = tools or []
        self.identity = Identity("run-1", "a seed nobody knows")
        self.env: dict[str, str] = {}

    def open(self):
        around = Surroundings(
            env=self.env, clock=self.clock, journal=self.journal, identify=lambda _: self.identity
        )
        return Folkmoot.open(self.folder, tools=self.tools, models={"scripted": self.model}, around=around)

    async def run(self, agent: str, request: str = "I want my money back") -> Played:
        async with self.open() as moot:
            result = await moot.run(agent, request)
        return await self.played(result)

    async def played(self, result: Result) -> Played:
        verdict = await verify(self.journal, result.run_id)
        faults = [
            f"{fault.guarantee} at {fault.run_seq}: {fault.words}"
            for fault in verdict.faults
            if fault.guarantee != "C1"  # a journal that a test puts together may lack artifacts
        ]
        assert not faults, f"what a test plays must keep the contract: {faults}"
        drafts = [entry.draft async for entry in self.journal.read(Query(stream=result.run_id))]
        return Played(result, self.model, drafts)
