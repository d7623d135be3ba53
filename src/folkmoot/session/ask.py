"""Which model is asked next, after which pause, for how much output at most, and whether its words are the report."""

from __future__ import annotations

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import LEAST_OUTPUT, Allowance, cost
from folkmoot.domain.events import LlmFailed
from folkmoot.domain.message import ToolSpec, Usage
from folkmoot.domain.naming import chance
from folkmoot.domain.report import FINAL_REPORT
from folkmoot.domain.text import estimated_tokens
from folkmoot.session.state import State
from folkmoot.session.steps import Ask, Exceed, Finish, Step, failure

LONGEST_WAIT = 60.0
"""A provider that asks for a longer pause than this, in seconds, counts as gone for this turn."""
CONTEXT_BUFFER = 256
"""Tokens of the context window that are never planned for."""


def ask(state: State, allowance: Allowance, extra: tuple[ToolSpec, ...] = ()) -> Step:
    choice, delay, error = _next_model(state)
    if choice is None:
        return Finish(failure(state, "SYSTEM_ERROR", error))
    agent, turn = state.brief.agent, state.turn if state.failures else state.turn + 1
    needed = state.context + state.added + sum(estimated_tokens(str(spec)) for spec in extra)
    room = choice.context_window - CONTEXT_BUFFER - needed
    if room < LEAST_OUTPUT:
        text = f"the conversation needs about {needed} tokens, {choice.ref} takes {choice.context_window}"
        return Finish(failure(state, "CONTEXT", text))
    output = min(agent.tuning.max_output_tokens, room)
    output, limit = _affordable(needed, output, choice, allowance)
    if limit:
        return Exceed(limit)
    aloud = is_report(state, extra)
    final = turn >= state.brief.max_turns or state.overflow or allowance.requests.left <= 1
    return Ask(
        choice=choice,
        turn=turn,
        attempt=len(state.failures) + 1,
        tools=() if aloud else _tools(state, extra, final=final),
        max_output=output,
        reserved_tokens=needed + output,
        reserved_usd=cost(Usage(tokens_in=needed, tokens_out=output), choice.price),
        final=final,
        delay=delay,
        aloud=aloud,
    )


def ask_again(state: State, allowance: Allowance, extra: tuple[ToolSpec, ...] = ()) -> Step:
    """The request was recorded, its answer was not: the process ended in between.

    The agent may name other models by now, if the run was told to go on with the present files.
    """
    asked, models = state.asking, state.brief.agent.models
    assert asked is not None
    if allowance.seconds.left <= 0:
        return Exceed(allowance.seconds.limit)
    aloud = is_report(state, extra)
    return Ask(
        choice=next((choice for choice in models if choice.ref == asked.model), models[0]),
        turn=asked.turn,
        attempt=asked.attempt,
        tools=() if aloud else _tools(state, extra, final=asked.final),
        max_output=asked.max_output,
        reserved_tokens=asked.reserved_tokens,
        reserved_usd=asked.reserved_usd,
        final=asked.final,
        again=True,
        aloud=aloud,
    )


def _tools(state: State, extra: tuple[ToolSpec, ...], *, final: bool) -> tuple[ToolSpec, ...]:
    brief = state.brief
    if final:
        return brief.leaving(final)
    if (extra or state.gated) and not brief.closing:
        may = brief.policy.step.names
        tools = (
            spec
            for spec in (*brief.tools, *extra)
            if spec.name not in state.gated and may(spec.name, spec.access)
        )
        return (*tools, *brief.exits)
    return brief.offered


def _affordable(needed: int, output: int, choice: ModelChoice, allowance: Allowance) -> tuple[int, str]:
    """How much output may be asked for, or the limit that allows not even the least."""
    if allowance.requests.left < 1:
        return 0, allowance.requests.limit
    if allowance.seconds.left <= 0:
        return 0, allowance.seconds.limit
    output = int(min(output, allowance.tokens.left - needed))
    if output < LEAST_OUTPUT:
        return 0, allowance.tokens.limit
    if choice.price.output and allowance.usd.limit:
        left = allowance.usd.left - cost(Usage(tokens_in=needed), choice.price)
        output = int(min(output, left / choice.price.output * 1_000_000))
        if output < LEAST_OUTPUT:
            return 0, allowance.usd.limit
    return output, ""


def _next_model(state: State) -> tuple[ModelChoice | None, float, str]:
    """The models in turn; one that failed for good is left out, one that is asked again gets a pause."""
    tuning, models = state.brief.agent.tuning, state.brief.agent.models
    tried = len(state.failures)
    if not tried:
        return models[0], 0.0, ""
    last = state.failures[-1]
    error = (
        f"no model answered after {tried} {'attempt' if tried == 1 else 'attempts'}; the last: {last.error}"
    )
    if tried >= tuning.max_retries:
        return None, 0.0, error
    for step in range(len(models)):
        choice = models[(tried + step) % len(models)]
        of_this = [failed for failed in state.failures if failed.model == choice.ref]
        if not any(_for_good(failed) for failed in of_this):
            return choice, _pause(state, of_this), ""
    return None, 0.0, error


def _for_good(failed: LlmFailed) -> bool:
    return not failed.retryable or (failed.retry_after or 0.0) > LONGEST_WAIT


def _pause(state: State, failures: list[LlmFailed]) -> float:
    if not failures:
        return 0.0
    drawn = chance(state.brief.seed, state.brief.span, "pause", state.turn, len(state.failures))
    backed_off = min(LONGEST_WAIT, 0.5 * 2.0 ** (len(failures) - 1)) * (0.5 + drawn)
    return max(backed_off, failures[-1].retry_after or 0.0)


def fits(state: State, text_tokens: int) -> bool:
    """Whether a result of this size leaves room in the model's context for an answer."""
    window = min(choice.context_window for choice in state.brief.agent.models)
    output = min(state.brief.agent.tuning.max_output_tokens, window // 4)
    return state.context + state.added + text_tokens <= window - CONTEXT_BUFFER - output


def is_report(state: State, extra: tuple[ToolSpec, ...] = ()) -> bool:
    """If so, nothing is offered to the model: it has nothing to call but the report, and its words are that.

    Who has called something is offered tools from then on: providers refuse a conversation with calls of none. A
    remote agent may take back what it said.
    """
    brief, agent = state.brief, state.brief.agent
    return (
        brief.aloud
        and not (brief.tools or extra or agent.remote)
        and [spec.name for spec in brief.exits] == [FINAL_REPORT]
        and agent.output.format != "json"
        and not agent.output.claims
        and not any(message.calls for message in state.messages)
    )
