"""Every error this package raises on purpose, by who must act.

FolkmootError
├── DeclarationError      an agent file or a setting is wrong            the author     exit 4
├── Untrusted             a project wants something nobody allowed yet   the author     exit 4
│   └── ForeignRun        a run was started by another installation
├── WrongUse              bad argument, not possible now                 the caller     exit 2
│   └── NotFound          unknown agent, unknown run
└── OperationFailed       the world did not do its part                  the operator   exit 1
    ├── ModelFailed       one attempt at a model did not give an answer
    ├── SinkFailed        a sink did not take what was sent on to it
    ├── StaleOwner        somebody else owns this run by now
    ├── ServerFailed      a tool server did not start                                   exit 3
    ├── Held              a run is in the hands of another live process
    ├── HandedOver        this process left a run to another
    ├── Elsewhere         a run goes on only where its working folder is
    ├── Conflict          a shared stream moved on; read again and retry
    ├── JournalDamaged    the journal does not read back as it was written
    └── JournalTooNew     a newer release wrote this journal

Programs go by the class and its `code`, such as `run_not_found`; the message is for people and may be reworded.
A model reads the text of a `WrongUse` as the result of its call. What fails inside a run is an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

BAD_VALUE = "bad_value"
"""The code of what is wrong in itself, whatever the state of things."""
FailureKind = Literal["rate_limit", "billing", "timeout", "context_overflow", "unknown"]
"""Why a model gave no answer, as far as somebody acts on it."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong in a project, where it is, and how to mend it."""

    file: str
    line: int = 1
    column: int = 1
    severity: Literal["error", "warning"] = "error"
    message: str
    code: str = "bad_declaration"

    def __str__(self) -> str:
        prefix = "warning: " if self.severity == "warning" else ""
        return f"{self.file}:{self.line}:{self.column}: {prefix}{self.message}"


class FolkmootError(Exception):
    """Base of all errors raised on purpose; the doors catch this one."""

    exit_code = 1
    code = "error"

    def __init__(self, message: str, *, code: str = "") -> None:
        self.code = code or self.code
        super().__init__(message)


class DeclarationError(FolkmootError):
    """A project cannot be loaded. Carries everything that is wrong with it, not the first thing only."""

    exit_code = 4
    code = "bad_declaration"

    def __init__(self, problems: Sequence[Problem]) -> None:
        """The first problem that is an error gives its code."""
        self.problems = tuple(problems)
        first = next((problem for problem in self.problems if problem.severity == "error"), None)
        code = first.code if first else ""
        super().__init__("\n".join(str(problem) for problem in self.problems), code=code)


class Untrusted(FolkmootError):
    """A project names code or an address that this user has not allowed."""

    exit_code = 4
    code = "untrusted"


class ForeignRun(Untrusted):
    """A run that neither began nor was adopted in this installation does not continue here."""

    code = "foreign_run"

    def __init__(self, run: str) -> None:
        super().__init__(
            f"run {run} was started by another installation, or by Folkmoot 0.1; look at it with `folkmoot runs show"
            f" {run}`, and let it continue here with: folkmoot journal adopt {run}"
        )


class WrongUse(FolkmootError):
    """The caller asked for something that makes no sense, or not as things are."""

    exit_code = 2
    code = "wrong_use"


class NotFound(WrongUse):
    """The caller named something that does not exist."""

    code = "not_found"


class OperationFailed(FolkmootError):
    """The world did not do its part: a disk, a network, a server, another process."""

    code = "operation_failed"


class ModelFailed(OperationFailed):
    """One attempt at a model gave no answer. The session decides whether another one is made."""

    code = "model_failed"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
        status: int = 0,
        kind: FailureKind = "unknown",
        reset_after: float = 0.0,
    ) -> None:
        self.retryable = retryable
        self.retry_after = retry_after
        self.kind = kind
        self.reset_after = reset_after
        """Seconds after which the provider says in its own words that it can be asked again."""
        self.status = status
        """Of HTTP, where the provider answered with one."""
        super().__init__(message)


class SinkFailed(OperationFailed):
    """A sink did not take a batch. Whoever feeds it tries again, after `wait` seconds if the sink said so."""

    code = "sink_failed"

    def __init__(self, message: str, *, status: int = 0, wait: float | None = None) -> None:
        self.status = status
        self.wait = wait
        super().__init__(message)

    @property
    def lasting(self) -> bool:
        """Trying again soon will not help."""
        return 300 <= self.status < 500 and self.status not in (408, 429)


class ServerFailed(OperationFailed):
    """A tool server did not start, or did not answer; names it and what to do."""

    exit_code = 3
    code = "server_failed"


class StaleOwner(OperationFailed):
    """Another process has claimed this run since; whatever this one does is void."""

    code = "run_lost"


class Held(OperationFailed):
    """A live process owns this run."""

    code = "run_locked"

    def __init__(self, run: str, owner: str, *, wait: float = 0.0) -> None:
        self.owner = owner
        self.wait = wait
        """Seconds after which it can be claimed if its owner, who seems to be gone, stays silent; 0: it seems alive."""
        super().__init__(f"run {run!r} is in the hands of {owner}; wait for it or cancel the run")


class HandedOver(OperationFailed):
    """This process is stopping and has left a run to whoever comes next."""

    code = "run_handed_over"

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run!r} was left to another worker")


class Elsewhere(OperationFailed):
    """A run has used a working folder, and that is not here."""

    code = "wrong_worker"

    def __init__(self, run: str, label: str) -> None:
        super().__init__(
            f"run {run!r} has used a working folder and goes on only where that is:"
            f" leave it to a worker started there with --label {label}"
        )


class Conflict(OperationFailed):
    """A shared stream is no longer at the expected version."""

    code = "conflict"


class JournalDamaged(OperationFailed):
    """The journal does not read back as it was written; names the position."""

    code = "journal_damaged"


class JournalTooNew(OperationFailed):
    """The journal has a schema this release does not know; names the version it needs."""

    exit_code = 4
    code = "journal_too_new"
