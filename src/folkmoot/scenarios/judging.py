"""Compare what was expected of a run with what came of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from folkmoot.domain.events import RouterSelected, SessionStarted, ToolStarted
from folkmoot.domain.inbox_events import ApprovalRequested, QuestionAsked
from folkmoot.scenarios.matching import fits, in_files, is_tool
from folkmoot.scenarios.playing import Played
from folkmoot.scenarios.scenario import Called, Expect
from folkmoot.scenarios.texts import NOTHING, Miss, in_json, text_misses
from folkmoot.views.result import Result


def judge(expect: Expect, played: Played) -> list[Miss]:
    """Everything that was expected and is not so."""
    if played.result is None:
        return [Miss((), "a run", f"it could not be played: {played.error}")]
    surprises = [
        Miss(("tools",), "a word about every call that does more than read", each)
        for each in played.surprises
    ]
    return [
        *surprises,
        *_end(expect, played.result),
        *_agents(expect, played),
        *_calls(expect, played),
        *_people(expect, played),
        *_amounts(expect, played.result),
        *_events(expect, played),
        *_records("tasks", expect.tasks, played.tasks),
        *_records("decisions", expect.decisions, played.decisions),
    ]


def _end(expect: Expect, result: Result) -> Iterator[Miss]:
    status = expect.status or ("completed" if not expect.stop_reason and not expect.error else None)
    if status and result.status != status:
        why = result.error or ", ".join(result.waiting)
        yield Miss(("expect", "status"), status, f"{result.status}: {why}" if why else result.status)
    if expect.stop_reason and result.stop_reason != expect.stop_reason:
        yield Miss(("expect", "stopReason"), expect.stop_reason, result.stop_reason or NOTHING)
    if expect.error:
        yield from text_misses(("expect", "error"), expect.error, result.error or "")
    if expect.report:
        yield from text_misses(("expect", "report"), expect.report, *_report(result))


def _report(result: Result) -> tuple[str, Any]:
    report = result.final_report
    return (report.content, report.content_json) if report else ("", None)


def _agents(expect: Expect, played: Played) -> Iterator[Miss]:
    events = [(draft.agent_id, draft.event) for draft in played.drafts]
    routes = [event.agent for _, event in events if isinstance(event, RouterSelected)]
    if expect.route is not None and routes != list(expect.route):
        yield Miss(("expect", "route"), _listed(expect.route), _listed(routes))
    ran = list(dict.fromkeys(agent for agent, event in events if isinstance(event, SessionStarted)))
    if expect.agents is not None and {*ran} != {*expect.agents}:
        yield Miss(("expect", "agents"), _listed(sorted(expect.agents)), _listed(sorted(ran)))
    assert played.result is not None
    final = played.result.final_agent_id or ""
    if expect.final_agent and final != expect.final_agent:
        yield Miss(("expect", "finalAgent"), expect.final_agent, final or NOTHING)


def _calls(expect: Expect, played: Played) -> Iterator[Miss]:
    made = [
        Called(tool=draft.event.tool, arguments=draft.event.arguments, agent=draft.agent_id)
        for draft in played.drafts
        if isinstance(draft.event, ToolStarted)
    ]
    rest = iter(made)
    for number, wanted in enumerate(expect.calls):
        if not any(_is_call(wanted, call) for call in rest):
            after = " after that" if number else ""
            yield Miss(("expect", "calls", number), f"{_shown(wanted)}{after}", _lines(map(_shown, made)))
            break
    for number, name in enumerate(expect.not_called):
        if called := [call for call in made if is_tool(name, call.tool)]:
            yield Miss(("expect", "notCalled", number), f"no call of {name}", _lines(map(_shown, called)))


def _is_call(wanted: Called, made: Called) -> bool:
    return (
        is_tool(wanted.tool, made.tool)
        and wanted.agent in ("", made.agent)
        and fits(wanted.arguments, made.arguments)
    )


def _people(expect: Expect, played: Played) -> Iterator[Miss]:
    events = [draft.event for draft in played.drafts]
    tools = [event.tool for event in events if isinstance(event, ApprovalRequested)]
    if expect.approvals is not None and not _each(expect.approvals, tools, is_tool):
        yield Miss(("expect", "approvals"), _listed(expect.approvals), _listed(tools))
    asked = [event.question for event in events if isinstance(event, QuestionAsked)]
    if expect.questions is not None and not _each(expect.questions, asked, lambda words, text: words in text):
        yield Miss(("expect", "questions"), _listed(expect.questions), _listed(asked))


def _each(wanted: Sequence[str], found: Sequence[str], suits: Any) -> bool:
    return len(wanted) == len(found) and all(map(suits, wanted, found))


def _amounts(expect: Expect, result: Result) -> Iterator[Miss]:
    spent = result.totals
    most = expect.at_most
    for key, limit, amount in (
        ("usd", most.usd, spent.cost_usd),
        ("tokens", most.tokens, spent.tokens_in + spent.tokens_out),
        ("requests", most.requests, spent.model_requests),
        ("toolCalls", most.tool_calls, spent.tool_calls),
    ):
        if limit is not None and amount > limit:
            yield Miss(
                ("expect", "atMost", key),
                f"at most {limit}",
                f"{amount:.6g}" if key == "usd" else str(amount),
            )


def _events(expect: Expect, played: Played) -> Iterator[Miss]:
    counts = Counter(draft.event.type for draft in played.drafts)
    for type, count in expect.events.items():
        if counts[type] != count:
            yield Miss(("expect", "events", type), str(count), str(counts[type]))


def _records(
    kind: str, wanted: Sequence[dict[str, Any]] | None, found: list[dict[str, Any]]
) -> Iterator[Miss]:
    if wanted is None:
        return
    rest = list(found)
    for number, each in enumerate(wanted):
        if match := next((one for one in rest if fits(each, one)), None):
            rest.remove(match)
        else:
            yield Miss(("expect", kind, number), in_json(each), _lines(map(in_json, found)))
    if not wanted and found:
        yield Miss(("expect", kind), NOTHING, _lines(map(in_json, found)))


def _shown(call: Called) -> str:
    arguments = f" {in_json(call.arguments)}" if call.arguments else ""
    return f"{f'{call.agent} calls ' if call.agent else ''}{in_files(call.tool)}{arguments}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or NOTHING


def _lines(lines: Any) -> str:
    return "\n".join(lines) or NOTHING
