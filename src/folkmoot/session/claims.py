"""Whether a report's claims are borne out by results of its run. A report is never lost because of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from folkmoot.domain.evidence import Evidence, demoted, judged, unknown
from folkmoot.domain.message import ToolCall
from folkmoot.domain.report import FINAL_REPORT, Report
from folkmoot.session.exits import Refusal, judge_report
from folkmoot.session.state import State

NOT_THEIRS = "whoever made it may not claim anything"
_LISTED = 20
"""How many ids a model is reminded of."""


def judge_claims(state: State, report: Report, evidence: Evidence) -> Report | Refusal:
    """The report with each claim's true status; or why it is not taken, as long as its model may try again."""
    missing = dict.fromkeys(id for claim in report.claims for id in unknown(claim, evidence))
    if missing and state.brief.may_claim and not state.last:
        return Refusal(reason=_remedy(state, list(missing), evidence))
    return weighed(state, report, evidence)


def weighed(state: State, report: Report, evidence: Evidence) -> Report:
    """The report as it stands, with each claim's true status."""
    if not state.brief.may_claim:
        return replace(report, claims=tuple(demoted(claim, NOT_THEIRS) for claim in report.claims))
    return replace(report, claims=tuple(judged(claim, evidence) for claim in report.claims))


def refused_for_claims(state: State, evidence: Evidence) -> Report | None:
    """The latest report that was refused for nothing but its claims: what is left of a session that then failed."""
    for call in _reports(state):
        report = judge_report(state.brief.agent, call)
        if isinstance(report, Report) and any(unknown(claim, evidence) for claim in report.claims):
            return weighed(state, report, evidence)
    return None


def _reports(state: State) -> Iterator[ToolCall]:
    """What this session's model gave as its report, the latest first."""
    own = state.messages[len(state.brief.before) :]
    return (call for message in reversed(own) for call in message.calls if call.tool == FINAL_REPORT)


def _remedy(state: State, missing: list[str], evidence: Evidence) -> str:
    span = state.brief.span
    near = [one for one in evidence.values() if one.span == span or one.span.startswith(f"{span}/")]
    ids = ", ".join(f"{one.id} ({one.tool})" for one in near[-_LISTED:])
    there_are = f"yours are: {ids}" if ids else "you have none, so leave `evidence` empty"
    return f"no result of this run has the id {', '.join(missing)}; {there_are}"
