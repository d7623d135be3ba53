"""What real models answered in a run, as a script, put into the scenario in its author's file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import yaml

from folkmoot.domain.agent import Graph
from folkmoot.domain.budget import FREE, Price, cost
from folkmoot.domain.entry import PARTS, Draft
from folkmoot.domain.events import LlmFailed, LlmResponse, SessionStarted
from folkmoot.domain.message import ToolCall
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.loader.document import ListNode, compose, data, find, meaning
from folkmoot.loader.findings import Findings, Location
from folkmoot.scenarios.scenario import Case

Said = dict[str, Any]
"""An answer as a script has it."""


def build_recorded_script(drafts: Iterable[Draft], graph: Graph, redact: Callable[[str], str]) -> Said:
    """What every model answered in a run. Raises `OperationFailed` if no model was asked. An agent that says something
    else in each of its sessions is noted by session: in a scenario they are called the same each time."""
    agents: Said = {}
    for speaker, sessions in _collect_answers(drafts, graph).items():
        together = [pair for turns in sessions.values() for pair in turns.items()]
        first, *others = sessions.values()
        goes_on = len(together) == len(dict(together))  # a member's turns go on from session to session
        if goes_on or all(turns == first for turns in others):
            agents[speaker] = _build_turns(dict(together))
        else:
            agent = speaker.partition("/")[0]
            agents |= {f"{agent}@{session}": _build_turns(turns) for session, turns in sessions.items()}
    if not agents:
        raise OperationFailed("no model answered, so there is nothing to write down")
    return msgspec.json.decode(redact(msgspec.json.encode({"agents": agents}).decode()), type=dict[str, Any])


def _collect_answers(drafts: Iterable[Draft], graph: Graph) -> dict[str, dict[str, dict[int, list[Said]]]]:
    """By agent (or `agent/part`), session and turn: one for each attempt."""
    prices = {each.ref: each.price for agent in graph.agents.values() for each in agent.models}
    parts: dict[str, str] = {}
    said: dict[str, dict[str, dict[int, list[Said]]]] = {}
    for draft in drafts:
        event, session = draft.event, draft.session_id
        if isinstance(event, SessionStarted) and event.cause in PARTS:
            parts[session] = f"/{event.cause}"
        elif isinstance(event, LlmResponse | LlmFailed):
            speaker = draft.agent_id + parts.get(session, "")
            turns = said.setdefault(speaker, {}).setdefault(session, {})
            turns.setdefault(event.turn, []).append(_build_reply(event, prices.get(event.model, FREE)))
    return said


def _build_turns(turns: Mapping[int, list[Said]]) -> list[Said]:
    """Turns in which no model was asked hold nothing that would be read."""
    return [
        said[0] if len(said) == 1 else {"attempts": said}
        for said in (turns.get(number, [{"text": ""}]) for number in range(1, max(turns) + 1))
    ]


def _build_reply(answer: LlmResponse | LlmFailed, price: Price) -> Said:
    if isinstance(answer, LlmFailed):
        return {"error": {"message": answer.error, "retryable": answer.retryable}}
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
    counted = {} if answer.guessed else msgspec.to_builtins(answer.usage)
    used = {key: count for key, count in counted.items() if count}
    is_reported = answer.cost_usd != cost(answer.usage, price)
    return said | ({"usage": used} if used else {}) | ({"costUsd": answer.cost_usd} if is_reported else {})


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
    begin, end = _find_script_lines(lines, keys, column)
    dumped = yaml.dump(
        {"script": script}, Dumper=_ReadableDumper, sort_keys=False, allow_unicode=True, width=100
    )
    written = [f"{' ' * (column - 1)}{line}" if line.strip() else line for line in dumped.splitlines(True)]
    if begin and not lines[begin - 1].endswith("\n"):
        lines[begin - 1] += "\n"
    changed = "".join([*lines[:begin], *written, *lines[end:]])
    _check_written_script(changed, case, script)
    case.file.write_text(changed, encoding="utf-8")


def _find_script_lines(lines: list[str], keys: list[tuple[str, Location]], column: int) -> tuple[int, int]:
    """The lines, from 0, that the script has, or shall stand before: `expect`, otherwise the end of the scenario."""
    starts = {name: place.line - 1 for name, place in keys}
    if "script" not in starts:
        begin = starts.get("expect", _find_scenario_end(lines, max(starts.values()), column))
        return begin, begin
    after = [line for line in starts.values() if line > starts["script"]]
    return starts["script"], min(after, default=_find_scenario_end(lines, starts["script"], column))


def _find_scenario_end(lines: list[str], start: int, column: int) -> int:
    """The line behind the scenario: what follows stands further out, or there is nothing more."""
    out = (n for n, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip()) < column - 1)
    end = next((number for number in out if number > start), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return end


def _check_written_script(text: str, case: Case, script: Said) -> None:
    """Read back before it is written: somebody's file is at stake."""
    read = compose(text, Location(case.shown), Findings())
    listed = find(read, ("scenarios",)) if read else None
    spelt = [data(item) for item in listed.items] if isinstance(listed, ListNode) else []
    if {"name": case.scenario.name, "script": script} not in [
        {"name": each["name"], "script": each.get("script")} for each in spelt
    ]:
        raise OperationFailed(f"{case.shown} could not be changed without harm; nothing was written")


class _ReadableDumper(yaml.SafeDumper):
    """Texts of several lines as they are, and items of lists further in."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """In quotes wherever our own reading of YAML, which is that of 1.2, would take it for something else."""
    style = "|" if "\n" in text else '"' if _is_ambiguous_text(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_ambiguous_text(text: str) -> bool:
    try:
        return meaning(text) != text
    except ValueError:
        return True


_ReadableDumper.add_representer(str, _as_text)
