"""A project in a folder, run with a scripted model in memory: what most tests look at."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from folkmoot import FakeClock, Folkmoot, MemoryJournal, Result, ScriptedModel, Surroundings
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFailed, ToolFinished
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.local import encode_graph
from folkmoot.ports import Journal, NewRun, Query
from folkmoot.tools.consent import ConsentStore, FolderConsent
from tests.fakes import fake

SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
"""
BLOCK = re.compile(
    r'<(\w+)__([0-9a-f]{12})(?: agent="([^"]*)")?(?: runtime="[^"]*")?>\n(.*?)\n</\1__\2>', re.DOTALL
)


look = fake("look(where)", "seen {where}")


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


def by_span(drafts: Sequence[Draft]) -> dict[str, list[Draft]]:
    """Parallel branches and the results of parallel calls may come in another order; what happened in each may not."""
    spans: dict[str, list[Draft]] = {}
    for draft in unclaimed([*drafts]):
        spans.setdefault(draft.span, []).append(draft)
    return {
        span: [each for _, some in groupby(of, _result_in) for each in _in_order([*some])]
        for span, of in spans.items()
    }


def _result_in(draft: Draft) -> int | None:
    """The turn, of a result."""
    return draft.event.turn if isinstance(draft.event, ToolFinished | ToolFailed) else None


def _in_order(drafts: list[Draft]) -> list[Draft]:
    return drafts if _result_in(drafts[0]) is None else sorted(drafts, key=lambda draft: draft.event.call)


def in_no_order(drafts: Sequence[Draft]) -> dict[str, list[str]]:
    """By span; calls of one turn may come to their ends in another order."""
    return {span: sorted(map(repr, of_span)) for span, of_span in by_span(drafts).items()}


def outcome(result: Result) -> tuple[Any, ...]:
    """What a run came to, whoever of those at work together was quicker."""
    return result.status, result.error, result.final_report, result.totals, result.teams


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
        self._declared = files, script, settings
        self.folder = write(folder, files, settings)
        self.clock = FakeClock()
        self.model = ScriptedModel(script, sleep=self.clock.sleep)
        self.journal: Journal = MemoryJournal(self.clock.monotonic)
        self.tools = tools or []
        self.identity = RunIdentity("run-1", "a seed nobody knows")
        self.env: dict[str, str] = {}

    def open(self):
        around = Surroundings(
            env=self.env, clock=self.clock, journal=self.journal, identify=lambda _: self.identity
        )
        return Folkmoot.open(self.folder, tools=self.tools, models={"scripted": self.model}, around=around)

    async def run(
        self, agent: str, request: str = "I want my money back", *, lasting: float = 0.0, **more: Any
    ) -> Played:
        """So many seconds pass meanwhile; `more` is for the run, as `answer` and `errand`."""
        async with self.open() as moot:
            running = asyncio.ensure_future(moot.run(agent, request, **more))
            if lasting:
                await self.clock.advance(lasting)
            return await self.played(await running)

    async def cancelled(self, agent: str, *reason: str) -> Played:
        """A run that is cancelled after a second."""
        async with self.open() as moot:
            running = asyncio.ensure_future(moot.run(agent, "hello"))
            await self.clock.advance(1)
            await moot.cancel("run-1", *reason)
            return await self.played(await running)

    async def resumed(self, **more: Any) -> Played:
        async with self.open() as moot:
            return await self.played(await moot.resume("run-1", **more))

    def again(self) -> Desk:
        """The same project, where nothing has happened."""
        files, script, settings = self._declared
        made = Desk(self.folder, files, script, settings=settings, tools=self.tools)
        made.env, made.identity = self.env, self.identity
        return made

    async def continued(
        self,
        drafts: Sequence[Draft],
        *,
        journal: Journal | None = None,
        before: Callable[[Folkmoot], Any] | None = None,
        **more: Any,
    ) -> Played:
        """A run of which only these events are recorded goes on; `before` may do something first."""
        self.journal = journal or MemoryJournal(self.clock.monotonic)
        async with self.open() as moot:
            self.journal.keep(encode_graph(moot.graph))
            await self.journal.append("run-1", NewRun("host/0/0/gone", 0.0), [*drafts])
            if before:
                await before(moot)
            return await self.played(await moot.resume("run-1", **more))

    async def run_cut_anywhere(
        self, agent: str, request: str = "hello", *, in_order: bool = True, **more: Any
    ) -> Played:
        """The whole run. Cut after any of its events and continued, it comes to the same end each time."""
        happened = by_span if in_order else in_no_order
        whole = await self.run(agent, request, **more)
        answer = {"answer": more["answer"]} if "answer" in more else {}
        for cut in range(1, len(whole.drafts)):
            played = await self.again().continued(whole.drafts[:cut], **answer)
            assert happened(played.drafts) == happened(whole.drafts), f"cut after event {cut}"
            assert outcome(played.result) == outcome(whole.result), f"cut after event {cut}"
        return whole

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
