"""What becomes of an error: a message for people, one JSON document for programs, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from folkmoot.errors import DeclarationError, FolkmootError, OperationFailed, WrongUse
from folkmoot.site.remedies import command_for, topic_for


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
