"""What a scripted model says, as values, and how plain data is read into them.

Everything wrong in a script is reported at once, one fault an answer, each at its place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.message import Usage
from folkmoot.domain.report import Selection
from folkmoot.domain.value import Value
from folkmoot.errors import DeclarationError, Problem
from folkmoot.models.incoming import sound

T = TypeVar("T")

Path = tuple[str | int, ...]
"""From the top of a script to a place in it, by keys and by positions from 1."""
Places = Mapping[Path, tuple[int, int]]
"""Line and column of the places in a file."""
Name = Annotated[str, Meta(min_length=1)]


class ScriptedCall(Value, forbid_unknown_fields=True):
    tool: Name
    """As in agent files (`files.read`) or as on the wire (`files__read`)."""
    arguments: dict[str, Any] | str = {}
    """A string stands for arguments exactly as a model wrote them, good or bad."""
    id: str = ""


class Route(Selection, forbid_unknown_fields=True):
    """Where a router sends the request. Written as a string: the agent."""


class ScriptedBroadcast(Value, forbid_unknown_fields=True):
    """What is said to a team. Written as a string: its message."""

    message: str
    final: bool = False
    outcome: str = ""


class ScriptedFault(Value, forbid_unknown_fields=True):
    """One attempt that fails. Written as a string: its message."""

    message: str = "the script says so"
    retryable: bool | None = None
    """Absent: as for the status, otherwise yes."""
    retry_after: float | None = None
    status: Annotated[int, Meta(ge=100, le=599)] | None = None


class Barrier(Value, forbid_unknown_fields=True):
    """Nobody goes on before `count` requests are here: proof that they were under way together.

    Written as a string: `name/count`.
    """

    name: Name
    count: Annotated[int, Meta(ge=1)]


class Counted(Usage, forbid_unknown_fields=True):
    """What an answer is said to have used. Absent: counted by the length of what was asked and answered."""


class ScriptedClaim(Value, forbid_unknown_fields=True):
    text: str
    evidence: tuple[str, ...] = ()
    """Ids, or names of tools: the id that stands below the latest result of such a tool."""
    status: str = ""
    """What the model says of it; the runtime goes by the evidence."""


class ScriptedReply(Value, forbid_unknown_fields=True):
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
    route: Route | None = None
    """Ends a router's session with this choice."""
    broadcast: ScriptedBroadcast | None = None
    """Ends a part in a team with this message."""
    error: ScriptedFault | None = None
    delay: float = 0.0
    barrier: Barrier | None = None
    usage: Counted | None = None
    cost_usd: float | None = None
    stop: str = ""


Turn = tuple[ScriptedReply, ...]
"""What is answered to the attempts of one turn in order; the last one also to all further ones."""


class ScriptedRule(Value):
    when: str
    """What the last message of the user or a tool holds: these words in any case, or `/a pattern/`. A file that goes
    with it reads as `[attached: photo.png (image/png, 1,024 bytes)]`."""
    then: Turn

    def fits(self, text: str) -> bool:
        pattern = _PATTERN.fullmatch(self.when)
        return bool(re.search(pattern[1], text)) if pattern else self.when.casefold() in text.casefold()


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


def read_script(data: object, *, file: str = "script", places: Places | None = None) -> ModelScript:
    """Raises `DeclarationError` with everything that is wrong."""
    reader = _Reader(file, places)
    script = reader.script(data)
    if reader.problems:
        raise DeclarationError(reader.problems)
    return script


_PATTERN = re.compile(r"/(.+)/", re.DOTALL)
_PLACED = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>\w+)|\[(?P<position>\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_KEYS = {
    field.encode_name
    for shape in (
        ScriptedReply,
        ScriptedCall,
        Route,
        ScriptedBroadcast,
        ScriptedFault,
        Barrier,
        Counted,
        ScriptedClaim,
    )
    for field in msgspec.structs.fields(shape)
} | {"attempts", "when"}


class _Reader:
    """Walks through plain data and notes every fault it meets."""

    def __init__(self, file: str, places: Places | None) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._places = places

    def script(self, data: object) -> ModelScript:
        top = self._mapping((), data, {"agents", "default"})
        agents = self._mapping(("agents",), top.get("agents", {}))
        for id in agents:
            if id.endswith(".ai"):
                self._wrong(("agents", id), f"{id!r} is a file; its agent's id is {id.removesuffix('.ai')!r}")
        return ModelScript(
            agents={id: self._part(("agents", id), part) for id, part in agents.items()},
            default=self._turn(("default",), top["default"]) if "default" in top else (),
            file=self.file,
        )

    def _part(self, path: Path, part: object) -> AgentScript:
        if isinstance(part, list | tuple):
            return AgentScript(turns=self._each(path, part, self._turn))
        given = self._mapping(path, part, {"rules", "turns", "repeat", "default"})
        return AgentScript(
            rules=self._each((*path, "rules"), given.get("rules", ()), self._rule),
            turns=self._each((*path, "turns"), given.get("turns", ()), self._turn),
            repeat=self._shaped((*path, "repeat"), given.get("repeat", False), bool) or False,
            default=self._turn((*path, "default"), given["default"]) if "default" in given else (),
        )

    def _rule(self, path: Path, rule: object) -> ScriptedRule:
        given = dict(self._mapping(path, rule))
        when = self._shaped((*path, "when"), given.pop("when", ""), str) or ""
        if not when:
            self._wrong(path, "a rule needs `when`: words of the last message, or `/a regular expression/`")
        elif pattern := _PATTERN.fullmatch(when):
            try:
                re.compile(pattern[1])
            except re.error as error:
                self._wrong((*path, "when"), f"{when} is no regular expression: {error}")
        return ScriptedRule(when=when, then=self._turn(path, given))

    def _turn(self, path: Path, turn: object) -> Turn:
        if not isinstance(turn, Mapping) or "attempts" not in turn:
            return (self._reply(path, turn),)
        for key in turn.keys() - {"attempts"}:
            self._wrong((*path, key), f"{key!r} belongs into one of the `attempts`, not beside them")
        attempts = self._each((*path, "attempts"), turn["attempts"], self._reply)
        if not attempts:
            self._wrong((*path, "attempts"), "`attempts` must list at least one answer")
        return attempts

    def _reply(self, path: Path, reply: object) -> ScriptedReply:
        given: dict[str, Any] = {"text": reply} if isinstance(reply, str) else {**self._mapping(path, reply)}
        for key, spelt_out in _SHORT_FORMS.items():
            if isinstance(given.get(key), str):
                given[key] = spelt_out(given[key])
        if "delay" in given:
            given["delay"] = self._seconds((*path, "delay"), given["delay"])
        if isinstance(error := given.get("error"), Mapping) and "retryAfter" in error:
            wait = self._seconds((*path, "error", "retryAfter"), error["retryAfter"])
            given["error"] = {**error, "retryAfter": wait}
        return self._shaped(path, sound(given), ScriptedReply) or ScriptedReply()

    def _seconds(self, path: Path, written: object) -> float:
        span = seconds(written)
        if span is None:
            self._wrong(path, f"{written!r} is no duration; write {EXAMPLES}")
        return span or 0.0

    def _mapping(self, path: Path, value: object, keys: set[str] | None = None) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self._wrong(path, f"expected a mapping here, not {_shown(value)}")
            return {}
        for key in value:
            if not isinstance(key, str):
                self._wrong((*path, str(key)), f"expected text as a key, not {_shown(key)}; put it in quotes")
            elif keys and key not in keys:
                self._wrong((*path, key), f"unknown key {key!r}; {_hint(key, keys)}")
        return {key: item for key, item in value.items() if isinstance(key, str)}

    def _each(self, path: Path, value: object, read: Callable[[Path, object], T]) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            self._wrong(path, f"expected a list here, not {_shown(value)}")
            return ()
        return tuple([read((*path, position), item) for position, item in enumerate(value, start=1)])

    def _shaped(self, path: Path, value: object, shape: type[T]) -> T | None:
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            placed = _PLACED.fullmatch(str(error))
            assert placed
            inner = [
                step["key"] or int(step["position"]) + 1 for step in _STEP.finditer(placed["path"] or "")
            ]
            what = placed["what"]
            if unknown := _UNKNOWN.fullmatch(what):
                inner.append(unknown[1])
                what = f"unknown key {unknown[1]!r}; {_hint(unknown[1], _KEYS)}"
            self._wrong((*path, *inner), what)
            return None

    def _wrong(self, path: Path, message: str) -> None:
        if self._places is None:
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
            self.problems.append(Problem(file=self.file, message=f"{place}: {message}" if place else message))
            return
        while path and path not in self._places:
            path = path[:-1]
        line, column = self._places.get(path, (1, 1))
        self.problems.append(Problem(file=self.file, line=line, column=column, message=message))


def _barrier(written: str) -> object:
    name, slash, count = written.rpartition("/")
    return {"name": name if slash else written, "count": int(count) if count.isdecimal() else 0}


_SHORT_FORMS: dict[str, Callable[[str], object]] = {
    "route": lambda agent: {"agent": agent},
    "broadcast": lambda message: {"message": message},
    "error": lambda message: {"message": message},
    "barrier": _barrier,
}


def _hint(key: str, keys: set[str]) -> str:
    near = difflib.get_close_matches(key, sorted(keys), n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(keys))}"


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)[:40]
