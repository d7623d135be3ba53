"""The agent for a mission: a specialist of the project, one that its caller made up, or a general one."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL, Definition, Mission
from folkmoot.orchestration.reach import CUSTOM, Reach

GENERAL = (
    "You are a sub-agent. You get one mission from another agent and know nothing else. Fulfil it with the tools "
    "you have, then report the result and what you could not find out."
)


def child_for(run: Run, inv: Invocation, asked: Mission, span: str) -> Invocation:
    """The mission for its agent, one level below the caller. A definition wins over a specialist."""
    callable_agents = run.kit(inv).callable
    if asked.specialist and not asked.agent_definition:
        agent = callable_agents[asked.specialist]
    else:
        agent = _made_up(run, inv.agent, asked.agent_definition)
    tuning = replace(agent.tuning, max_turns=_steps(run, inv.agent, agent))
    if asked.planning_strategy:
        tuning = replace(tuning, planning_strategy=asked.planning_strategy)
    agent = replace(agent, tuning=tuning)
    child = inv.child(run, agent, "sub", span)
    reach = reach_of_called(run, child)
    if agent.id == CUSTOM and agent.file not in run.graph.agents:
        reach = replace(reach, only=_only(run, inv, asked.agent_definition))
    title = asked.mission.strip().partition("\n")[0][:80]
    return replace(child, original=asked.mission, blocks=(), parts=(), title=title, reach=reach)


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
    profile = _profile(run) or caller
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


def _steps(run: Run, caller: Agent, agent: Agent) -> int:
    most = run.graph.settings.orchestration.sub_agent_max_steps
    return min(agent.tuning.max_turns, most, caller.tuning.max_turns)


def _profile(run: Run) -> Agent | None:
    name = run.graph.settings.orchestration.sub_agent_profile
    return run.graph.agents.get(name or "")
