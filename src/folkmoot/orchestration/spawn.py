"""Calling an agent, whichever tool it is called with: resolve, admit, spawn, result.

`AgentCaller` is a session that calls. The agent runs below it, under the budgets and limits there; why it is
refused is noted with the caller, and what came of it with the agent.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.call_events import (
    SubAgentCompleted,
    SubAgentExecuting,
    SubAgentFailed,
    SubAgentSpawned,
)
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.message import ToolResult
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import conversation
from folkmoot.orchestration.ask_parent import exchanged, reminder
from folkmoot.orchestration.clarify import footer
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL, Definition, Mission
from folkmoot.orchestration.reach import CUSTOM, Reach
from folkmoot.orchestration.stamp import Stamp, stamp_of, stamped, unstamped
from folkmoot.orchestration.transfer import staged, transfer
from folkmoot.session.schema import unfit_input

GENERAL = (
    "You are a sub-agent. You get one mission from another agent and know nothing else. Fulfil it with the tools "
    "you have, then report the result and what you could not find out."
)
_SHOWN = 2000
"""Characters of a schema that the caller reads."""


class AgentCaller(msgspec.Struct, frozen=True):
    """A session that calls agents: `await AgentCaller(run, inv, start).result(child)`."""

    run: Run
    inv: Invocation
    start: Start

    async def result(self, child: Invocation) -> ToolResult:
        """What the caller reads: the agent's own words, and the runtime's below them."""
        why, kind = self.objection(child)
        if why:
            return self.refused(child, why, kind)
        run, outcome = self.run, await self.spawn(child)
        if outcome.failed:
            error = staged(run, outcome, child)
            self.failed(child, error, outcome.stop_reason)
            return ToolResult(text=f"{child.agent.id}: {error}", failed=True, child=child.session)
        _, stamp = self.completed(child)
        asked = unstamped(reminder(exchanged(run, child)))
        below = asked + footer(run.chats, child.session) + stamped(stamp, outcome.report.claims)
        return ToolResult(text=unstamped(outcome.report.content), child=child.session, footer=below)

    def objection(self, child: Invocation) -> tuple[str, str]:
        """Why an agent that was called is not begun, and the type of this error; empty if it may begin."""
        if not self.run.log.of(child.span) and (wrong := unfit_input(child.agent, child.original)):
            schema = msgspec.json.encode(child.agent.input.schema or {}, order="deterministic").decode()
            fitting = f" that fits {schema[:_SHOWN]}" if child.agent.input.schema else ""
            return f"{wrong}; ask again with JSON{fitting}", "InvalidInput"
        if limit := self.run.ledger.admit(child.span):
            return f"not allowed: {limit}", "LimitExceeded"
        return "", ""

    async def spawn(self, child: Invocation, *, custom: bool = False) -> Outcome:
        """Nothing speaks against `child`. `custom`: its caller made it up."""
        log, inv = self.run.log, self.inv
        spawned = SubAgentSpawned(
            parent=inv.session,
            session=child.session,
            specialist=child.agent.id,
            mission_length=len(child.original),
            has_custom_definition=custom,
            hierarchy_level=inv.session.count(":") + 1,
        )
        log.once(child.place, spawned)
        log.once(child.place, SubAgentExecuting(child.session, max_steps=child.agent.tuning.max_turns))
        return await transfer(self.run, inv, "delegate", child, self.start)

    def refused(self, child: Invocation, why: str, kind: str) -> ToolResult:
        """Noted with the caller, because the child never began."""
        self.run.log.once(self.inv.place, SubAgentFailed(child.session, error=why, error_type=kind))
        return ToolResult(text=why, failed=True)

    def failed(self, child: Invocation, error: str, kind: str) -> None:
        self.run.log.once(child.place, SubAgentFailed(child.session, error=error, error_type=kind))

    def completed(self, child: Invocation, key: str = "", artifact: str = "") -> tuple[int, Stamp]:
        """Its steps, and what was done for it. `key`: under which its result is found again."""
        run, steps = self.run, steps_taken(self.run, child)
        stamp = stamp_of(run.log, child.span)
        read = run.readings.within(child.span) if key else ()
        done = (child.session, True, steps, stamp.tool_calls, stamp.not_returned, key, artifact, read)
        run.log.once(child.place, SubAgentCompleted(*done))
        return steps, stamp


def steps_taken(run: Run, child: Invocation) -> int:
    """The turns of the called agent's own session, or of all its parts."""
    if not child.agent.in_parts:
        return max(
            (event.turn for event in run.log.of(child.span) if isinstance(event, LlmRequest)), default=0
        )
    asked = ((draft.span, draft.event) for draft in run.log.drafts if isinstance(draft.event, LlmRequest))
    return len({(span, event.turn) for span, event in asked if conversation(span) == child.span})


def child_for(run: Run, inv: Invocation, asked: Mission, span: str) -> Invocation:
    """The mission for its agent, one level below the caller: a specialist of the project, one that its caller made up,
    or a general one. A definition wins over a specialist."""
    if asked.specialist and not asked.agent_definition:
        agent = run.kit(inv).callable[asked.specialist]
    else:
        agent = _made_up(run, inv.agent, asked.agent_definition)
    most = run.graph.settings.orchestration.sub_agent_max_steps
    turns = min(agent.tuning.max_turns, most, inv.agent.tuning.max_turns)
    tuning = replace(agent.tuning, max_turns=turns)
    if asked.planning_strategy:
        tuning = replace(tuning, planning_strategy=asked.planning_strategy)
    agent = replace(agent, tuning=tuning)
    title = asked.mission.strip().partition("\n")[0][:80]
    child = inv.child(run, agent, "sub", span).asked(asked.mission, title)
    reach = reach_of_called(run, child)
    if agent.id == CUSTOM and agent.file not in run.graph.agents:
        reach = replace(reach, only=_only(run, inv, asked.agent_definition))
    return replace(child, reach=reach)


def reach_of_called(run: Run, child: Invocation) -> Reach:
    """With what the settings say of all agents that are called though no file names them."""
    settings = run.graph.settings.orchestration
    if settings.sub_agent_work_dir:
        run.bind()
    return replace(
        child.reach,
        allowlist=settings.sub_agent_tool_allowlist,
        work_dir=settings.sub_agent_work_dir or "",
    )


def _made_up(run: Run, caller: Agent, definition: Definition | None) -> Agent:
    """With the model and the options of its caller, or of the profile that the settings name."""
    profile = run.graph.agents.get(run.graph.settings.orchestration.sub_agent_profile or "", caller)
    general = GENERAL if profile is caller else profile.prompt
    return Agent(
        id=CUSTOM,
        file=f"{caller.file}#{CUSTOM}",
        prompt=definition.system_prompt if definition else general,
        tuning=profile.tuning,
        models=profile.models,
        tools=caller.tools,
        work_dir=caller.work_dir,
        agents=caller.agents,
    )


def _only(run: Run, inv: Invocation, definition: Definition | None) -> tuple[str, ...]:
    """Whatever is asked for, nobody gets more than its caller has."""
    kit = run.kit(inv)
    has = [spec.name for spec in kit.tools]
    if definition is None or definition.tool_allowlist is None:
        return tuple(name for name in has if name not in {*kit.agents, CALL_AGENT, CALL_AGENTS_PARALLEL})
    wanted = run.kits.on_the_wire(definition.tool_allowlist)
    return tuple(name for name in has if name in wanted)
