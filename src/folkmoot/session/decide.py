"""From what a session knows to what it does next. No clock, no network, no randomness but the run's seed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from folkmoot.domain.budget import Allowance
from folkmoot.domain.evidence import Evidence, judged, unknown
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE, Broadcast, Report, Selection
from folkmoot.domain.spans import is_within
from folkmoot.session.ask import ask, ask_again
from folkmoot.session.calls import NOTHING, Around, sort_calls
from folkmoot.session.exits import Refusal, judge_broadcast, judge_report, judge_route
from folkmoot.session.state import State
from folkmoot.session.steps import Call, Consult, Exceed, Finish, Refuse, Step, failure, no_report, outcome

NO_EVIDENCE: Evidence = {}
_RANKS = (ROUTE, FINAL_REPORT, BROADCAST)


def decide(
    state: State,
    allowance: Allowance,
    extra: tuple[ToolSpec, ...] = (),
    evidence: Evidence = NO_EVIDENCE,
    around: Around = NOTHING,
) -> Step:
    """`extra` are tools that come and go; they are offered beside those of the brief. `evidence` are all results of
    the run so far; `around` is what the gate must know of the rest of the run."""
    step = _next(state, allowance, extra, evidence, around)
    if isinstance(step, Finish) and step.outcome.failed and not state.outcome:
        report = refused_for_claims(state, evidence)
        return Finish(outcome(state, report=report)) if report else step
    return step


def _next(
    state: State, allowance: Allowance, extra: tuple[ToolSpec, ...], evidence: Evidence, around: Around
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
    if state.asking:
        return ask_again(state, allowance, extra)
    return ask(state, allowance, extra)


def _handle_calls(state: State, evidence: Evidence, around: Around) -> Step:
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
    exits = {spec.name: spec for spec in state.brief.leaving(state.last)}
    if call.tool == ROUTE:
        return judge_route(exits[ROUTE], call)
    if call.tool == BROADCAST:
        return judge_broadcast(exits[BROADCAST], call, position)
    report = judge_report(state.brief.agent, call)
    return report if isinstance(report, Refusal) else judge_claims(state, report, evidence)


_LISTED = 20
"""How many ids a model is reminded of."""


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
    for call in _reports(state):
        report = judge_report(state.brief.agent, call)
        if isinstance(report, Report) and any(unknown(claim, evidence) for claim in report.claims):
            return weighed(report, evidence)
    return None


def _reports(state: State) -> Iterator[ToolCall]:
    """What this session's model gave as its report, the latest first."""
    own = state.messages[len(state.brief.before) :]
    return (call for message in reversed(own) for call in message.calls if call.tool == FINAL_REPORT)


def _remedy(state: State, missing: list[str], evidence: Evidence) -> str:
    span = state.brief.span
    near = [one for one in evidence.values() if is_within(one.span, span)]
    ids = ", ".join(f"{one.id} ({one.tool})" for one in near[-_LISTED:])
    there_are = f"yours are: {ids}" if ids else "you have none, so leave `evidence` empty"
    return f"no result of this run has the id {', '.join(missing)}; {there_are}"
