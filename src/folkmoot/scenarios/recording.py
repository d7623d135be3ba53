"""Listen to real models once, and put what they answered as a script into the scenario, in its author's file."""

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
from folkmoot.loader.document import ListNode, compose, data, find, meaning
from folkmoot.loader.findings import Findings, Location
from folkmoot.ports import Hear, Model, Models, Request
from folkmoot.scenarios.scenario import Case

Said = dict[str, Any]
"""An answer as a script has it."""


class AnswerRecorder:
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
        """Raises `OperationFailed` if no model was asked. An agent that says something else in each of its sessions is
        noted by session: in a scenario they are called the same each time."""
        agents: Said = {}
        for speaker, sessions in self._said.items():
            if _goes_on(sessions.values()) or _say_the_same(sessions.values()):
                together = sorted(pair for turns in sessions.values() for pair in turns.items())
                agents[speaker] = _turns(dict(together))
            else:
                agent = speaker.partition("/")[0]
                agents |= {f"{agent}@{session}": _turns(turns) for session, turns in sessions.items()}
        if not agents:
            raise OperationFailed("no model answered, so there is nothing to write down")
        redacted = self._redact(msgspec.json.encode({"agents": agents}).decode())
        return msgspec.json.decode(redacted, type=dict[str, Any])


class _Heard:
    def __init__(self, models: Models, provider: str, listener: AnswerRecorder) -> None:
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


def _goes_on(sessions: Iterable[Mapping[int, list[Said]]]) -> bool:
    """In a team the turns of a member go on from session to session."""
    numbers = [turn for turns in sessions for turn in turns]
    return len(numbers) == len({*numbers})


def _say_the_same(sessions: Iterable[Mapping[int, list[Said]]]) -> bool:
    first, *others = sessions
    return all(turns == first for turns in others)


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
        short = _short_form(call) if len(message.calls) == 1 else None
        if short:
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


def _short_form(call: ToolCall) -> Said | None:
    """What a script may say instead of this call."""
    keys = {*call.arguments}
    if call.tool == ROUTE and keys in ({"agent"}, {"agent", "message"}):
        return {"route": call.arguments}
    if call.tool == BROADCAST and keys == {"message"}:
        return {"broadcast": call.arguments}
    match call.arguments if call.tool == FINAL_REPORT else {}:
        case {"report_format": _, "report_content": str(content), **rest} if not rest:
            return {"report": content}
        case {"report_format": _, "content_json": dict() | list() as content, **rest} if not rest:
            return {"report": content}
        case _:
            return None


def write_script(case: Case, script: Said) -> None:
    """Only the lines of the scenario's script are changed; everything else stays as it was written."""
    text = case.file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    keys = [(key.text, key.place) for key, _ in case.node.entries]
    column = keys[0][1].column
    if len({place.line for _, place in keys}) < len(keys) or any(p.column != column for _, p in keys):
        raise WrongUse(f"{case.shown}:{case.place.line}: write each key of the scenario on a line of its own")
    begin, end = _room(lines, keys, column)
    dumped = yaml.dump({"script": script}, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)
    written = [f"{' ' * (column - 1)}{line}" if line.strip() else line for line in dumped.splitlines(True)]
    if begin and not lines[begin - 1].endswith("\n"):
        lines[begin - 1] += "\n"
    changed = "".join([*lines[:begin], *written, *lines[end:]])
    _check(changed, case, script)
    case.file.write_text(changed, encoding="utf-8")


def _room(lines: list[str], keys: list[tuple[str, Location]], column: int) -> tuple[int, int]:
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


def _check(text: str, case: Case, script: Said) -> None:
    """Read back before it is written: somebody's file is at stake."""
    read = compose(text, Location(case.shown), Findings())
    listed = find(read, ("scenarios",)) if read else None
    spelt = [data(item) for item in listed.items] if isinstance(listed, ListNode) else []
    if {"name": case.scenario.name, "script": script} not in [
        {"name": each["name"], "script": each.get("script")} for each in spelt
    ]:
        raise OperationFailed(f"{case.shown} could not be changed without harm; nothing was written")


class _Readable(yaml.SafeDumper):
    """Texts of several lines as they are, and items of lists further in."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """In quotes wherever our own reading of YAML, which is that of 1.2, would take it for something else."""
    style = "|" if "\n" in text else '"' if _is_no_text(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_no_text(text: str) -> bool:
    try:
        return meaning(text) != text
    except ValueError:
        return True


_Readable.add_representer(str, _as_text)
