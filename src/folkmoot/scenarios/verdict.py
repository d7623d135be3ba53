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
from folkmoot.scenarios.playing import Played
from folkmoot.scenarios.scenario import Called, Case, Expect, ExpectedText, fits, in_files, is_tool
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


def judged(case: Case, played: Played) -> Verdict:
    failures = []
    for miss in judge(case.scenario.expect, played):
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


def skipped(case: Case) -> Verdict:
    return Verdict(case.scenario.name, case.shown, case.place.line, "skipped")


def title(verdict: Verdict) -> str:
    hint = " (needs --model)" if verdict.status == "skipped" else ""
    return f"{verdict.status:7} {verdict.file}:{verdict.line} {verdict.name}{hint}"


def details(verdict: Verdict) -> Iterator[str]:
    """What was expected, what was, and how it came to that."""
    for failure in verdict.failures:
        yield f"  {failure.file}:{failure.line}:{failure.column}: {failure.what}"
        yield from (f"    {line}" for line in _compared(failure.expected, failure.actual))
    if verdict.timeline:
        yield "  what happened:"
        yield from (f"    {line}" for line in "\n".join(verdict.timeline).splitlines())


def _compared(expected: str, actual: str) -> Iterator[str]:
    before, after = expected.strip().splitlines(), actual.strip().splitlines()
    if len(before) > 1 and len(after) > 1:
        yield "- expected, + actual"
        yield from (line.rstrip() for line in difflib.ndiff(before, after) if line[0] != "?")
        return
    for name, lines in (("expected", before), ("actual", after)):
        yield f"{name:9} {lines[0] if lines else ''}"
        yield from (f"{'':9} {line}" for line in lines[1:])


def junit(verdicts: Sequence[Verdict]) -> str:
    """As most continuous integrations read it."""
    root = ElementTree.Element("testsuites", _counts(verdicts))
    for file, group in groupby(verdicts, key=lambda verdict: verdict.file):
        of_file = list(group)
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(file)} | _counts(of_file))
        for verdict in of_file:
            attributes = {"name": verdict.name, "classname": file, "file": file, "line": str(verdict.line)}
            attributes["time"] = f"{verdict.seconds:.3f}"
            case = ElementTree.SubElement(suite, "testcase", {k: _clean(v) for k, v in attributes.items()})
            if verdict.status == "skipped":
                ElementTree.SubElement(case, "skipped", {"message": "needs --model"})
            if verdict.failures:
                told = ElementTree.SubElement(case, "failure", {"message": _clean(_message(verdict))})
                told.text = _clean("\n".join(details(verdict)))
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


def _message(verdict: Verdict) -> str:
    return "; ".join(f"{failure.what}: expected {failure.expected}" for failure in verdict.failures)


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def judge(expect: Expect, played: Played) -> list[Miss]:
    """Everything that was expected and is not so."""
    if played.result is None:
        return [Miss((), "a run", f"it could not be played: {played.error}")]
    expected = "a word about every call that does more than read"
    return [
        *(Miss(("tools",), expected, each) for each in played.surprises),
        *_end(expect, played.result),
        *_equal(expect, played, played.result),
        *_calls(expect, played),
        *_people(expect, played),
        *_amounts(expect, played.result),
        *_records("tasks", expect.tasks, played.tasks),
        *_records("decisions", expect.decisions, played.decisions),
    ]


def _end(expect: Expect, result: Result) -> Iterator[Miss]:
    status = expect.status or ("completed" if not expect.stop_reason and not expect.error else None)
    if status and result.status != status:
        why = result.error or ", ".join(result.waiting)
        yield Miss(("expect", "status"), status, f"{result.status}: {why}" if why else result.status)
    if expect.error:
        yield from text_misses(("expect", "error"), expect.error, result.error or "")
    if expect.report:
        report = result.final_report
        said = (report.content, report.content_json) if report else ("", None)
        yield from text_misses(("expect", "report"), expect.report, *said)


def _equal(expect: Expect, played: Played, result: Result) -> Iterator[Miss]:
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
            yield Miss(("expect", *keys), _shown_value(wanted), _shown_value(found))


def _shown_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _listed(value)
    return NOTHING if value is None else str(value)


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
    spent, most = result.totals, expect.at_most
    for key, limit, amount in (
        ("usd", most.usd, spent.cost_usd),
        ("tokens", most.tokens, spent.tokens_in + spent.tokens_out),
        ("requests", most.requests, spent.model_requests),
        ("toolCalls", most.tool_calls, spent.tool_calls),
    ):
        if limit is not None and amount > limit:
            actual = f"{amount:.6g}" if key == "usd" else str(amount)
            yield Miss(("expect", "atMost", key), f"at most {limit}", actual)


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


NOTHING = "(nothing)"


class Miss(Value):
    """An expectation that was not met."""

    keys: Keys
    """Where it stands in the scenario."""
    expected: str
    actual: str


def text_misses(keys: Keys, wanted: ExpectedText, text: str, structured: Any = None) -> Iterator[Miss]:
    if wanted.equals is not None and text.strip() != wanted.equals.strip():
        yield Miss((*keys, "equals"), wanted.equals, text or NOTHING)
    for number, part in enumerate(wanted.contains):
        if part not in text:
            yield Miss((*keys, "contains", number), f"contains {part!r}", text or NOTHING)
    if wanted.matches is not None and not re.search(wanted.matches, text):
        yield Miss((*keys, "matches"), f"matches /{wanted.matches}/", text or NOTHING)
    if wanted.json is not None:
        found = _decoded(text) if structured is None else structured
        if not fits(wanted.json, found):
            actual = in_json(found) if found is not None else text or NOTHING
            yield Miss((*keys, "json"), in_json(wanted.json), actual)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
