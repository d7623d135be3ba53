"""From what a session knows to what it does next. No clock, no network, no randomness but the run's seed."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import LEAST_OUTPUT, Allowance, cost
from folkmoot.domain.events import LlmFailed, LlmRequest
from folkmoot.domain.evidence import Evidence, judged, unknown
from folkmoot.domain.gate import Standing
from folkmoot.domain.message import ToolCall, ToolSpec, Usage
from folkmoot.domain.naming import chance
from folkmoot.domain.report import (
    BROADCAST,
    FINAL_REPORT,
    ROUTE,
    Broadcast,
    Report,
    Selection,
)
from folkmoot.domain.spans import is_within
from folkmoot.domain.text import estimated_tokens
from folkmoot.session.calls import NOTHING, sort_calls
from folkmoot.session.exits import Refusal, judge_broadcast, judge_report, judge_route
from folkmoot.session.state import State
from folkmoot.session.steps import (
    Ask,
    Call,
    Consult,
    Exceed,
    Finish,
    Refuse,
    Step,
    failure,
    no_report,
    outcome,
)

LONGEST_WAIT = 60.0
"""A provider that asks for a longer pause than this, in seconds, counts as gone for this turn."""
CONTEXT_BUFFER = 256
"""Tokens of the context window that are never planned for."""
NO_EVIDENCE: Evidence = {}
_RANKS = (ROUTE, FINAL_REPORT, BROADCAST)
_LISTED = 20
"""How many ids a model is reminded of."""


def decide(
    state: State,
    allowance: Allowance,
    extra: tuple[ToolSpec, ...] = (),
    evidence: Evidence = NO_EVIDENCE,
    around: Standing = NOTHING,
) -> Step:
    """`extra` are tools that come and go; they are offered beside those of the brief. `evidence` are all results of
    the run so far; `around` is what the gate must know of the rest of the run."""
    step = _next(state, allowance, extra, evidence, around)
    if isinstance(step, Finish) and step.outcome.failed and not state.outcome:
        report = refused_for_claims(state, evidence)
        return Finish(outcome(state, report=report)) if report else step
    return step


def _next(
    state: State, allowance: Allowance, extra: tuple[ToolSpec, ...], evidence: Evidence, around: Standing
) -> Step:
    if state.outcome:
        return Finish(state.outcome)
    if state.exceeded:
        return Finish(failure(state, "BUDGET_EXCEEDED", f"budget exceeded: {state.exceeded}"))
    if state.calls:
        return _handle_calls(state, evidence, around)
    if state.overspent:
        return Exceed(state.overspent)
    if state.broadcast:
        return Finish(outcome(state, exit=BROADCAST, broadcast=state.broadcast))
    if state.report:
        return Finish(outcome(state, report=state.report))
    if state.last:
        return Finish(no_report(state))
    return (
        _ask_again(state, allowance, extra, state.asking) if state.asking else _ask(state, allowance, extra)
    )


def _handle_calls(state: State, evidence: Evidence, around: Standing) -> Step:
    """Ordinary calls first, all at once; an exit takes effect when they are done."""
    found = sort_calls(state, around)
    if found.refusals:
        return Refuse(tuple(found.refusals))
    if found.unasked or found.doubts:
        return Consult(tuple(found.unasked), tuple(found.doubts))
    if found.calls:
        return Call(tuple(found.calls), found.reasons)
    if state.overspent:
        return Exceed(state.overspent)
    return _leave(state, found.leaving, evidence)


def _leave(state: State, leaving: list[tuple[int, ToolCall]], evidence: Evidence) -> Step:
    """A selection wins over a report, a report over a broadcast; of several alike the first good one counts."""
    refused = []
    for position, call in sorted(leaving, key=lambda exit: _RANKS.index(exit[1].tool)):
        match _judge(state, position, call, evidence):
            case Selection() as selection:
                return Finish(outcome(state, exit=ROUTE, selection=selection))
            case Report() as report:
                return Finish(outcome(state, report=report))
            case Broadcast() as said:
                return Finish(outcome(state, exit=BROADCAST, broadcast=said))
            case Refusal() as refusal:
                refused.append((position, call, refusal))
    return Refuse(tuple(refused))


def _judge(
    state: State, position: int, call: ToolCall, evidence: Evidence
) -> Selection | Report | Broadcast | Refusal:
    exits = {spec.name: spec for spec in state.brief.toolset.leaving(state.last)}
    if call.tool == ROUTE:
        return judge_route(exits[ROUTE], call)
    if call.tool == BROADCAST:
        return judge_broadcast(exits[BROADCAST], call, position)
    report = judge_report(state.brief.agent, call)
    return report if isinstance(report, Refusal) else judge_claims(state, report, evidence)


def judge_claims(state: State, report: Report, evidence: Evidence) -> Report | Refusal:
    """The report with each claim's true status; or why it is not taken, as long as its model may try again."""
    missing = dict.fromkeys(id for claim in report.claims for id in unknown(claim, evidence))
    if missing and not state.last:
        return Refusal(reason=_remedy(state, list(missing), evidence))
    return weighed(report, evidence)


def weighed(report: Report, evidence: Evidence) -> Report:
    """The report as it stands, with each claim's true status."""
    return replace(report, claims=tuple(judged(claim, evidence) for claim in report.claims))


def refused_for_claims(state: State, evidence: Evidence) -> Report | None:
    """The latest report that was refused for nothing but its claims: what is left of a session that then failed."""
    own = state.messages[len(state.brief.before) :]
    given = (call for message in reversed(own) for call in message.calls if call.tool == FINAL_REPORT)
    for call in given:
        report = judge_report(state.brief.agent, call)
        if isinstance(report, Report) and any(unknown(claim, evidence) for claim in report.claims):
            return weighed(report, evidence)
    return None


def _remedy(state: State, missing: list[str], evidence: Evidence) -> str:
    span = state.brief.span
    near = [one for one in evidence.values() if is_within(one.span, span)]
    ids = ", ".join(f"{one.id} ({one.tool})" for one in near[-_LISTED:])
    there_are = f"yours are: {ids}" if ids else "you have none, so leave `evidence` empty"
    return f"no result of this run has the id {', '.join(missing)}; {there_are}"


def _ask(state: State, allowance: Allowance, extra: tuple[ToolSpec, ...]) -> Step:
    choice, delay, error = _next_model(state)
    if choice is None:
        return Finish(failure(state, "SYSTEM_ERROR", error))
    turn = state.turn if state.failures else state.turn + 1
    needed = state.context + state.added + sum(estimated_tokens(str(spec)) for spec in extra)
    room = choice.context_window - CONTEXT_BUFFER - needed
    if room < LEAST_OUTPUT:
        text = f"the conversation needs about {needed} tokens, {choice.ref} takes {choice.context_window}"
        return Finish(failure(state, "CONTEXT", text))
    output = min(state.brief.agent.tuning.max_output_tokens, room)
    output, limit = _affordable(needed, output, choice, allowance)
    if limit:
        return Exceed(limit)
    event = LlmRequest(
        turn=turn,
        attempt=len(state.failures) + 1,
        model=choice.ref,
        max_output=output,
        reserved_tokens=needed + output,
        reserved_usd=cost(Usage(tokens_in=needed, tokens_out=output), choice.price),
        final=turn >= state.brief.max_turns or state.overflow or allowance.requests.left <= 1,
    )
    return _request(state, extra, choice, event, delay)


def _ask_again(state: State, allowance: Allowance, extra: tuple[ToolSpec, ...], asked: LlmRequest) -> Step:
    """The request was recorded, its answer was not: the process ended in between.

    The agent may name other models by now, if the run was told to go on with the present files.
    """
    if allowance.seconds.left <= 0:
        return Exceed(allowance.seconds.limit)
    models = state.brief.agent.models
    choice = next((choice for choice in models if choice.ref == asked.model), models[0])
    return replace(_request(state, extra, choice, asked), again=True)


def _request(
    state: State, extra: tuple[ToolSpec, ...], choice: ModelChoice, event: LlmRequest, delay: float = 0.0
) -> Ask:
    aloud = is_report(state, extra)
    return Ask(choice, event, () if aloud else _tools(state, extra, event.final), delay, aloud=aloud)


def _tools(state: State, extra: tuple[ToolSpec, ...], final: bool) -> tuple[ToolSpec, ...]:
    brief, own = state.brief, state.brief.toolset
    if final:
        return own.leaving(final)
    if not (extra or state.gated) or brief.closing:
        return own.offered
    may = brief.policy.step.names
    tools = (spec for spec in (*own.tools, *extra) if spec.name not in state.gated)
    return (*(spec for spec in tools if may(spec.name, spec.access)), *own.exits)


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
    attempts, last = "attempt" if tried == 1 else "attempts", state.failures[-1]
    error = f"no model answered after {tried} {attempts}; the last: {last.error}"
    if tried >= tuning.max_retries:
        return None, 0.0, error
    for step in range(len(models)):
        choice = models[(tried + step) % len(models)]
        of_this = [failed for failed in state.failures if failed.model == choice.ref]
        if not any(not each.retryable or (each.retry_after or 0.0) > LONGEST_WAIT for each in of_this):
            return choice, _pause(state, of_this), ""
    return None, 0.0, error


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
    brief, agent, own = state.brief, state.brief.agent, state.brief.toolset
    return (
        brief.aloud
        and not (own.tools or extra or agent.remote)
        and [spec.name for spec in own.exits] == [FINAL_REPORT]
        and agent.output.format != "json"
        and not agent.output.claims
        and not any(message.calls for message in state.messages)
    )
