"""Which page explains an error: one table, so that a message can end with a way on. Nothing is read for it."""

from __future__ import annotations

from typing import NamedTuple

from folkmoot import errors
from folkmoot.errors import DeclarationError, FolkmootError

_HELP = "troubleshooting"


class Remedy(NamedTuple):
    """For errors of a kind whose message holds these words; without words for all others of it.

    A problem in a file is looked at with its place, so that words may also be those of a file's name.
    """

    kind: type[FolkmootError]
    words: str
    topic: str
    """A page and perhaps one of its headings, as `folkmoot docs` takes it; empty: the message says it all."""


TABLE: tuple[Remedy, ...] = (
    Remedy(DeclarationError, "none of its models can be asked", f"{_HELP}#no-key-for-the-model"),
    Remedy(DeclarationError, "nobody knows the ", "models#price-and-context-window"),
    Remedy(DeclarationError, "the agent names no model", "models#naming-a-model"),
    Remedy(DeclarationError, "there is no provider ", "models#providers"),
    Remedy(DeclarationError, "neither an alias nor of the form", "models#naming-a-model"),
    Remedy(DeclarationError, "agents wait for each other", f"{_HELP}#agents-wait-for-each-other"),
    Remedy(DeclarationError, "the frontmatter is missing", "agents#an-agent-file"),
    Remedy(DeclarationError, "is never closed", "agents#an-agent-file"),
    Remedy(DeclarationError, "there is no tool ", "tools"),
    Remedy(DeclarationError, "`storage.", "postgresql"),
    Remedy(DeclarationError, "this is not YAML", f"{_HELP}#this-is-not-yaml"),
    Remedy(DeclarationError, "this is no JSON Schema", "agents#reports"),
    Remedy(DeclarationError, "`contract: strict` forbids", "planning"),
    Remedy(DeclarationError, ".test.yaml:", "reference/scenarios"),
    Remedy(DeclarationError, "", f"{_HELP}#a-file-or-a-setting-is-wrong"),
    Remedy(errors.ForeignRun, "", "consent#runs-of-another-installation"),
    Remedy(errors.Untrusted, "", "consent"),
    Remedy(errors.WrongUse, "this project has no agent ", f"{_HELP}#there-is-no-such-agent"),
    Remedy(errors.WrongUse, "there is no agent file ", f"{_HELP}#there-is-no-such-agent"),
    Remedy(errors.WrongUse, "nothing has run in ", f"{_HELP}#nothing-has-run-here"),
    Remedy(errors.WrongUse, "can be reached from elsewhere", "serving#who-is-let-in"),
    Remedy(errors.WrongUse, "others can read the token", "serving#who-is-let-in"),
    Remedy(errors.WrongUse, "", ""),
    Remedy(errors.Held, "", f"{_HELP}#a-run-is-in-other-hands"),
    Remedy(errors.StaleOwner, "", f"{_HELP}#a-run-is-in-other-hands"),
    Remedy(errors.HandedOver, "", f"{_HELP}#a-run-is-in-other-hands"),
    Remedy(errors.Elsewhere, "", "workers#working-folders"),
    Remedy(errors.Conflict, "", f"{_HELP}#somebody-else-was-quicker"),
    Remedy(errors.JournalDamaged, "", f"{_HELP}#the-journal-is-damaged"),
    Remedy(errors.JournalTooNew, "", f"{_HELP}#the-journal-is-of-a-newer-release"),
    Remedy(errors.ServerFailed, "", f"{_HELP}#a-tool-server-does-not-start"),
    Remedy(errors.ModelFailed, "", "models#attempts-and-fallback"),
    Remedy(errors.SinkFailed, "", "sinks#what-is-promised"),
    Remedy(errors.OperationFailed, "a package that is not installed", f"{_HELP}#a-package-is-not-installed"),
    Remedy(errors.OperationFailed, "cannot listen on ", f"{_HELP}#the-port-is-taken"),
    Remedy(errors.OperationFailed, "the journal", f"{_HELP}#the-journal-cannot-be-written"),
    Remedy(errors.OperationFailed, "", ""),
)
"""The first that fits holds; each kind ends with what holds for all of it."""

STOPPED: dict[str, str] = {
    "BUDGET_EXCEEDED": "running#budgets",
    "MAX_TURNS": "agents#limits",
    "CONTEXT": f"{_HELP}#the-conversation-does-not-fit",
    "NO_EVIDENCE": "evidence",
    "SYSTEM_ERROR": "agents#when-something-fails",
    "SCHEMA": "agents#reports",
}
"""By why a run failed: what `stopReason` says, or `SCHEMA` for an answer that broke its schema."""

STATUSES: dict[int, str] = {
    401: "serving#who-is-let-in",
    403: "serving#what-is-guarded",
    408: "serving#what-is-guarded",
    413: "serving#what-is-guarded",
    415: "serving#what-is-guarded",
    421: "serving#what-is-guarded",
    429: "serving#what-is-guarded",
    431: "serving#what-is-guarded",
}
"""By what the guard of a server answers."""


def topic_for(error: BaseException) -> str:
    """Of several problems, the first that is an error speaks for all."""
    words = str(error)
    if isinstance(error, DeclarationError):
        faults = [str(problem) for problem in error.problems if problem.severity == "error"]
        words = faults[0] if faults else words
    fitting = (row.topic for row in TABLE if isinstance(error, row.kind) and row.words in words)
    return next(fitting, "")


def command_for(topic: str) -> str:
    """What to type to read it."""
    return f"more: folkmoot docs {topic}" if topic else ""


def address_for(topic: str) -> str:
    """Where `folkmoot serve` has it."""
    return f"/docs/{topic}" if topic else ""
