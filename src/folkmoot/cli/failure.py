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
    dollars,
    in_one_line,
    say,
    seconds,
    write,
    write_json,
    write_markdown,
)
from folkmoot.domain.report import Report
from folkmoot.errors import DeclarationError, FolkmootError, OperationFailed, WrongUse
from folkmoot.site.remedies import STOPPED, command_for, topic_for
from folkmoot.views.costs import Totals
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.result import Result


def report_failure(error: BaseException, arguments: Sequence[str]) -> int:
    from folkmoot.cli.output import say, write_json

    message, code = _explained(error)
    if isinstance(error, DeclarationError):
        say(message)
        say(_count(error), "bold red")
    else:
        say(message, "red")
    say_more(topic_for(error))
    if not _on_purpose(error):
        _keep_traceback(error, arguments)
    if _wants_json(arguments):  # last, because stdout may be what failed
        write_json(as_document(error, message))
    sys.stdout.flush()
    return code


def as_document(error: BaseException, message: str = "") -> dict[str, Any]:
    problems = error.problems if isinstance(error, DeclarationError) else ()
    return {
        "error": message or str(error),
        "code": _code(error),
        "problems": problems,
        "help": topic_for(error),
    }


def _code(error: BaseException) -> str:
    """For programs; `broken` is an error of this program."""
    if isinstance(error, FolkmootError):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if hasattr(error, "format_message"):
        return WrongUse.code
    return OperationFailed.code if isinstance(error, OSError) else "broken"


def say_more(topic: str) -> None:
    """Where to read on, in one line, if there is such a place."""
    from folkmoot.cli.output import say

    if topic:
        say(command_for(topic), "dim")


def _explained(error: BaseException) -> tuple[str, int]:
    if isinstance(error, FolkmootError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if hasattr(error, "format_message"):  # what typer raises for a wrong command line
        return _usage(error), 2
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}", 1
    return f"folkmoot broke: {type(error).__name__}: {error}", 1


def _usage(error: Any) -> str:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if message.startswith("Usage:"):  # a group without a command: its help
        return str(message)
    return f"{message}\n`{context.command_path if context else 'folkmoot'} --help` shows what it takes"


def _count(error: DeclarationError) -> str:
    errors = sum(problem.severity == "error" for problem in error.problems)
    return f"{errors} {'problem' if errors == 1 else 'problems'}; nothing was run"


def _on_purpose(error: BaseException) -> bool:
    return isinstance(error, FolkmootError | KeyboardInterrupt | OSError) or hasattr(error, "format_message")


def _keep_traceback(error: BaseException, arguments: Sequence[str]) -> None:
    """Into the log file if there is one, else to those who asked with `-v`; nobody else is shown one."""
    import logging
    import traceback

    from folkmoot.cli.output import say

    if any(argument.startswith("--log-file") for argument in arguments):
        logging.getLogger("folkmoot").error("it broke", exc_info=error)
        say("the traceback is in the log file")
    elif {"-v", "--verbose"} & set(arguments):
        say("".join(traceback.format_exception(error)))
    else:
        say("run it again with -v to see the traceback, or with --log-file FILE to keep it")


def _wants_json(arguments: Sequence[str]) -> bool:
    """Known before the command line is understood, because that may be what failed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


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
