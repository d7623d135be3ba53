"""The tools of the runtime itself: what a model is shown of each, and what a call of one asks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, MemberRole
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SEND, A2A_SPAWN, ASK_PARENT, ASK_USER, MESSAGES
from folkmoot.domain.settings import Strategy
from folkmoot.domain.text import storable
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse
from folkmoot.session.exits import runtime_tool

T = TypeVar("T")
CALL_AGENT = "call_agent"
CALL_AGENTS_PARALLEL = "call_agents_parallel"
ASK_CLARIFICATION = "agent__ask_clarification"
ARTIFACT_READ = "artifact__read"
ASKING_AGENTS = frozenset((CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_CLARIFICATION, *MESSAGES))
STRATEGIES = get_args(Strategy)
NEW = "new"
"""Instead of a conversation's id: begin another one."""
PAGE = 8_000
"""Characters that `artifact__read` gives at once."""
_RUNTIME_ONLY = "_parent_session_id"


def read_arguments(given: dict[str, Any], form: type[T]) -> T:
    """What a call asks; raises `WrongUse`, which its model reads as the result."""
    try:
        return msgspec.convert(given, form)
    except msgspec.ValidationError as error:
        raise WrongUse(str(error)) from None


def _text_schema(description: str, **rules: Any) -> dict[str, Any]:
    return {"type": "string", **rules, "description": description}


def _texts_schema(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _build_question_tool(name: str, description: str, hint: str) -> ToolSpec:
    return runtime_tool(name, description, {"question": _text_schema(hint)}, ["question"], patient=True)


QUESTION_TOOLS = {
    ASK_USER: _build_question_tool(
        ASK_USER,
        "Ask a person. Their answer is the result; it may take long, so ask only what you cannot find out.",
        "The whole question; the person knows nothing of your conversation.",
    ),
    ASK_PARENT: _build_question_tool(
        ASK_PARENT,
        "Ask the agent that called you and waits for you. Its answer is the result.",
        "The whole question; the agent knows what it asked of you, and nothing of what you did since.",
    ),
}
"""By name, the same in files and on the wire."""


def read_question(call: ToolCall) -> str:
    """What a call of one of them asks, if its arguments are one text."""
    question = call.arguments.get("question")
    if isinstance(question, str) and question.strip() and set(call.arguments) == {"question"}:
        return storable(question)
    raise WrongUse(f"{call.tool} takes one argument, `question`, a text")


class ClarificationRequest(Value, rename=None, forbid_unknown_fields=True):
    child_id: str
    question: str


@lru_cache(maxsize=256)
def clarification_tool(ids: tuple[str, ...]) -> ToolSpec:
    """The same object for the same children, so that it is encoded once."""
    return runtime_tool(
        ASK_CLARIFICATION,
        "Ask an agent that has answered you a question about its answer. It remembers what it did.",
        {"child_id": {"type": "string", "enum": list(ids)}, "question": {"type": "string", "minLength": 1}},
        ["child_id", "question"],
        patient=True,
    )


class AgentDefinition(Value, forbid_unknown_fields=True, rename=None):
    """An agent that the caller makes up."""

    system_prompt: str
    tool_allowlist: tuple[str, ...] | None = None
    """Of the caller's tools only these; absent: all but its agents."""


class Mission(Value, forbid_unknown_fields=True, rename=None):
    mission: str
    specialist: str | None = None
    planning_strategy: str | None = None
    agent_definition: AgentDefinition | None = None


class Missions(Value, forbid_unknown_fields=True, rename=None):
    missions: tuple[Any, ...]
    """Read one by one: a wrong one fails alone."""
    max_concurrency: int = 3
    min_success: int | None = None


def read_mission(given: object) -> Mission:
    if not isinstance(given, dict):
        raise WrongUse("a mission must be a JSON object")
    mission = given.get("mission")
    _check_given("mission", given, isinstance(mission, str) and bool(mission.strip()))
    asked = read_arguments(given, Mission)
    if asked.agent_definition and not asked.agent_definition.system_prompt.strip():
        raise WrongUse("agent_definition.system_prompt is empty")
    strategy = (asked.planning_strategy or "").lower().replace("-", "_") or None
    if strategy not in (None, *STRATEGIES):
        names = ", ".join(STRATEGIES)
        raise WrongUse(f"planning_strategy must be one of {names}, not {asked.planning_strategy!r}")
    specialist = (asked.specialist or "").strip() or None
    return replace(asked, planning_strategy=strategy, specialist=specialist)


def read_missions(call: ToolCall) -> Missions:
    if call.malformed:
        raise WrongUse("the arguments are not a JSON object")
    _check_given("missions", call.arguments, bool(call.arguments.get("missions")))
    asked = read_arguments(call.arguments, Missions)
    for name, number in (("max_concurrency", asked.max_concurrency), ("min_success", asked.min_success)):
        if number is not None and number < 1:
            raise WrongUse(f"{name} must be at least 1, not {number}")
    return asked


def _check_given(name: str, given: dict[str, Any], is_there: bool) -> None:
    if _RUNTIME_ONLY in given:
        raise WrongUse(f"{_RUNTIME_ONLY} is set by the runtime; leave it out")
    if not is_there:
        raise WrongUse(f"Missing required parameter: {name}")


def mission_tools(callable_agents: Mapping[str, Agent], *, approved: bool) -> tuple[ToolSpec, ...]:
    """Both tools for a caller that may call these agents; unless `approved`, a call needs a person's word."""
    known, asks = sorted(callable_agents.items()), "" if approved else "medium"
    lines = [f"\n- {name}: {agent.description}".rstrip(": \n") for name, agent in known]
    specialists = f" Its specialists are:{''.join(lines)}" if lines else ""
    specialist = _text_schema("The id of the agent that shall do it.", enum=[name for name, _ in known])
    strategy = _text_schema("How the agent goes about it; absent: as its file says.", enum=list(STRATEGIES))
    prompt = _text_schema("Who the agent is and what it does.")
    allowlist = _texts_schema("Which of your own tools it has.")
    definition = {
        "type": "object",
        "description": "An agent of your own making, instead of a specialist.",
        "properties": {"system_prompt": prompt, "tool_allowlist": allowlist},
        "required": ["system_prompt"],
        "additionalProperties": False,
    }
    properties = {
        "mission": _text_schema("The whole mission; the agent knows nothing else."),
        **({"specialist": specialist} if known else {}),
        "planning_strategy": strategy,
        "agent_definition": definition,
    }
    single = runtime_tool(
        CALL_AGENT,
        f"Have another agent fulfil a mission, and read its result.{specialists}\n"
        "Without a specialist a general agent does it; with agent_definition one that you make up.",
        properties,
        ["mission"],
        asks=asks,
        patient=True,
    )
    enough = "How many must succeed for the whole to succeed; all by default."
    several = runtime_tool(
        CALL_AGENTS_PARALLEL,
        "Have several agents fulfil missions at the same time, as with call_agent. The results "
        "stand in the order of the missions; one that fails stops no other.",
        {
            "missions": {"type": "array", "items": single.parameters, "minItems": 1},
            "max_concurrency": {"type": "integer", "minimum": 1, "default": 3},
            "min_success": {"type": "integer", "minimum": 1, "description": enough},
        },
        ["missions"],
        asks=asks,
        patient=True,
    )
    return single, several


class SpawnRequest(Value, forbid_unknown_fields=True, rename=None):
    to: str
    message: str
    label: str = ""


class SendRequest(SpawnRequest):
    conversation_id: str = ""


class BroadcastRequest(Value, forbid_unknown_fields=True, rename=None):
    message: str
    role: str = ""
    capability: str = ""
    agents: tuple[str, ...] = ()
    conversation_id: str = ""
    label: str = ""

    def reaches(self, name: str, agent: Agent) -> bool:
        """Whatever is asked for must hold."""
        return (
            (not self.role or agent.role == self.role)
            and (not self.capability or self.capability in agent.capabilities)
            and (not self.agents or name in self.agents)
        )


def message_tools(others: Mapping[str, Agent]) -> dict[str, ToolSpec]:
    """By name, for an agent that may write to these."""
    to: dict[str, Any] = {"type": "string", "enum": list(others)} if others else {"type": "string"}
    whole = "The whole message; the agent knows nothing else but what was said in this conversation."
    message = _text_schema(whole, minLength=1)
    label = _text_schema("A title for people, in a few words.")
    conversation = _text_schema(
        f"Absent: your conversation of this run; `{NEW}`: another one; or the id of one to go on with."
    )
    listed = "".join(f"\n- {name}: {other.description}".rstrip(": ") for name, other in others.items())
    roles = "".join(
        f"\n- {name}: {', '.join((other.role, *other.capabilities))}" for name, other in others.items()
    )
    specs = (
        runtime_tool(
            A2A_SEND,
            "Write to another agent; its answer is the result. Writing again goes on with the same "
            f"conversation.{listed}",
            {"to": to, "message": message, "conversation_id": conversation, "label": label},
            ["to", "message"],
            patient=True,
        ),
        runtime_tool(
            A2A_BROADCAST,
            "Write to all agents that fit, at the same time; without role, capability and agents, to everybody. "
            f"The result lists what each answered; one that fails stops no other.{roles}",
            {
                "message": message,
                "role": {"type": "string", "enum": list(get_args(MemberRole))},
                "capability": {"type": "string"},
                "agents": {"type": "array", "items": to},
                "conversation_id": conversation,
                "label": label,
            },
            ["message"],
            patient=True,
        ),
        runtime_tool(
            A2A_SPAWN,
            f"Have another agent do a piece of work for you, as your sub-agent; its result is the result.{listed}",
            {"to": to, "message": message, "label": label},
            ["to", "message"],
            patient=True,
        ),
    )
    return {spec.name: spec for spec in specs}


class PlanUpdate(Value, forbid_unknown_fields=True):
    step: str = ""
    status: Literal["in_progress", "done", "skipped"] = "done"
    note: str = ""
    add: tuple[str, ...] = ()


PLAN_UPDATE = runtime_tool(
    "plan__update",
    "Say that a step of your plan begins, is done or is skipped, or add steps; you read where it stands.",
    {
        "step": _text_schema("The id of a step, such as s1."),
        "status": {"type": "string", "enum": ["in_progress", "done", "skipped"]},
        "note": _text_schema("What came of it, or why it is skipped."),
        "add": _texts_schema("Further steps, in a sentence each."),
    },
)


class ArtifactRead(Value, forbid_unknown_fields=True):
    id: str
    offset: int = 0
    limit: int = PAGE


READ = runtime_tool(
    ARTIFACT_READ,
    "Read what is kept under an id that you were given: an artifact, a manifest, a snapshot, or evidence.",
    {
        "id": {"type": "string"},
        "offset": {"type": "integer", "minimum": 0, "description": "Characters to leave out; 0 by default."},
        "limit": {"type": "integer", "minimum": 1, "description": f"Characters; {PAGE} by default."},
    },
    ["id"],
)
