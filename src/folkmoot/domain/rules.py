"""Rules of `folkmoot.yaml`: which calls are allowed, asked about or denied, by tool, agent and arguments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from posixpath import normpath
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta

from folkmoot.domain import regex
from folkmoot.domain.message import Access, ToolCall, ToolSpec, fingerprint
from folkmoot.domain.naming import wire_glob, wire_name
from folkmoot.domain.value import Value

Verdict = Literal["allow", "ask", "deny"]
_URL = re.compile(
    r"https?://(?:[^/?#@\\\s]*@)?(?P<host>\[[0-9a-f:.]+\]|[^/:?#@\\\s\[\]]+)(?::\d+)?(?:[/?#][^\s\\]*)?", re.I
)


class Match(Value, forbid_unknown_fields=True):
    """What one argument must be: exactly one of these. A plain value is short for `{equals: …}`."""

    equals: Any = UNSET
    """This very value."""
    glob: str | None = None
    """`*` stands for any text, `/` included."""
    regex: str | None = None
    """The whole text must fit. Without references to groups, looking ahead or behind: it is decided in bounded time. A
    text too long for that is never allowed, and always denied."""
    under: str | None = None
    """A path inside this folder, written without tricks: `..` is followed before it is compared."""
    host: str | None = None
    """An http(s) address whose host fits this pattern, such as `*.example.com`."""


class Rule(Value, forbid_unknown_fields=True):
    """The first rule that fits a call decides."""

    decision: Verdict
    """What becomes of a call that fits."""
    tool: str = "*"
    """A pattern for names as in agent files, such as `files.*`."""
    agent: str = "*"
    """A pattern for an agent's id or file."""
    access: Access | None = None
    """Only tools with this access."""
    arguments: dict[str, Annotated[Match, Meta(extra={"short": "equals"})]] = {}
    """What each argument must be, by its path, such as `options.path`. Of a list, every element if the rule allows, any
    element otherwise."""
    hash: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    """Only this very call: its hash as `approvals list --json` shows it."""
    risk: Literal["low", "medium", "high"] = "medium"
    """With `ask`: shown to whoever decides."""
    reason: str = ""
    """Recorded with the decision; of a denial, the agent reads it."""


class Caller(Value):
    """By which names rules know the agent that calls."""

    names: tuple[str, ...]
    """Its id and its file."""
    above: tuple[str, ...] = ()
    """Of an agent made at run time: those of the file it comes from. What is allowed must be allowed to these."""


def first_match(rules: Sequence[Rule], caller: Caller, call: ToolCall, spec: ToolSpec) -> int:
    """The number of the rule that decides, from 1; 0 if none fits."""
    return next((n for n, rule in enumerate(rules, start=1) if fits(rule, caller, call, spec)), 0)


def fits(rule: Rule, caller: Caller, call: ToolCall, spec: ToolSpec) -> bool:
    allows = rule.decision == "allow"
    return (
        _names(rule.tool, call.tool)
        and rule.access in (None, spec.access)
        and _meant(rule, caller, allows)
        and all(_argument(match, path, call, allows) for path, match in rule.arguments.items())
        and rule.hash in (None, fingerprint(call) if rule.hash else None)
    )


@cache
def _names(pattern: str, tool: str) -> bool:
    return fnmatchcase(tool, wire_glob(pattern)) or wire_name(pattern) == tool


def _meant(rule: Rule, caller: Caller, allows: bool) -> bool:
    """An agent made at run time is allowed no more than the agent that made it, and denied whatever that is denied."""
    names = (caller.above or caller.names) if allows else (*caller.names, *caller.above)
    return any(fnmatchcase(name, rule.agent) for name in names)


def _argument(match: Match, path: str, call: ToolCall, allows: bool) -> bool:
    found = list(_under(call.arguments, path.split(".")))
    if isinstance(match.equals, list) and found == [match.equals]:
        return True
    values = [each for value in found for each in (value if isinstance(value, list) else [value])]
    judged = (_one(match, value, allows) for value in values)
    return bool(values) and (all(judged) if allows else any(judged))


def _under(value: Any, path: list[str]) -> Iterator[Any]:
    """Whatever stands under a path; lists on the way are entered."""
    if not path:
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _under(each, path)
    elif isinstance(value, dict) and path[0] in value:
        yield from _under(value[path[0]], path[1:])


def _one(match: Match, value: Any, allows: bool) -> bool:
    if match.equals is not UNSET:
        # 5.0 is not what somebody allowed by 5, but it is what they denied.
        return bool(value == match.equals) and not (allows and type(value) is not type(match.equals))
    if not isinstance(value, str):
        return False
    if match.glob is not None:
        return fnmatchcase(value, match.glob)
    if match.regex is not None:
        decided = regex.fullmatch(match.regex, value)
        return (
            not allows if decided is None else decided
        )  # what cannot be told is never allowed, always denied
    if match.under is not None:
        return is_under(value, match.under)
    return _on_host(value, match.host or "", allows)


def is_under(path: str, folder: str) -> bool:
    """Whether a path leads into a folder once every `..` is followed. Links are the business of whoever opens it."""
    if "\0" in path or "\\" in path:
        return False
    inside, outer = normpath(path), normpath(folder)
    if outer == ".":
        return not inside.startswith(("/", "../")) and inside != ".."
    return inside == outer or inside.startswith(outer.rstrip("/") + "/")


def _on_host(address: str, pattern: str, allows: bool) -> bool:
    """An address that cannot be told apart is never allowed, and always denied."""
    found = _URL.fullmatch(address)
    if not found:
        return not allows
    return fnmatchcase(found["host"].lower().rstrip("."), pattern.lower())
