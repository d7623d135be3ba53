"""How a command ends: an error as a message for people or one JSON document for programs; the report of a run on
stdout, a line about it on stderr; and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from folkmoot.cli.interrupt import INTERRUPTED
from folkmoot.cli.output import (
    STYLES,
    counted,
    format_dollars,
    format_one_line,
    format_seconds,
    write,
    write_json,
    write_markdown,
    write_stderr,
)
from folkmoot.domain.report import Report
from folkmoot.errors import DeclarationError, FolkmootError, OperationFailed, WrongUse
from folkmoot.site.remedies import STOPPED, command_for, topic_for
from folkmoot.views.costs import Totals
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result


def report_failure(error: BaseException, arguments: Sequence[str]) -> int:
    from folkmoot.cli.output import write_json, write_stderr

    message, code = _describe_error(error)
    if isinstance(error, DeclarationError):
        write_stderr(message)
        write_stderr(_describe_problem_count(error), "bold red")
    else:
        write_stderr(message, "red")
    write_help_hint(topic_for(error))
    if not _is_expected(error):
        _write_traceback(error, arguments)
    if _wants_json(arguments):  # last, because stdout may be what failed
        write_json(as_document(error, message))
    sys.stdout.flush()
    return code


def as_document(error: BaseException, message: str = "") -> dict[str, Any]:
    problems = error.problems if isinstance(error, DeclarationError) else ()
    return {
        "error": message or str(error),
        "code": _error_code(error),
        "problems": problems,
        "help": topic_for(error),
    }


def _error_code(error: BaseException) -> str:
    """For programs; `broken` is an error of this program."""
    if isinstance(error, FolkmootError):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if hasattr(error, "format_message"):
        return WrongUse.code
    return OperationFailed.code if isinstance(error, OSError) else "broken"


def write_help_hint(topic: str) -> None:
    """Where to read on, in one line, if there is such a place."""
    from folkmoot.cli.output import write_stderr

    if topic:
        write_stderr(command_for(topic), "dim")


def _describe_error(error: BaseException) -> tuple[str, int]:
    if isinstance(error, FolkmootError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if hasattr(error, "format_message"):  # what typer raises for a wrong command line
        return _describe_usage_error(error), 2
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}", 1
    return f"folkmoot broke: {type(error).__name__}: {error}", 1


def _describe_usage_error(error: Any) -> str:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if message.startswith("Usage:"):  # a group without a command: its help
        return str(message)
    return f"{message}\n`{context.command_path if context else 'folkmoot'} --help` shows what it takes"


def _describe_problem_count(error: DeclarationError) -> str:
    errors = sum(problem.severity == "error" for problem in error.problems)
    return f"{errors} {'problem' if errors == 1 else 'problems'}; nothing was run"


def _is_expected(error: BaseException) -> bool:
    return isinstance(error, FolkmootError | KeyboardInterrupt | OSError) or hasattr(error, "format_message")


def _write_traceback(error: BaseException, arguments: Sequence[str]) -> None:
    """Into the log file if there is one, else to those who asked with `-v`; nobody else is shown one."""
    import logging
    import traceback

    from folkmoot.cli.output import write_stderr

    if any(argument.startswith("--log-file") for argument in arguments):
        logging.getLogger("folkmoot").error("it broke", exc_info=error)
        write_stderr("the traceback is in the log file")
    elif {"-v", "--verbose"} & set(arguments):
        write_stderr("".join(traceback.format_exception(error)))
    else:
        write_stderr("run it again with -v to see the traceback, or with --log-file FILE to keep it")


def _wants_json(arguments: Sequence[str]) -> bool:
    """Known before the command line is understood, because that may be what failed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


SCHEMA_BROKEN = 5
"""The exit code of a run whose answer does not fit what was asked for."""
_CLAIM = 300
"""Characters of a claim that are shown."""


def write_result(result: Result, *, as_json: bool, quiet: bool = False, took: float | None = None) -> int:
    """`took`: seconds that this process spent on it."""
    if as_json:
        write_json(result.to_json())
    elif result.success and result.final_report:
        write_report(result.final_report)
    sys.stdout.flush()
    _write_problems(result)
    if not quiet:
        for line in list_unverified_claims(result.final_report):
            write_stderr(line, STYLES["warning"])
        if result.success and sys.stdout.isatty():
            write_stderr("")
        write_stderr(
            describe_run_totals(result.status, result.totals, "" if took is None else format_seconds(took)),
            "dim",
        )
        write_stderr(f"folkmoot runs show {result.run_id}", "dim")
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


def describe_run_totals(status: str, total: Totals, took: str) -> str:
    parts = (
        status,
        counted(total.agents_run, "agent"),
        counted(total.model_requests, "model request"),
        counted(total.tool_calls, "tool call") if total.tool_calls else "",
        counted(total.tokens_in + total.tokens_out, "token"),
        format_dollars(total.cost_usd),
        took,
    )
    return " · ".join(part for part in parts if part)


def list_unverified_claims(report: Report | None) -> Iterator[str]:
    """What a report claims and nothing bears out."""
    for claim in report.claims if report else ():
        if claim.status == "unverified":
            why = f" ({claim.reason})" if claim.reason else ""
            yield format_one_line(f"unverified: {claim.text}{why}", _CLAIM)


def write_report(report: Report) -> None:
    if report.format == "markdown" and sys.stdout.isatty():
        write_markdown(report.content)
    else:
        write(report.content.removesuffix("\n"))


def _write_problems(result: Result) -> None:
    style = STYLES.get(result.status, "")
    if result.error:
        write_stderr(f"{result.status}: {result.error}", style)
        write_help_hint(
            STOPPED.get("SCHEMA" if exit_code(result) == SCHEMA_BROKEN else result.stop_reason or "", "")
        )
    for line in what_it_needs(result):
        write_stderr(line, style)
