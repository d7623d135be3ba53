"""What a file of scenarios may say, as values; whether something fits it; and one scenario with its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from folkmoot.domain.naming import ALIASES, wire_glob, wire_name
from folkmoot.domain.value import Value
from folkmoot.loader.document import MapNode, Node, find, place_of
from folkmoot.loader.document import Path as Keys
from folkmoot.loader.findings import Location
from folkmoot.models.script import ModelScript

Names = Annotated[tuple[str, ...], Meta(extra={"written": "names"})]
Texts = Annotated[tuple[str, ...], Meta(extra={"written": "one or more"})]
Amount = Annotated[int, Meta(ge=0)]


class Stub(Value, forbid_unknown_fields=True):
    """What a tool gives instead of being called. Written as a text: that text."""

    text: str = ""
    """What it gives."""
    json: Any = None
    """Given as JSON, instead of a text."""
    error: str = ""
    """The call fails with this."""
    arguments: dict[str, Any] = {}
    """Only for calls that have these arguments among theirs."""


Stubs = dict[
    str,
    Annotated[
        tuple[Annotated[Stub, Meta(extra={"short": "text"})], ...], Meta(extra={"written": "one or more"})
    ],
]


class ScenarioReply(Value, forbid_unknown_fields=True):
    """What somebody says to a question or an approval."""

    approve: str = ""
    """The tool whose call is approved; `*` stands for any."""
    deny: str = ""
    """The tool whose call is denied."""
    reason: str = ""
    """Beside `deny`."""
    answer: str = ""
    """What is answered to a question."""
    to: str = ""
    """Beside `answer`: only to a question that holds these words."""


class ExpectedText(Value, forbid_unknown_fields=True):
    """What a text should be. Written as a text: what it contains."""

    equals: str | None = None
    """All of it, but for space around it."""
    contains: Texts = ()
    """All of these, in any order."""
    matches: str | None = None
    """A regular expression that is found in it."""
    json: Any = None
    """It is JSON and has at least this."""


class ExpectedCall(Value, forbid_unknown_fields=True):
    """A tool call. Written as a text: its tool."""

    tool: str
    """As in agent files, such as `psp.refund`, `psp.*` or `agent.clerk`."""
    arguments: dict[str, Any] = {}
    """Among its arguments; a text like `/a pattern/` is a regular expression."""
    agent: str = ""
    """Who makes it, by id."""


class UsageLimits(Value, forbid_unknown_fields=True):
    usd: Annotated[float, Meta(ge=0)] | None = None
    """What all requests cost."""
    tokens: Amount | None = None
    """In and out."""
    requests: Amount | None = None
    """To models."""
    tool_calls: Amount | None = None
    """Of all agents."""


class Expectations(Value, forbid_unknown_fields=True):
    """What is not said is not looked at; only that the run completes is expected anyway."""

    status: Literal["completed", "failed", "waiting", "cancelled"] | None = None
    """Absent: `completed`, unless `stopReason` or `error` says otherwise."""
    stop_reason: str = ""
    """Such as `MAX_TURNS`."""
    error: Annotated[ExpectedText, Meta(extra={"short": "contains"})] | None = None
    """Why the run failed; a text: what it contains."""
    route: Names | None = None
    """The agents that routers chose, in order."""
    agents: Names | None = None
    """All agents that ran, in any order."""
    final_agent: str = ""
    """The agent whose report is the answer."""
    report: Annotated[ExpectedText, Meta(extra={"short": "contains"})] | None = None
    """The final report; a text: what it contains."""
    calls: tuple[Annotated[ExpectedCall, Meta(extra={"short": "tool"})], ...] = ()
    """Tool calls that were made, in this order; others may stand between them."""
    not_called: Names = ()
    """Tools that were not called; `psp.*` stands for all of a source."""
    approvals: Names | None = None
    """The tools whose calls somebody had to approve, in order; `[]`: none."""
    questions: Texts | None = None
    """Words of the questions that people were asked, in order; `[]`: none."""
    at_most: UsageLimits = UsageLimits()
    """What the run may need."""
    events: dict[str, Amount] = {}
    """How many events of a type there are, such as `advisor.failed: 1`."""
    tasks: tuple[dict[str, Any], ...] | None = None
    """Tasks that were created, each with at least this; `[]`: none."""
    decisions: tuple[dict[str, Any], ...] | None = None
    """Decisions that were proposed, each with at least this; `[]`: none."""


class Scenario(Value, forbid_unknown_fields=True):
    name: str
    """What it shows, as a sentence; no two of a file have the same."""
    request: str
    """What the agent is asked."""
    agent: str = ""
    """An agent's file or id; absent: that of the file of scenarios."""
    script: Any = None
    """The models' answers, as in a script file, or the path of one; absent: the project's own model answers."""
    recorded: str = ""
    """Instead of a script: a bundle or an exported log of one run, relative to this file."""
    tools: Stubs = {}
    """What tools give instead of being called; of several, the first whose `arguments` fit."""
    allow: Names = ()
    """Tools that are really called, although they do more than read."""
    answers: tuple[ScenarioReply, ...] = ()
    """What people say; each once, the last that fits also again."""
    expect: Expectations = Expectations()
    """What must come of it."""


class ScenarioFile(Value, forbid_unknown_fields=True):
    scenarios: Annotated[tuple[Scenario, ...], Meta(min_length=1)]
    """At least one."""
    agent: str = ""
    """For all scenarios that name none."""
    script: Any = None
    """For all scenarios; what a scenario says itself stands before it."""
    tools: Stubs = {}
    """For all scenarios."""
    allow: Names = ()
    """For all scenarios."""
    live: bool = False
    """Scenarios without answers are left out, unless `--model` or `--record` is given."""


_PATTERN = re.compile(r"/(.+)/", re.DOTALL)


def is_value_match(wanted: Any, found: Any) -> bool:
    """A mapping has at least these keys, a list just these items; a text like `/a pattern/` is found in a text."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and is_value_match(each, found[key]) for key, each in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(wanted) == len(found) and all(map(is_value_match, wanted, found))
        )
    if isinstance(wanted, str) and isinstance(found, str) and (pattern := _PATTERN.fullmatch(wanted)):
        return wanted == found or _has_match(pattern[1], found)
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


def is_tool_match(name: str, wire: str) -> bool:
    """`psp.refund`, `psp__refund` and `psp.*` are all meant by it; `files.read` by `file_read` too."""
    return wire in (name, wire_name(name), wire_name(ALIASES.get(name, name))) or fnmatchcase(
        wire, wire_glob(name)
    )


def to_declared_name(wire: str) -> str:
    """As an author would call the tool; as good as always."""
    return wire.replace("__", ".")


def _has_match(pattern: str, text: str) -> bool:
    try:
        return bool(re.search(pattern, text))
    except re.error:
        return False


@dataclass(frozen=True, kw_only=True)
class Case:
    scenario: Scenario
    """With what its file says for all."""
    file: Path
    project: Path
    node: MapNode
    whole: Node
    """All of its file, which may say something for it."""
    script: ModelScript | None = None
    recorded: Path | None = None
    live: bool = False

    @property
    def place(self) -> Location:
        return self.node.place

    @property
    def needs_model(self) -> bool:
        """Nobody answers but a real one."""
        return self.live and not self.script and not self.recorded

    @property
    def shown(self) -> str:
        """The file as it is called in messages."""
        return self.place.file

    def place_of(self, keys: Keys) -> Location:
        """Where something of the scenario stands, or the nearest thing around it."""
        own = find(self.node, keys[:1]) is not None or find(self.whole, keys[:1]) is None
        return place_of(self.node if own else self.whole, keys)
