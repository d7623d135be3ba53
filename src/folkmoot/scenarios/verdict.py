"""What became of one case, and how it is told: to people line by line, to programs as JSON or JUnit's XML."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal
from xml.etree import ElementTree

from folkmoot.domain.value import Value
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.judging import judge
from folkmoot.scenarios.playing import Played
from folkmoot.views.timeline import timeline

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Failure(Value, omit_defaults=False):
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
    failures: tuple[Failure, ...] = ()
    timeline: tuple[str, ...] = ()
    """What happened, for people; only where something failed."""


def judged(case: Case, played: Played) -> Verdict:
    failures = []
    for miss in judge(case.scenario.expect, played):
        place = case.place_of(miss.keys)
        what = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in miss.keys).lstrip(".")
        failures.append(Failure(*place, what or case.scenario.name, miss.expected, miss.actual))
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
