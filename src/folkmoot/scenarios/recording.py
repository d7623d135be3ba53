"""Listen to real models once, and write what they answered into the scenario, as its script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import yaml

from folkmoot.domain.agent import Graph, ModelChoice
from folkmoot.domain.budget import FREE
from folkmoot.domain.message import Answer, ToolCall
from folkmoot.domain.providers import BUILT_IN
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.errors import ModelFailed, OperationFailed, WrongUse
from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.nodes import MapNode
from folkmoot.ports import Hear, Model, Models, Request
from folkmoot.scenarios.case import Case

Said = dict[str, Any]
"""An answer as a script has it."""


class Listener:
    """Notes what every model answers to whom."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._said: dict[str, dict[str, dict[int, list[Said]]]] = {}
        """By agent (or `agent/part`), session and turn: one for each attempt."""

    def around(self, models: Models, graph: Graph) -> Mapping[str, Model]:
        """In the place of every provider's model."""
        return {name: _Heard(models, name, self) for name in {**BUILT_IN, **graph.settings.providers}}

    def note(self, request: Request, said: Said) -> None:
        speaker = f"{request.agent}/{request.part}" if request.part else request.agent
        turns = self._said.setdefault(speaker, {}).setdefault(request.session, {})
        turns.setdefault(request.turn, []).append(said)

    def script(self) -> Said:
        """Raises `OperationFailed` where a script cannot say it: it knows agents and turns, not sessions."""
        agents = {}
        for speaker, sessions in self._said.items():
            parts = [_turns(turns) for turns in sessions.values()]
            if any(part != parts[0] for part in parts) and not _goes_on(sessions.values()):
                raise OperationFailed(
                    f"{speaker} answered in several sessions, and not the same; no script can say that. Run it with"
                    " `folkmoot run`, export it with `folkmoot log export`, and name the file as `recorded`"
                )
            agents[speaker] = _turns(
                dict(sorted(pair for each in sessions.values() for pair in each.items()))
            )
        if not agents:
            raise OperationFailed("no model answered, so there is nothing to write down")
        redacted = self._redact(msgspec.json.encode({"agents": agents}).decode())
        return msgspec.json.decode(redacted, type=dict[str, Any])


class _Heard:
    def __init__(self, models: Models, provider: str, listener: Listener) -> None:
        self._models, self._provider, self._listener = models, provider, listener

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        choice = ModelChoice(
            self._provider, request.model, request.max_output, FREE
        )  # only who, not what it costs
        model = self._models.choose(choice)
        try:
            answer = await model.answer(request, hear)
        except ModelFailed as error:
            self._listener.note(request, {"error": {"message": str(error), "retryable": error.retryable}})
            raise
        self._listener.note(request, _reply(answer))
        return answer


def write_script(case: Case, script: Said) -> None:
    """Only the lines of the scenario's script are changed; everything else stays as it was written."""
    text = case.file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    keys = [(key.text, key.place) for key, _ in case.node.entries]
    column = keys[0][1].column
    if len({place.line for _, place in keys}) < len(keys) or any(p.column != column for _, p in keys):
        raise WrongUse(f"{case.shown}:{case.place.line}: write each key of the scenario on a line of its own")
    begin, end = _room(lines, keys, column)
    dumped = yaml.safe_dump({"script": script}, sort_keys=False, allow_unicode=True, width=110)
    written = [f"{' ' * (column - 1)}{line}" if line.strip() else line for line in dumped.splitlines(True)]
    if begin and not lines[begin - 1].endswith("\n"):
        lines[begin - 1] += "\n"
    changed = "".join([*lines[:begin], *written, *lines[end:]])
    _check(changed, case.shown)
    case.file.write_text(changed, encoding="utf-8")


def _room(lines: list[str], keys: list[tuple[str, Place]], column: int) -> tuple[int, int]:
    """The lines, from 0, that the script has, or shall stand before: `expect`, otherwise the end of the scenario."""
    starts = {name: place.line - 1 for name, place in keys}
    if "script" not in starts:
        begin = starts.get("expect", _end(lines, max(starts.values()), column))
        return begin, begin
    after = [line for line in starts.values() if line > starts["script"]]
    return starts["script"], min(after, default=_end(lines, starts["script"], column))


def _end(lines: list[str], start: int, column: int) -> int:
    """The line behind the scenario: what follows stands further out, or there is nothing more."""
    out = (n for n, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip()) < column - 1)
    end = next((number for number in out if number > start), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return end


def _check(text: str, shown: str) -> None:
    findings = Findings()
    if not isinstance(compose(text, Place(shown), findings), MapNode) or not findings.sound:
        raise OperationFailed(f"{shown} could not be changed without harm; nothing was written")


def _goes_on(sessions: Iterable[Mapping[int, object]]) -> bool:
    """In a team the turns of a member go on from session to session."""
    numbers = [turn for turns in sessions for turn in turns]
    return len(numbers) == len({*numbers})


def _turns(turns: Mapping[int, list[Said]]) -> list[Said]:
    """Turns in which no model was asked hold nothing that would be read."""
    return [
        said[0] if len(said) == 1 else {"attempts": said}
        for said in (turns.get(number, [{"text": ""}]) for number in range(1, max(turns) + 1))
    ]


def _reply(answer: Answer) -> Said:
    message = answer.message
    said: Said = {"text": message.text} if message.text else {}
    calls = []
    for call in message.calls:
        short = _SHORT.get(call.tool, _never)(call)
        if short and len(message.calls) == 1:
            said |= short
        else:
            calls.append({"tool": call.tool, "arguments": call.malformed or call.arguments})
    if calls:
        said["calls"] = calls
    if not said:
        said["text"] = ""
    used = {key: count for key, count in msgspec.to_builtins(answer.usage).items() if count}
    cost = {} if answer.cost_usd is None else {"costUsd": answer.cost_usd}
    return said | ({"usage": used} if used else {}) | cost


def _never(call: ToolCall) -> Said | None:
    return None


def _report(call: ToolCall) -> Said | None:
    match call.arguments:
        case {"report_format": _, "report_content": str(content), **rest} if not rest:
            return {"report": content}
        case {"report_format": _, "content_json": dict() | list() as content, **rest} if not rest:
            return {"report": content}
        case _:
            return None


_SHORT: Mapping[str, Callable[[ToolCall], Said | None]] = {
    FINAL_REPORT: _report,
    ROUTE: lambda call: (
        {"route": call.arguments} if {*call.arguments} in ({"agent"}, {"agent", "message"}) else None
    ),
    BROADCAST: lambda call: {"broadcast": call.arguments} if {*call.arguments} == {"message"} else None,
}
