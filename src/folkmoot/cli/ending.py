"""What a run leaves on the screen: its report on stdout, a line about it on stderr, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from folkmoot.cli.amounts import counted, dollars, seconds
from folkmoot.cli.failure import say_more
from folkmoot.cli.interrupt import INTERRUPTED
from folkmoot.cli.output import STYLES, say, write, write_json, write_markdown
from folkmoot.cli.shown import in_one_line
from folkmoot.domain.report import Report
from folkmoot.site.remedies import STOPPED
from folkmoot.views.costs import Totals
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result

SCHEMA_BROKEN = 5
"""The exit code of a run whose answer does not fit what was asked for."""
_CLAIM = 300
"""Characters of a claim that are shown."""


def finish(result: Result, *, as_json: bool, quiet: bool = False, took: float | None = None) -> int:
    """`took`: seconds that this process spent on it."""
    if as_json:
        write_json(result.to_json())
    elif result.success and result.final_report:
        write_report(result.final_report)
    sys.stdout.flush()
    _say_what_is_wrong(result)
    if not quiet:
        for line in unverified(result.final_report):
            say(line, STYLES["warning"])
        if result.success and sys.stdout.isatty():
            say("")
        say(summary(result.status, result.totals, "" if took is None else seconds(took)), "dim")
        say(f"folkmoot runs show {result.run_id}", "dim")
    return exit_code(result)


def exit_code(result: Result) -> int:
    match result.status:
        case "completed":
            return 0
        case "cancelled" | "running" | "queued":  # the latter: who followed it was interrupted
            return INTERRUPTED
        case "waiting":
            return 6
    report = result.final_report
    return SCHEMA_BROKEN if report and report.metadata.get("reason") == "schema_violated" else 1


def summary(status: str, total: Totals, took: str) -> str:
    parts = (
        status,
        counted(total.agents_run, "agent"),
        counted(total.model_requests, "model request"),
        counted(total.tool_calls, "tool call") if total.tool_calls else "",
        counted(total.tokens_in + total.tokens_out, "token"),
        dollars(total.cost_usd),
        took,
    )
    return " · ".join(part for part in parts if part)


def unverified(report: Report | None) -> Iterator[str]:
    """What a report claims and nothing bears out."""
    for claim in report.claims if report else ():
        if claim.status == "unverified":
            why = f" ({claim.reason})" if claim.reason else ""
            yield in_one_line(f"unverified: {claim.text}{why}", _CLAIM)


def write_report(report: Report) -> None:
    if report.format == "markdown" and sys.stdout.isatty():
        write_markdown(report.content)
    else:
        write(report.content.removesuffix("\n"))


def _say_what_is_wrong(result: Result) -> None:
    style = STYLES.get(result.status, "")
    if result.error:
        say(f"{result.status}: {result.error}", style)
        say_more(
            STOPPED.get("SCHEMA" if exit_code(result) == SCHEMA_BROKEN else result.stop_reason or "", "")
        )
    for line in what_it_needs(result):
        say(line, style)
