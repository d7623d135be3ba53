"""All scenarios that were asked for: read and checked as a whole, then played, several at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from folkmoot.domain.secrets import secrets_of
from folkmoot.errors import OperationFailed
from folkmoot.loader.findings import Findings
from folkmoot.models.choose import ProviderModels
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.checking import Surveyed, check_case, survey
from folkmoot.scenarios.playing import Wishes, play
from folkmoot.scenarios.reading import read_cases
from folkmoot.scenarios.recording import Listener, Said
from folkmoot.scenarios.verdict import Verdict, judged, skipped

AT_ONCE = 8


@dataclass(frozen=True)
class Suite:
    cases: Sequence[Case]
    projects: Mapping[Path, Surveyed]

    async def play(self, wishes: Wishes, told: Callable[[Verdict], None]) -> list[Verdict]:
        """In whatever order they end, they are told in the order of the files."""
        turnstile = asyncio.Semaphore(AT_ONCE)

        async def verdict(case: Case) -> Verdict:
            if case.needs_model and not wishes.live:
                return skipped(case)
            async with turnstile:
                return judged(case, await play(case, self.projects[case.project].graph, wishes))

        verdicts: list[Verdict] = []
        async with asyncio.TaskGroup() as group:
            for task in [group.create_task(verdict(case)) for case in self.cases]:
                verdicts.append(await task)
                told(verdicts[-1])
        return verdicts

    async def record(self, case: Case, wishes: Wishes) -> tuple[Verdict, Said]:
        """Play a case with real models, and what they answered; no secret of this environment is in it."""
        graph = self.projects[case.project].graph
        real = ProviderModels(graph.settings.providers, os.environ, case.project)
        listener = Listener(secrets_of(graph.settings, os.environ).text)
        try:
            around = replace(wishes, live=True, models=lambda graph: listener.around(real, graph))
            played = await play(case, graph, around)
        finally:
            await real.aclose()
        if played.error:
            raise OperationFailed(f"{case.shown}:{case.place.line}: nothing was recorded: {played.error}")
        return judged(case, played), listener.script()


async def gather(files: Sequence[Path], wishes: Wishes) -> Suite:
    """Raises `DeclarationError` with everything that is wrong in any of the files."""
    findings = Findings("bad_scenario")
    cases = [case for file in files for case in read_cases(file, findings)]
    projects = {case.project: await survey(case.project, wishes.overrides) for case in cases}
    for case in cases:
        check_case(case, projects[case.project], findings, live=wishes.live)
    findings.settle()
    return Suite(cases, projects)
