"""The tools of a project in a scenario: what only reads is called, everything else is given a result, or refused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import COORDINATION, wire_name
from folkmoot.ports import Site, Tools
from folkmoot.scenarios.matching import fits, in_files, is_tool
from folkmoot.scenarios.scenario import Scenario, Stub
from folkmoot.tools.recorded import RecordedTools


class ScenarioTools:
    """Stands before the real ones. Calls that nobody said a word about are `surprises`, and fail the scenario."""

    def __init__(self, scenario: Scenario, recorded: RecordedTools | None = None) -> None:
        self._scenario = scenario
        self._recorded = recorded
        self._under_way = 0
        self.surprises: list[str] = []

    def before(self, tools: Tools) -> Tools:
        return _Guarded(self, tools)

    def needs(self, tool: str) -> bool:
        return not self._recorded and not self._stubs(wire_name(tool))

    def is_busy(self) -> bool:
        """Whether a real tool is at work."""
        return self._under_way > 0

    async def call(self, call: ToolCall, site: Site, tools: Tools, spec: ToolSpec | None) -> ToolResult:
        if stubs := self._stubs(call.tool):
            return self._stubbed(stubs, call)
        if self._recorded:
            return await self._recorded.call(call, site)
        if spec is None or not self._may_be_called(spec):
            return self._surprised(call, site, spec)
        self._under_way += 1
        try:
            return await tools.call(call, site)
        finally:
            self._under_way -= 1

    def _stubs(self, wire: str) -> Sequence[Stub]:
        return next((stubs for name, stubs in self._scenario.tools.items() if is_tool(name, wire)), ())

    def _stubbed(self, stubs: Sequence[Stub], call: ToolCall) -> ToolResult:
        for stub in stubs:
            if fits(stub.arguments, call.arguments):
                if stub.error:
                    return ToolResult(stub.error, failed=True)
                return ToolResult(stub.text if stub.json is None else msgspec.json.encode(stub.json).decode())
        self.surprises.append(
            f"{in_files(call.tool)} was called with {call.arguments}, and no result under `tools` fits"
        )
        return ToolResult("the scenario has no result for these arguments", failed=True)

    def _may_be_called(self, spec: ToolSpec) -> bool:
        """What coordination writes, it writes into the journal of the scenario."""
        if any(is_tool(name, spec.name) for name in (*self._scenario.allow, *COORDINATION)):
            return True
        return spec.access == "read" or (spec.effect == "pure" and spec.access != "egress")

    def _surprised(self, call: ToolCall, site: Site, spec: ToolSpec | None) -> ToolResult:
        does = f"{spec.effect}, {spec.access}" if spec else "unknown"
        name = in_files(call.tool)
        remedy = f"give its result under `tools: {{{name}: …}}`, or say `allow: [{name}]`"
        self.surprises.append(f"{site.agent} called {name} ({does}), which does more than read: {remedy}")
        return ToolResult("the scenario does not let this tool be called", failed=True)


class _Guarded:
    def __init__(self, guard: ScenarioTools, tools: Tools) -> None:
        self._guard = guard
        self._tools = tools
        self._specs: dict[str, ToolSpec] = {}

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        specs = self._tools.specs(names)
        self._specs.update((spec.name, spec) for spec in specs)
        return specs

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        return await self._guard.call(call, site, self._tools, self._specs.get(call.tool))
