"""One step of a run in detail: what was asked, called, returned and paid, as the journal has it; and file changes.

Of a prompt it shows which part is foreign text, and who said it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalRequested, ClientCalled, QuestionAsked
from folkmoot.domain.message import Thought, visible
from folkmoot.domain.part import Part
from folkmoot.domain.report import Claim, Report
from folkmoot.domain.sentences import describe_event
from folkmoot.domain.team_events import TeamCompleted
from folkmoot.domain.value import Value
from folkmoot.views.run_nodes import Step

_MOST_EVENTS, _WIDTH = 60, 160


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: str
    """JSON, whole."""
    facts: str = ""
    """Its classes."""
    decision: str = ""
    """Why the gate let it through, or asked."""


@dataclass
class Drawer:
    """Parts that a step does not have are empty."""

    step: Step
    request: str = ""
    parts: tuple[Part, ...] = ()
    """What goes with the request."""
    answer: str = ""
    thoughts: tuple[Thought, ...] = ()
    """What the model thought before it answered, as far as it can be read."""
    calls: list[Call] = field(default_factory=list)
    result: str = ""
    artifact: str = ""
    """The whole result, where the model read a part of it."""
    error: str = ""
    report: Report | None = None
    waits: str = ""
    """The name in the inbox of what it waits for, or waited."""
    question: str = ""
    asked: LlmRequest | None = None
    answered: LlmResponse | None = None
    events: list[tuple[int, str, str]] = field(default_factory=list)
    """Place, type and words of each."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.report.claims if self.report else ()

    @property
    def name(self) -> str:
        step = self.step
        return step.who if step.contains else f"{step.agent} · {step.who}"


def drawer(step: Step, entries: Iterable[Entry]) -> Drawer:
    """`entries` are its own."""
    shown = Drawer(step)
    for entry in entries:
        _fold(shown, entry.event)
        if len(shown.events) < _MOST_EVENTS:
            words = describe_event(entry.event, entry.draft.agent_id, content=True, width=_WIDTH)
            shown.events.append((entry.run_seq, entry.event.type, visible(words)))
    return shown


def _fold(shown: Drawer, event: Event) -> None:
    match event:
        case SessionStarted(request=request, parts=parts):
            shown.request, shown.parts = request, parts
        case (
            SessionCompleted(outcome=outcome)
            | SessionFailed(outcome=outcome)
            | TeamCompleted(outcome=outcome)
        ):
            shown.report, shown.error = outcome.report, outcome.error
        case LlmRequest():
            shown.asked = event
        case LlmResponse(message=message):
            shown.answered, shown.answer = event, message.text
            shown.thoughts = tuple(thought for thought in message.thoughts if thought.text)
            shown.calls = [
                Call(call.tool, call.malformed or pretty(call.arguments)) for call in message.calls
            ]
        case LlmFailed(error=error):
            shown.error = error
        case _:
            _fold_call(shown, event)


def _fold_call(shown: Drawer, event: Event) -> None:
    match event:
        case ToolStarted(tool=tool, arguments=arguments):
            facts = f"{event.access} · {event.effect}"
            shown.calls = [Call(tool, pretty(arguments), facts, event.decision)]
        case ApprovalRequested(tool=tool, arguments=arguments, id=id, why=why):
            shown.calls, shown.waits = [Call(tool, pretty(arguments), f"risk {event.risk}", why)], id
        case ClientCalled(tool=tool, arguments=arguments, id=id):
            shown.calls, shown.waits = [Call(tool, pretty(arguments), "of the caller", "")], id
        case QuestionAsked(question=question, id=id):
            shown.question, shown.waits = question, id
        case ToolFinished(text=text, artifact=artifact):
            shown.result, shown.artifact = text, artifact
        case ToolFailed(text=text):
            shown.error = text


def pretty(arguments: Any) -> str:
    """JSON for people; whatever could hide is spelled out."""
    lines = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode().split("\n")
    return "\n".join(map(visible, lines))


_ENVELOPE = re.compile(
    r"<(?P<tag>[A-Za-z]\w*)__(?P<nonce>[0-9a-f]{12})(?P<rest>[^>\n]*)>\n?"
    r"(?P<text>.*?)\n?</(?P=tag)__(?P=nonce)>",
    re.DOTALL,
)
_KINDS = {"original_user_request": "model", "advisory": "transfer", "response": "session"}


@dataclass(frozen=True)
class PromptPart:
    text: str
    tag: str = ""
    """Empty: no envelope, the runtime's or the agent file's own words."""
    nonce: str = ""
    rest: str = ""
    """What else stands in the opening tag."""

    @property
    def kind(self) -> str:
        """The colour of its margin: by who said it."""
        return _KINDS.get(self.tag, "advisor")


def prompt_parts(text: str) -> Iterator[PromptPart]:
    """All of the text, in order."""
    at = 0
    for found in _ENVELOPE.finditer(text):
        if between := text[at : found.start()].strip("\n"):
            yield PromptPart(between)
        yield PromptPart(found["text"], found["tag"], found["nonce"], found["rest"])
        at = found.end()
    if after := text[at:].strip("\n"):
        yield PromptPart(after)


LARGEST_COMPARED = 2_000
"""Lines; a file with more is compared less finely."""
_AROUND = 3
"""Lines that are shown before and after a change."""


class PatchLine(Value):
    form: str
    """`add`, `del`, `hop` for a place where lines are left out, or empty."""
    text: str
    old: str = ""
    """The number of the line before, and after, the change."""
    new: str = ""


class Patch(Value):
    path: str
    added: int
    removed: int
    lines: tuple[PatchLine, ...]


def patch(path: str, before: str, after: str) -> Patch:
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > LARGEST_COMPARED)
    lines: list[PatchLine] = []
    for group in matcher.get_grouped_opcodes(_AROUND):
        first, last = group[0][3], group[-1][4]
        lines.append(PatchLine("hop", f"lines {first + 1:,} to {last:,} of {len(new):,}"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [
                    PatchLine("", visible(old[i]), str(i + 1), str(j + 1))
                    for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
                ]
            else:
                lines += _changed(old[i1:i2], i1, "del")
                lines += _changed(new[j1:j2], j1, "add")
    added = sum(line.form == "add" for line in lines)
    return Patch(path, added, sum(line.form == "del" for line in lines), tuple(lines))


def _changed(texts: list[str], start: int, form: str) -> Iterator[PatchLine]:
    for at, text in enumerate(texts, start + 1):
        old, new = (str(at), "") if form == "del" else ("", str(at))
        yield PatchLine(form, visible(text), old, new)
