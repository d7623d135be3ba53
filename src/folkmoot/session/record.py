"""What a model is sent, and what is recorded of a step: from what was decided, what came of it and what was read by it
to the event. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from posixpath import join
from typing import Any

from msgspec.structs import replace

from folkmoot.domain import gate
from folkmoot.domain.agent import Agent
from folkmoot.domain.budget import cost
from folkmoot.domain.entry import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmResponse,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.fence import retry_delay
from folkmoot.domain.gate import Policy
from folkmoot.domain.inbox_events import ApprovalRequested
from folkmoot.domain.message import Answer, Message, ToolCall, ToolSpec, Usage, fingerprint, title
from folkmoot.domain.naming import draw, wire_name
from folkmoot.domain.sources import Source, Sources, is_trusted, joined, secret_paths
from folkmoot.domain.text import estimated_tokens, storable
from folkmoot.domain.trace import attempt_name
from folkmoot.errors import ModelFailed
from folkmoot.ports import Request, Site
from folkmoot.session.calls import Released, verdict
from folkmoot.session.exits import Toolset
from folkmoot.session.state import Brief, State, evolve, folded
from folkmoot.session.steps import Ask

DELIVERED = "(delivered)"
"""The answer to a report: a model that is sent its own call without one refuses the conversation."""
NOT_MADE = "(not made: the session ended)"
UNDER_WAY = "(under way)"


def request(state: State, ask: Ask, contents: dict[str, bytes]) -> Request:
    """What the model is sent."""
    brief, event = state.brief, ask.event
    return Request(
        model=ask.choice.model,
        messages=_with_own_thoughts(state.messages, ask.choice.ref),
        tools=ask.tools,
        tuning=brief.agent.tuning,
        max_output=event.max_output,
        agent=brief.agent.id,
        session=brief.session,
        turn=event.turn,
        attempt=event.attempt,
        part=brief.part,
        again=ask.again or event.attempt > 1,
        hops=brief.hops,
        contents=contents,
        trace=brief.trace.within(attempt_name(brief.session, event.turn, event.attempt))
        if brief.trace
        else {},
    )


def conversation(agent: Agent, spans: Iterable[Sequence[Event]]) -> tuple[Message, ...]:
    """The messages of the sessions that held it, one after the other."""
    said: tuple[Message, ...] = ()
    for events in spans:
        state = State(_brief(agent, said))
        for event in events:
            state = evolve(state, event)
        said = answer_open_calls(state)
    return said


def sent(agent: Agent, events: Iterable[Event], model: str) -> tuple[Message, ...]:
    """What a model was sent last in a session that began its own conversation, when these events had happened."""
    return _with_own_thoughts(folded(_brief(agent, ()), events).messages, model)


def _with_own_thoughts(messages: tuple[Message, ...], model: str) -> tuple[Message, ...]:
    """What another model thought is no use to this one, and no provider takes the seals of another."""
    if not [message for message in messages if message.thinker and message.thinker != model]:
        return messages
    return tuple(
        message if message.thinker in ("", model) else replace(message, thoughts=()) for message in messages
    )


def interrupted(state: State) -> tuple[Message, ...]:
    """The messages of a session that waits for its calls. Which of them are done already is left out: that is
    chance, and a resumed run must say the same."""
    waits = (Message(role="tool", text=UNDER_WAY, answers=call.id) for call in state.calls)
    return (*state.messages, *waits)


def answer_open_calls(state: State) -> tuple[Message, ...]:
    """Every call has an answer, also the one that ended the session."""
    left = NOT_MADE if state.outcome is None or state.outcome.failed else DELIVERED
    answers = (
        Message(role="tool", text=state.results.get(position, left), answers=call.id)
        for position, call in enumerate(state.calls, start=1)
    )
    return (*state.messages, *answers)


def _brief(agent: Agent, before: tuple[Message, ...]) -> Brief:
    """Only what is needed to fold: nothing is asked and nothing is called."""
    return Brief(agent, Toolset(), "", "", "", "", agent.tuning.max_turns, before=before)


def answered(ask: Ask, answer: Answer, latency_ms: int) -> LlmResponse:
    usage = answer.usage if answer.usage != Usage() else _guessed(ask, answer.message)
    reported, message = answer.cost_usd, _with_sound_ids(answer.message, ask.event.turn)
    return LlmResponse(
        turn=ask.event.turn,
        attempt=ask.event.attempt,
        model=ask.choice.ref,
        message=replace(message, thinker=ask.choice.ref) if message.thoughts else message,
        usage=usage,
        cost_usd=cost(usage, ask.choice.price) if reported is None else reported,
        stop=answer.stop,
        latency_ms=latency_ms,
        guessed=usage is not answer.usage,
    )


def unanswered(ask: Ask, error: ModelFailed, latency_ms: int) -> LlmFailed:
    return LlmFailed(
        turn=ask.event.turn,
        attempt=ask.event.attempt,
        model=ask.choice.ref,
        error=storable(str(error)),
        retryable=error.retryable,
        retry_after=error.retry_after,
        latency_ms=latency_ms,
        status=error.status,
        kind=error.kind,
        reset_after=error.reset_after,
    )


def with_its_parts(error: ModelFailed, messages: tuple[Message, ...]) -> ModelFailed:
    """A refusal may be due to what the request carried: few providers say which file they mean."""
    carried = ", ".join(str(part) for message in messages for part in message.parts)
    if error.retryable or not carried:
        return error
    text = f"{error}; the request carried {carried}: see that the model takes it"
    return ModelFailed(text, retryable=False, status=error.status, kind=error.kind)


def approval_requested(state: State, position: int, call: ToolCall, ask: gate.Ask) -> ApprovalRequested:
    return ApprovalRequested(
        id="ap_" + draw(state.brief.seed, state.brief.span, "approval", state.turn, position),
        turn=state.turn,
        call=position,
        tool=call.tool,
        arguments=call.arguments,
        hash=fingerprint(call),
        risk=ask.risk,
        preview=title(call),
        why=ask.why,
        sources=ask.sources,
        foreign=foreign_values(state, call, ask.sources),
        approvers=ask.approvers,
        expires=state.brief.policy.expires,
    )


def in_doubt(state: State, position: int, call: ToolCall, lease: float) -> ToolInDoubt:
    wait = retry_delay(lease, state.brief.agent.tuning.tool_timeout)
    id = "doubt_" + draw(state.brief.seed, state.brief.span, "doubt", state.turn, position)
    return ToolInDoubt(state.turn, position, call.tool, id, wait)


def let_through(state: State, site: Site, call: ToolCall, spec: ToolSpec, why: gate.Allow) -> ToolStarted:
    """With what somebody said about this very call, or else why the gate needs no word."""
    said = verdict(state, site.call, call)
    return ToolStarted(
        turn=site.turn,
        call=site.call,
        tool=call.tool,
        arguments=call.arguments,
        effect=spec.effect,
        access=spec.access,
        key=site.key,
        decision=said.decision if isinstance(said, Released) else why.reason,
        plan_id=state.brief.plan,
        grounds=said.grounds if isinstance(said, Released) else why.grounds,
    )


def finished(state: State, site: Site, call: ToolCall, text: str, artifact: str) -> ToolFinished:
    return ToolFinished(
        turn=site.turn,
        call=site.call,
        tool=call.tool,
        text=text,
        evidence=_evidence(state, site),
        artifact=artifact,
    )


def evidence_line(state: State, site: Site) -> str:
    """What tells the model the id of a result; only an agent that is asked for claims has a use for it."""
    return f"\n[evidence {_evidence(state, site)}]" if state.brief.agent.output.claims else ""


def _evidence(state: State, site: Site) -> str:
    """The id of a result is minted here: nobody can name one that no tool gave."""
    return "ev_" + draw(state.brief.seed, state.brief.span, "evidence", site.turn, site.call)


def failed(site: Site, call: ToolCall, reason: str, **more: Any) -> ToolFailed:
    return ToolFailed(site.turn, site.call, call.tool, f"(tool failed: {storable(reason)})", **more)


def cut(whole: bytes, limit: int, artifact: str) -> str:
    """The part of a long result that the model reads."""
    shown = whole[:limit].decode("utf-8", "ignore")
    left = len(whole) - len(shown.encode())
    return f"{shown}\n[{left} more bytes left out; the whole result is artifact {artifact}]"


def _guessed(ask: Ask, message: Message) -> Usage:
    """For a provider that does not count: what was reserved for the input, and the answer by its length."""
    said = message.text + "".join(f"{call.tool}{call.arguments}" for call in message.calls)
    return Usage(
        tokens_in=ask.event.reserved_tokens - ask.event.max_output, tokens_out=estimated_tokens(said)
    )


def _with_sound_ids(message: Message, turn: int) -> Message:
    """Providers leave call ids empty or double them; sent back like that, they refuse the conversation."""
    ids = [call.id for call in message.calls]
    if all(ids) and len(set(ids)) == len(ids):
        return message
    renamed = (
        replace(call, id=f"call_{turn}_{position}") for position, call in enumerate(message.calls, start=1)
    )
    return replace(message, calls=tuple(renamed))


_FILE_READERS = frozenset(map(wire_name, ("files.read", "files.list", "files.search")))
"""Which text they give follows from the path."""
_SHORTEST = 6
"""Characters of a value that is told apart from words that stand everywhere."""


def sources_of(state: State, turn: int, call: ToolCall) -> Sources:
    """Of a call that was made."""
    brief = state.brief
    if brief.policy.recorded_first:
        return ()
    foreign = call.tool in brief.policy.untrusted and not _vouched_for(brief.policy, brief.work_dir, call)
    given = (Source(f"what {call.tool} gave {brief.agent.id} in turn {turn}"),) if foreign else ()
    return joined(given, secret_paths(call.arguments, brief.policy.secret))


def foreign_values(state: State, call: ToolCall, sources: Sources) -> tuple[str, ...]:
    """The arguments, by their paths, whose values stand in what tools gave and not in what the session was asked."""
    if not sources:
        return ()
    asked = "\n".join(message.text for message in state.messages if message.role in ("system", "user"))
    given = "\n".join(message.text for message in state.messages if message.role == "tool")
    texts = _texts("", call.arguments)
    return tuple(
        dict.fromkeys(
            path for path, text in texts if len(text) >= _SHORTEST and text in given and text not in asked
        )
    )


def _vouched_for(policy: Policy, work_dir: str, call: ToolCall) -> bool:
    path = call.arguments.get("path", ".")
    return (
        call.tool in _FILE_READERS
        and isinstance(path, str)
        and is_trusted(join(work_dir, path), policy.trusted)
    )


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(path, inner)
