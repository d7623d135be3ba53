"""Which page explains an error: one table, so that a message can end with a way on. Nothing is read for it."""

from __future__ import annotations

from folkmoot.errors import FolkmootError

_HELP = "troubleshooting"


TABLE: dict[str, str] = {
    "bad_declaration": f"{_HELP}#a-file-or-a-setting-is-wrong",
    "model_key_missing": f"{_HELP}#no-key-for-the-model",
    "model_unknown": "models#price-and-context-window",
    "model_missing": "models#naming-a-model",
    "bad_model_name": "models#naming-a-model",
    "provider_not_found": "models#providers",
    "agents_in_a_circle": f"{_HELP}#agents-wait-for-each-other",
    "bad_frontmatter": "agents#an-agent-file",
    "tool_not_found": "tools",
    "bad_storage": "postgresql",
    "not_yaml": f"{_HELP}#this-is-not-yaml",
    "bad_schema": "agents#reports",
    "against_contract": "planning",
    "bad_scenario": "reference/scenarios",
    "foreign_run": "consent#runs-of-another-installation",
    "untrusted": "consent",
    "agent_not_found": f"{_HELP}#there-is-no-such-agent",
    "nothing_has_run": f"{_HELP}#nothing-has-run-here",
    "token_missing": "serving#who-is-let-in",
    "token_readable_by_others": "serving#who-is-let-in",
    "run_locked": f"{_HELP}#a-run-is-in-other-hands",
    "run_lost": f"{_HELP}#a-run-is-in-other-hands",
    "run_handed_over": f"{_HELP}#a-run-is-in-other-hands",
    "wrong_worker": "workers#working-folders",
    "conflict": f"{_HELP}#somebody-else-was-quicker",
    "journal_damaged": f"{_HELP}#the-journal-is-damaged",
    "journal_too_new": f"{_HELP}#the-journal-is-of-a-newer-release",
    "journal_unusable": f"{_HELP}#the-journal-cannot-be-written",
    "server_failed": f"{_HELP}#a-tool-server-does-not-start",
    "model_failed": "models#attempts-and-fallback",
    "sink_failed": "sinks#what-is-promised",
    "package_missing": f"{_HELP}#a-package-is-not-installed",
    "address_taken": f"{_HELP}#the-port-is-taken",
}
"""By the code of an error. Of every other the message says it all."""

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
    return TABLE.get(error.code, "") if isinstance(error, FolkmootError) else ""


def command_for(topic: str) -> str:
    """What to type to read it."""
    return f"more: folkmoot docs {topic}" if topic else ""


def address_for(topic: str) -> str:
    """Where `folkmoot serve` has it."""
    return f"/docs/{topic}" if topic else ""
