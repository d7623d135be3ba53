"""What a scripted model says, and how it is written: in a file, inside of a scenario, or as plain data of Python.

Everything wrong in a script is reported at once, each at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from msgspec import Meta
from msgspec.inspect import BoolType, Metadata, StrType

from folkmoot.domain.budget import Duration
from folkmoot.domain.message import Usage
from folkmoot.domain.report import Selection
from folkmoot.domain.value import Value
from folkmoot.loader.document import ListNode, MapNode, Node, Scalar, compose, find, keys, place_of
from folkmoot.loader.files import read_text
from folkmoot.loader.findings import Findings, Location
from folkmoot.loader.walk import WRONG, definition, unknown_key, walk, wrong
from folkmoot.models.incoming import sound

T = TypeVar("T")

Name = Annotated[str, Meta(min_length=1)]
_PATTERN = re.compile(r"/(.+)/", re.DOTALL)


class ScriptedCall(Value):
    tool: Name
    """As in agent files (`files.read`) or as on the wire (`files__read`)."""
    arguments: dict[str, Any] | str = {}
    """A string stands for arguments exactly as a model wrote them, good or bad."""
    id: str = ""


class ScriptedBroadcast(Value):
    message: str
    final: bool = False
    outcome: str = ""


class ScriptedFault(Value):
    """One attempt that fails."""

    message: str = "the script says so"
    retryable: bool | None = None
    """Absent: as for the status, otherwise yes."""
    retry_after: Duration | None = None
    status: Annotated[int, Meta(ge=100, le=599)] | None = None


class Barrier(Value):
    """Nobody goes on before `count` requests are here: proof that they were under way together.

    Written as a string: `name/count`.
    """

    name: Name
    count: Annotated[int, Meta(ge=1)]


class ScriptedClaim(Value):
    text: str
    evidence: tuple[str, ...] = ()
    """Ids, or names of tools: the id that stands below the latest result of such a tool."""
    status: str = ""
    """What the model says of it; the runtime goes by the evidence."""


class ScriptedReply(Value):
    """One answer. Written as a string: its text."""

    begins: str = ""
    """What is said before `text`, and heard before `delay`, `barrier` and `error` take effect."""
    text: str = ""
    thought: str = ""
    """What it thought before: recorded and shown, never part of a report."""
    calls: tuple[ScriptedCall, ...] = ()
    report: str | dict[str, Any] | list[Any] | None = None
    """Ends the session with this report: text, or a mapping or list as JSON."""
    claims: tuple[ScriptedClaim, ...] = ()
    """Beside `report`."""
    metadata: dict[str, Any] = {}
    """Beside `report`."""
    route: Annotated[Selection, Meta(extra={"short": "agent"})] | None = None
    """Ends a router's session with this choice. Written as a string: the agent."""
    broadcast: Annotated[ScriptedBroadcast, Meta(extra={"short": "message"})] | None = None
    """Ends a part in a team with this. Written as a string: its message."""
    error: Annotated[ScriptedFault, Meta(extra={"short": "message"})] | None = None
    """Written as a string: its message."""
    delay: Duration = 0.0
    barrier: Barrier | None = None
    usage: Usage | None = None
    """What it is said to have used. Absent: counted by the length of what was asked and answered."""
    cost_usd: float | None = None
    stop: str = ""


Turn = tuple[ScriptedReply, ...]
"""What is answered to the attempts of one turn in order; the last one also to all further ones."""


class ScriptedRule(Value):
    when: str
    """What the last message of the user or a tool holds: these words in any case, or `/a pattern/`. A file that goes
    with it reads as `[attached: photo.png (image/png, 1,024 bytes)]`."""
    then: Turn

    @property
    def pattern(self) -> str:
        """The regular expression; empty if it goes by words."""
        found = _PATTERN.fullmatch(self.when)
        return found[1] if found else ""

    def fits(self, text: str) -> bool:
        pattern = self.pattern
        return bool(re.search(pattern, text)) if pattern else self.when.casefold() in text.casefold()


class AgentScript(Value):
    """What one agent says: the first rule that fits, else its turn, else `default`. A list: its turns."""

    rules: tuple[ScriptedRule, ...] = ()
    turns: tuple[Turn, ...] = ()
    repeat: bool = False
    """Begin again with the first turn after the last."""
    default: Turn = ()


class ModelScript(Value):
    agents: dict[str, AgentScript] = {}
    """By agent id; `id/part` for a part of its work, `id@session` for one session alone."""
    default: Turn = ()
    """What everybody says who has nothing else to say."""
    file: str = "script"


LARGEST, MOST_VALUES = 5 * 1024 * 1024, 100_000
_REPLY = Metadata(definition(ScriptedReply), extra={"short": "text"})
_BARRIER = re.compile(r"(.*)/(\d{1,9})", re.DOTALL)


def read_script_file(root: Path, file: str) -> ModelScript:
    """The script in a YAML file, relative to `root`. Raises `DeclarationError` with everything that is wrong."""
    findings = Findings()
    text = read_text(root, file, findings, LARGEST)
    node = None if text is None else compose(text, Location(file), findings, aliased=MOST_VALUES)
    script = read_script(node, findings) if node else ModelScript()
    findings.settle()
    return script


def script_of(data: Mapping[str, Any]) -> ModelScript:
    """A script as plain data of Python. Raises `DeclarationError` with everything that is wrong."""
    findings = Findings()
    script = read_script(_node(data, Location("script")), findings)
    findings.settle()
    return script


def read_script(node: Node, findings: Findings) -> ModelScript:
    """As far as it is sound."""
    file = node.place.file
    if isinstance(node, Scalar) and node.value is None:
        return ModelScript(file=file)
    top = _fields(node, "", findings, ("agents", "default"))
    agents = _fields(top["agents"], "agents", findings) if "agents" in top else {}
    for id, part in agents.items():
        if id.endswith(".ai"):
            message = f"`agents`: {id!r} is a file; its agent's id is {id.removesuffix('.ai')!r}"
            findings.error(part.place, message)
    return ModelScript(
        agents={id: _agent(part, f"agents.{id}", findings) for id, part in agents.items()},
        default=_turn(top["default"], "default", findings) if "default" in top else (),
        file=file,
    )


def _agent(node: Node, key: str, findings: Findings) -> AgentScript:
    if isinstance(node, ListNode):
        return AgentScript(turns=_each(node, key, findings, _turn))
    given = _fields(node, key, findings, ("rules", "turns", "repeat", "default"))
    none = ListNode(node.place, ())
    return AgentScript(
        rules=_each(given.get("rules", none), f"{key}.rules", findings, _rule),
        turns=_each(given.get("turns", none), f"{key}.turns", findings, _turn),
        repeat="repeat" in given and walk(given["repeat"], BoolType(), f"{key}.repeat", findings) is True,
        default=_turn(given["default"], f"{key}.default", findings) if "default" in given else (),
    )


def _rule(node: Node, key: str, findings: Findings) -> ScriptedRule:
    when = _fields(node, key, findings).get("when")
    if when is None or not isinstance(node, MapNode):
        remedy = "words of the last message, or `/a regular expression/`"
        findings.error(node.place, f"`{key}` needs `when`: {remedy}")
        return ScriptedRule("", ())
    rest = MapNode(node.place, tuple(entry for entry in node.entries if entry[0].text != "when"))
    words = walk(when, StrType(min_length=1), f"{key}.when", findings)
    rule = ScriptedRule("" if words is WRONG else words, _turn(rest, key, findings))
    try:
        re.compile(rule.pattern)
    except re.error as error:
        findings.error(when.place, f"`{key}.when` is no regular expression: {error}")
    return rule


def _turn(node: Node, key: str, findings: Findings) -> Turn:
    attempts = find(node, ("attempts",))
    if attempts is None:
        return (_reply(node, key, findings),)
    for name in keys(node, ()):
        if name != "attempts":
            place = place_of(node, (name,))
            findings.error(place, f"`{key}.{name}` belongs into one of the `attempts`, not beside them")
    replies = _each(attempts, f"{key}.attempts", findings, _reply)
    if not replies:
        findings.error(attempts.place, f"`{key}.attempts` must list at least one answer")
    return replies


def _reply(node: Node, key: str, findings: Findings) -> ScriptedReply:
    if isinstance(node, MapNode):
        entries = tuple((name, _barrier(name.text, value)) for name, value in node.entries)
        node = MapNode(node.place, entries)
    reply = walk(node, _REPLY, key, findings)
    return ScriptedReply() if reply is WRONG else cast(ScriptedReply, reply)


def _barrier(key: str, node: Node) -> Node:
    """`name/count` spelt out."""
    if key != "barrier" or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return node
    found = _BARRIER.fullmatch(node.value)
    name, count = (found[1], int(found[2])) if found else (node.value, 0)
    return _node({"name": name, "count": count}, node.place)


def _fields(node: Node, key: str, findings: Findings, known: Collection[str] = ()) -> dict[str, Node]:
    if not isinstance(node, MapNode):
        wrong(node, key, "a mapping", findings)
        return {}
    for name, _ in node.entries:
        if known and name.text not in known:
            findings.error(name.place, unknown_key(name.text, key, known))
    return {name.text: value for name, value in node.entries}


def _each(
    node: Node, key: str, findings: Findings, read: Callable[[Node, str, Findings], T]
) -> tuple[T, ...]:
    if not isinstance(node, ListNode):
        wrong(node, key, "a list", findings)
        return ()
    return tuple([read(item, f"{key}[{n}]", findings) for n, item in enumerate(node.items)])


def _node(value: Any, place: Location) -> Node:
    """Plain data with storable text, as if it stood in a document."""
    match value:
        case Mapping():
            entries = ((_scalar(str(key), place), _node(item, place)) for key, item in value.items())
            return MapNode(place, tuple(entries))
        case list() | tuple():
            return ListNode(place, tuple(_node(item, place) for item in value))
    return _scalar(value, place)


def _scalar(value: Any, place: Location) -> Scalar:
    value = sound(value)
    return Scalar(place, str(value), value)
