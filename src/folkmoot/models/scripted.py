"""A model that answers from a script: for demos, for tests, and for trying agents out without a provider.

Every answer is a function of who asks, in which turn and attempt, and of what was said last; nothing is
counted here. So a resumed session goes on where it stopped, and an agent called twice begins anew each time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.message import Answer, Message, Thought, ToolCall, Usage
from folkmoot.domain.naming import ALIASES, wire_name
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.errors import ModelFailed
from folkmoot.models.failure import is_passing, kind_of, reset_after
from folkmoot.models.incoming import tool_call
from folkmoot.models.script import (
    Barrier,
    ModelScript,
    ScriptedCall,
    ScriptedClaim,
    ScriptedFault,
    ScriptedReply,
    Turn,
    read_script_file,
    script_of,
)
from folkmoot.ports import Hear, Request

_EVIDENCE = re.compile(r"^\[evidence (ev_\w+)\]$", re.MULTILINE)
Sleep = Callable[[float], Awaitable[None]]


class ScriptedModel:
    """Answers each agent from its part of a script, and remembers every request.

    model = ScriptedModel({"greeter": [{"report": "Hello."}]})
    """

    def __init__(
        self, script: Mapping[str, Any] | ModelScript, *, default: Any = None, sleep: Sleep = asyncio.sleep
    ) -> None:
        """`script` holds the answers by agent id, `default` is for all others."""
        if not isinstance(script, ModelScript):
            script = script_of({"agents": script} | ({} if default is None else {"default": default}))
        self.heard: list[Request] = []
        """Every request, in the order in which they came in."""
        self._script = script
        self._sleep = sleep
        self._barriers: dict[Barrier, asyncio.Barrier] = {}

    @classmethod
    def read(cls, file: Path | str, *, sleep: Sleep = asyncio.sleep) -> ScriptedModel:
        """From a YAML file. Raises `DeclarationError` with everything that is wrong with it."""
        return cls(read_script_file(Path(), str(file)), sleep=sleep)

    def heard_from(self, agent: str) -> list[Request]:
        """The requests of one agent, by its id."""
        return [request for request in self.heard if request.agent == agent]

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        self.heard.append(request)
        turn = _turn(self._script, request)
        reply = _sayable(turn[min(request.attempt, len(turn)) - 1], request)
        _say(reply.begins, hear)
        if reply.delay:
            await self._sleep(reply.delay)
        if reply.barrier:
            await self._barriers.setdefault(reply.barrier, asyncio.Barrier(reply.barrier.count)).wait()
        if reply.error:
            raise _failed(reply.error)
        _say(reply.text, hear)
        return _answer(reply, request)


def _say(text: str, hear: Hear | None) -> None:
    if hear:
        for word in re.findall(r"\s*\S+\s*|\s+", text):
            hear(word)


def _turn(script: ModelScript, request: Request) -> Turn:
    names = (f"{request.agent}@{request.session}", f"{request.agent}/{request.part}", request.agent)
    part = next((script.agents[name] for name in names if name in script.agents), None)
    if part is None:
        return script.default or _nothing_to_say(script, request)
    said = next((_shown(one) for one in reversed(request.messages) if one.role in ("user", "tool")), "")
    for rule in part.rules:
        if rule.fits(said):
            return rule.then
    position = request.turn - 1
    if part.turns and (part.repeat or position < len(part.turns)):
        return part.turns[position % len(part.turns)]
    return part.default or script.default or _nothing_to_say(script, request)


def _sayable(reply: ScriptedReply, request: Request) -> ScriptedReply:
    """A report where nothing is offered that could be called: as a model gives it then, in nothing but words."""
    if reply.report is None or request.tools:
        return reply
    if reply.claims or reply.metadata:  # words cannot hold them: called for all that
        return replace(reply, begins="", text="")
    said = reply.report if isinstance(reply.report, str) else msgspec.json.encode(reply.report).decode()
    return replace(reply, begins="", text=said, report=None, calls=())


def _shown(message: Message) -> str:
    """A script sees of what is attached its name, what it is, and how large."""
    return "\n".join((message.text, *(f"[attached: {part}]" for part in message.parts)))


def _nothing_to_say(script: ModelScript, request: Request) -> Turn:
    text = f"{script.file} has no answer for agent {request.agent!r} in turn {request.turn}"
    raise ModelFailed(f"{text}; add a turn, a rule or a `default` for it", retryable=False)


def _failed(fault: ScriptedFault) -> ModelFailed:
    text, retryable = fault.message, True
    if fault.status:
        text, retryable = f"scripted answered {fault.status}: {text}", is_passing(fault.status)
    retryable = retryable if fault.retryable is None else fault.retryable
    return ModelFailed(
        text,
        retryable=retryable,
        retry_after=fault.retry_after,
        status=fault.status or 0,
        kind=kind_of(fault.status or 0, fault.message),
        reset_after=fault.retry_after or reset_after(fault.message),
    )


def _answer(reply: ScriptedReply, request: Request) -> Answer:
    calls = [*reply.calls]
    if reply.report is not None:
        calls.append(ScriptedCall(tool=FINAL_REPORT, arguments=_report(reply, request)))
    if reply.route:
        calls.append(ScriptedCall(tool=ROUTE, arguments=msgspec.to_builtins(reply.route)))
    if reply.broadcast:
        calls.append(ScriptedCall(tool=BROADCAST, arguments=msgspec.to_builtins(reply.broadcast)))
    wished = tuple([_wished(call, request, position) for position, call in enumerate(calls, start=1)])
    thoughts = (Thought("reasoning", reply.thought),) if reply.thought else ()
    message = Message("assistant", reply.begins + reply.text, wished, thoughts=thoughts)
    return Answer(
        message=message,
        usage=reply.usage or _estimated(request, message),
        stop=reply.stop or ("tool_calls" if wished else "stop"),
        cost_usd=reply.cost_usd,
    )


def _report(reply: ScriptedReply, request: Request) -> dict[str, Any]:
    """As the offered tool wants it: text as `report_content`, everything else as `content_json`."""
    offered = next((tool.parameters for tool in request.tools if tool.name == FINAL_REPORT), {})
    form = offered.get("properties", {}).get("report_format", {}).get("const", "")
    body = "report_content" if isinstance(reply.report, str) else "content_json"
    claims = [_claimed(claim, request) for claim in reply.claims]
    given = {"report_format": form, body: reply.report, "claims": claims, "metadata": reply.metadata}
    return {key: value for key, value in given.items() if value or key == body}


def _claimed(claim: ScriptedClaim, request: Request) -> dict[str, Any]:
    cited = [_cited(name, request) for name in claim.evidence]
    status = {"status": claim.status} if claim.status else {}
    return {"text": claim.text, "evidence": cited, **status}


def _cited(name: str, request: Request) -> str:
    """As a model would find it: an id is itself, otherwise it is read off the latest result of this tool."""
    tools = {wire_name(name), wire_name(ALIASES.get(name, name))}
    made = {call.id for message in request.messages for call in message.calls if call.tool in tools}
    results = (message.text for message in reversed(request.messages) if message.answers in made)
    return next((found[-1] for text in results if (found := _EVIDENCE.findall(text))), name)


def _wished(call: ScriptedCall, request: Request, position: int) -> ToolCall:
    offered = {tool.name for tool in request.tools}
    tool = call.tool if call.tool in offered else wire_name(ALIASES.get(call.tool, call.tool))
    return tool_call(call.id or f"call_{request.turn}_{position}", tool, call.arguments)


def _estimated(request: Request, answer: Message) -> Usage:
    """By length alone, so that the same conversation always costs the same."""
    asked = sum(_length(message) for message in request.messages)
    carried = sum(part.tokens for message in request.messages for part in message.parts)
    return Usage(tokens_in=asked // 4 + 1 + carried, tokens_out=_length(answer) // 4 + 1)


def _length(message: Message) -> int:
    return len(message.text) + sum(len(call.tool) + len(str(call.arguments)) for call in message.calls)
