"""What became of one case, and how it is told: to people line by line, to programs as JSON or JUnit's XML."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal
from xml.etree import ElementTree

import msgspec

from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.events import SessionStarted, ToolStarted
from folkmoot.domain.inbox_events import ApprovalRequested, QuestionAsked
from folkmoot.domain.value import Value
from folkmoot.loader.document import Path as Keys
from folkmoot.scenarios.playing import CaseOutcome
from folkmoot.scenarios.scenario import (
    Case,
    Expectations,
    ExpectedCall,
    ExpectedText,
    is_tool_match,
    is_value_match,
    to_declared_name,
)
from folkmoot.views.result import Result
from folkmoot.views.timeline import timeline

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ScenarioFailure(Value, omit_defaults=False):
    """One expectation that was not met, at its place."""

    file: str
    line: int
    column: int
    what: str
    """Such as `expect.route`."""
    expected: str
    actual: str


class Verdict(Value, omit_defaults=False):
    name: str
    file: str
    line: int
    status: Literal["passed", "failed", "skipped"]
    seconds: float = 0.0
    failures: tuple[ScenarioFailure, ...] = ()
    timeline: tuple[str, ...] = ()
    """What happened, for people; only where something failed."""


def build_verdict(case: Case, played: CaseOutcome) -> Verdict:
    failures = []
    for miss in find_mismatches(case.scenario.expect, played):
        place = case.place_of(miss.keys)
        what = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in miss.keys).lstrip(".")
        failures.append(ScenarioFailure(*place, what or case.scenario.name, miss.expected, miss.actual))
    return Verdict(
        name=case.scenario.name,
        file=case.shown,
        line=case.place.line,
        status="failed" if failures else "passed",
        seconds=played.seconds,
        failures=tuple(sorted(failures, key=lambda failure: (failure.line, failure.column))),
        timeline=tuple(timeline(played.drafts)) if failures else (),
    )


def build_skipped_verdict(case: Case) -> Verdict:
    return Verdict(case.scenario.name, case.shown, case.place.line, "skipped")


def describe_verdict(verdict: Verdict) -> str:
    hint = " (needs --model)" if verdict.status == "skipped" else ""
    return f"{verdict.status:7} {verdict.file}:{verdict.line} {verdict.name}{hint}"


def describe_failures(verdict: Verdict) -> Iterator[str]:
    """What was expected, what was, and how it came to that."""
    for failure in verdict.failures:
        yield f"  {failure.file}:{failure.line}:{failure.column}: {failure.what}"
        yield from (f"    {line}" for line in _describe_difference(failure.expected, failure.actual))
    if verdict.timeline:
        yield "  what happened:"
        yield from (f"    {line}" for line in "\n".join(verdict.timeline).splitlines())


def _describe_difference(expected: str, actual: str) -> Iterator[str]:
    before, after = expected.strip().splitlines(), actual.strip().splitlines()
    if len(before) > 1 and len(after) > 1:
        yield "- expected, + actual"
        yield from (line.rstrip() for line in difflib.ndiff(before, after) if line[0] != "?")
        return
    for name, lines in (("expected", before), ("actual", after)):
        yield f"{name:9} {lines[0] if lines else ''}"
        yield from (f"{'':9} {line}" for line in lines[1:])


def render_junit(verdicts: Sequence[Verdict]) -> str:
    """As most continuous integrations read it."""
    root = ElementTree.Element("testsuites", _counts(verdicts))
    for file, group in groupby(verdicts, key=lambda verdict: verdict.file):
        of_file = list(group)
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": _replace_invalid_xml(file)} | _counts(of_file)
        )
        for verdict in of_file:
            attributes = {"name": verdict.name, "classname": file, "file": file, "line": str(verdict.line)}
            attributes["time"] = f"{verdict.seconds:.3f}"
            case = ElementTree.SubElement(
                suite, "testcase", {k: _replace_invalid_xml(v) for k, v in attributes.items()}
            )
            if verdict.status == "skipped":
                ElementTree.SubElement(case, "skipped", {"message": "needs --model"})
            if verdict.failures:
                message = "; ".join(f"{each.what}: expected {each.expected}" for each in verdict.failures)
                told = ElementTree.SubElement(case, "failure", {"message": _replace_invalid_xml(message)})
                told.text = _replace_invalid_xml("\n".join(describe_failures(verdict)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    counts: dict[str, Any] = {
        "tests": len(verdicts),
        "failures": sum(verdict.status == "failed" for verdict in verdicts),
        "skipped": sum(verdict.status == "skipped" for verdict in verdicts),
        "time": f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    }
    return {key: str(value) for key, value in counts.items()}


def _replace_invalid_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def find_mismatches(expect: Expectations, played: CaseOutcome) -> list[Mismatch]:
    """Everything that was expected and is not so."""
    if played.result is None:
        return [Mismatch((), "a run", f"it could not be played: {played.error}")]
    expected = "a word about every call that does more than read"
    return [
        *(Mismatch(("tools",), expected, each) for each in played.surprises),
        *_compare_end(expect, played.result),
        *_compare_exact_values(expect, played, played.result),
        *_compare_calls(expect, played),
        *_compare_inbox_items(expect, played),
        *_compare_usage(expect, played.result),
        *_compare_records("tasks", expect.tasks, played.tasks),
        *_compare_records("decisions", expect.decisions, played.decisions),
    ]


def _compare_end(expect: Expectations, result: Result) -> Iterator[Mismatch]:
    status = expect.status or ("completed" if not expect.stop_reason and not expect.error else None)
    if status and result.status != status:
        why = result.error or ", ".join(result.waiting)
        yield Mismatch(("expect", "status"), status, f"{result.status}: {why}" if why else result.status)
    if expect.error:
        yield from find_text_mismatches(("expect", "error"), expect.error, result.error or "")
    if expect.report:
        report = result.final_report
        said = (report.content, report.content_json) if report else ("", None)
        yield from find_text_mismatches(("expect", "report"), expect.report, *said)


def _compare_exact_values(expect: Expectations, played: CaseOutcome, result: Result) -> Iterator[Mismatch]:
    """What must be just so, each as the scenario names it."""
    events = [(draft.agent_id, draft.event) for draft in played.drafts]
    routes = [event.agent for _, event in events if isinstance(event, RouterSelected)]
    ran = {agent for agent, event in events if isinstance(event, SessionStarted)}
    counts = Counter(event.type for _, event in events)
    agents = None if expect.agents is None else sorted({*expect.agents})
    compared: list[tuple[Keys, Any, Any]] = [
        (("stopReason",), expect.stop_reason or None, result.stop_reason),
        (("route",), expect.route, tuple(routes)),
        (("agents",), agents, sorted(ran)),
        (("finalAgent",), expect.final_agent or None, result.final_agent_id),
        *((("events", type), count, counts[type]) for type, count in expect.events.items()),
    ]
    for keys, wanted, found in compared:
        if wanted is not None and wanted != found:
            yield Mismatch(("expect", *keys), _describe_value(wanted), _describe_value(found))


def _describe_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _join_names(value)
    return NOTHING if value is None else str(value)


def _compare_calls(expect: Expectations, played: CaseOutcome) -> Iterator[Mismatch]:
    made = [
        ExpectedCall(tool=draft.event.tool, arguments=draft.event.arguments, agent=draft.agent_id)
        for draft in played.drafts
        if isinstance(draft.event, ToolStarted)
    ]
    rest = iter(made)
    for number, wanted in enumerate(expect.calls):
        if not any(_is_call_match(wanted, call) for call in rest):
            after = " after that" if number else ""
            yield Mismatch(
                ("expect", "calls", number),
                f"{_describe_call(wanted)}{after}",
                _join_lines(map(_describe_call, made)),
            )
            break
    for number, name in enumerate(expect.not_called):
        if called := [call for call in made if is_tool_match(name, call.tool)]:
            yield Mismatch(
                ("expect", "notCalled", number),
                f"no call of {name}",
                _join_lines(map(_describe_call, called)),
            )


def _is_call_match(wanted: ExpectedCall, made: ExpectedCall) -> bool:
    return (
        is_tool_match(wanted.tool, made.tool)
        and wanted.agent in ("", made.agent)
        and is_value_match(wanted.arguments, made.arguments)
    )


def _compare_inbox_items(expect: Expectations, played: CaseOutcome) -> Iterator[Mismatch]:
    events = [draft.event for draft in played.drafts]
    tools = [event.tool for event in events if isinstance(event, ApprovalRequested)]
    if expect.approvals is not None and not _is_pairwise_match(expect.approvals, tools, is_tool_match):
        yield Mismatch(("expect", "approvals"), _join_names(expect.approvals), _join_names(tools))
    asked = [event.question for event in events if isinstance(event, QuestionAsked)]
    if expect.questions is not None and not _is_pairwise_match(
        expect.questions, asked, lambda words, text: words in text
    ):
        yield Mismatch(("expect", "questions"), _join_names(expect.questions), _join_names(asked))


def _is_pairwise_match(wanted: Sequence[str], found: Sequence[str], suits: Any) -> bool:
    return len(wanted) == len(found) and all(map(suits, wanted, found))


def _compare_usage(expect: Expectations, result: Result) -> Iterator[Mismatch]:
    spent, most = result.totals, expect.at_most
    for key, limit, amount in (
        ("usd", most.usd, spent.cost_usd),
        ("tokens", most.tokens, spent.tokens_in + spent.tokens_out),
        ("requests", most.requests, spent.model_requests),
        ("toolCalls", most.tool_calls, spent.tool_calls),
    ):
        if limit is not None and amount > limit:
            actual = f"{amount:.6g}" if key == "usd" else str(amount)
            yield Mismatch(("expect", "atMost", key), f"at most {limit}", actual)


def _compare_records(
    kind: str, wanted: Sequence[dict[str, Any]] | None, found: list[dict[str, Any]]
) -> Iterator[Mismatch]:
    if wanted is None:
        return
    rest = list(found)
    for number, each in enumerate(wanted):
        if match := next((one for one in rest if is_value_match(each, one)), None):
            rest.remove(match)
        else:
            yield Mismatch(("expect", kind, number), to_json(each), _join_lines(map(to_json, found)))
    if not wanted and found:
        yield Mismatch(("expect", kind), NOTHING, _join_lines(map(to_json, found)))


def _describe_call(call: ExpectedCall) -> str:
    arguments = f" {to_json(call.arguments)}" if call.arguments else ""
    return f"{f'{call.agent} calls ' if call.agent else ''}{to_declared_name(call.tool)}{arguments}"


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or NOTHING


def _join_lines(lines: Any) -> str:
    return "\n".join(lines) or NOTHING


NOTHING = "(nothing)"


class Mismatch(Value):
    """An expectation that was not met."""

    keys: Keys
    """Where it stands in the scenario."""
    expected: str
    actual: str


def find_text_mismatches(
    keys: Keys, wanted: ExpectedText, text: str, structured: Any = None
) -> Iterator[Mismatch]:
    if wanted.equals is not None and text.strip() != wanted.equals.strip():
        yield Mismatch((*keys, "equals"), wanted.equals, text or NOTHING)
    for number, part in enumerate(wanted.contains):
        if part not in text:
            yield Mismatch((*keys, "contains", number), f"contains {part!r}", text or NOTHING)
    if wanted.matches is not None and not re.search(wanted.matches, text):
        yield Mismatch((*keys, "matches"), f"matches /{wanted.matches}/", text or NOTHING)
    if wanted.json is not None:
        found = _parse_json(text) if structured is None else structured
        if not is_value_match(wanted.json, found):
            actual = to_json(found) if found is not None else text or NOTHING
            yield Mismatch((*keys, "json"), to_json(wanted.json), actual)


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
