"""A conversation as pydantic-ai has it: what is said to a model in a row is one request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from pydantic_ai import messages as said

from folkmoot.domain.message import Message, Thought
from folkmoot.domain.part import TEXT, Part
from folkmoot.models.transcript import (
    NO_RESULT,
    Transcript,
    not_blank,
    stray_result,
    wire_arguments,
    wire_tool,
)

_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
_GO_ON = Message("user", "Go on.")


def conversation(
    messages: Sequence[Message], contents: Mapping[str, bytes], system: str, id_length: int | None
) -> list[said.ModelMessage]:
    """`system` is what the package calls the provider; some take ids of one length only."""
    talk = _Conversation(contents, system, id_length)
    for message in messages:
        talk.add(message)
    talk.close()
    if not talk.messages or isinstance(talk.messages[-1], said.ModelResponse):
        talk.add(_GO_ON)
    return talk.messages


class _Conversation:
    def __init__(self, contents: Mapping[str, bytes], system: str, id_length: int | None) -> None:
        self.messages: list[said.ModelMessage] = []
        self._contents = contents
        self._system = system
        self._id_length = id_length
        self._ids = Transcript()
        self._names: dict[str, str] = {}

    def add(self, message: Message) -> None:
        match message.role:
            case "tool":
                id = self._ids.answered(message.answers)
                images = [each for part in message.parts for each in self._enclosed(part)]
                self._tell(self._result(id, message.text, images))
            case "assistant":
                self.close()
                if not self.messages:
                    self.add(_GO_ON)
                answer = said.ModelResponse(parts=list(self._answer(message)), provider_name=self._system)
                self.messages.append(answer)
            case "system" if not any(isinstance(one, said.ModelResponse) for one in self.messages):
                self._tell(said.SystemPromptPart(not_blank(message.text)))
            case _:
                self.close()
                enclosed = [each for part in message.parts for each in self._enclosed(part)]
                text = not_blank(message.text)
                self._tell(said.UserPromptPart([*enclosed, text] if enclosed else text))

    def close(self) -> None:
        """Every call has a result before anything else is said."""
        while self._ids.awaited:
            _, id = self._ids.awaited.pop(0)
            self._tell(self._result(id, NO_RESULT))

    def _tell(self, part: said.ModelRequestPart) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, said.ModelRequest):
            last.parts = [*last.parts, part]
        else:
            self.messages.append(said.ModelRequest(parts=[part]))

    def _answer(self, message: Message) -> Iterator[said.ModelResponsePart]:
        """Thoughts go back as they came: before the piece that they led to, or as details of it."""
        pieces: list[said.TextPart | said.ToolCallPart] = []
        if message.text.strip() or not message.calls:
            pieces.append(said.TextPart(not_blank(message.text)))
        for call in message.calls:
            id = self._ids.id_for(call, _IDS)
            self._names[id] = wire_tool(call)
            pieces.append(said.ToolCallPart(self._names[id], wire_arguments(call), self._fitting(id)))
        for place, piece in enumerate(pieces):
            for thought in message.thoughts:
                if thought.at == place and thought.sealed:
                    seal = {**json.loads(thought.sealed), "provider_name": self._system}
                    if thought.kind == "thinking":
                        yield said.ThinkingPart(thought.text, **seal)
                    else:
                        piece.provider_name, piece.provider_details = self._system, seal["provider_details"]
            yield piece

    def _enclosed(self, part: Part) -> Iterator[said.UserContent]:
        content = self._contents[part.artifact]
        if part.media == TEXT:
            yield f"{part.name}:\n{content.decode()}"
        else:
            yield f"{part.name}:"
            yield said.BinaryContent(content, media_type=part.media)

    def _result(self, id: str, text: str, images: Sequence[said.UserContent] = ()) -> said.ModelRequestPart:
        if not id:
            return said.UserPromptPart(stray_result(text))
        content = [text, *images] if images else text
        return said.ToolReturnPart(self._names[id], content, self._fitting(id))

    def _fitting(self, id: str) -> str:
        return blake2b(id.encode()).hexdigest()[: self._id_length] if self._id_length else id


def thoughts(parts: Sequence[said.ModelResponsePart]) -> Iterator[Thought]:
    """What a model thought, with what its provider wants to have back; the other way of `_answer`."""
    at, spoke = 0, False
    for part in parts:
        match part:
            case said.ThinkingPart():
                yield Thought("thinking", part.content, _sealed(part, "id", "signature"), at)
            case said.ToolCallPart():
                if sealed := _sealed(part):
                    yield Thought("reasoning_details", sealed=sealed, at=at)
                at += 1
            case said.TextPart() if part.content and not spoke:
                at, spoke = at + 1, True


def _sealed(part: Any, *fields: str) -> str:
    """Empty where there is nothing that only the provider could read."""
    kept = {field: getattr(part, field) for field in (*fields, "provider_details") if getattr(part, field)}
    return json.dumps(kept, default=str) if kept else ""
