"""What stands in a client's message: the request, and the run and work session that it means."""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec
from a2a.helpers import get_data_parts
from a2a.types import Message, Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError

from folkmoot.domain.agent import Agent
from folkmoot.domain.part import File
from folkmoot.domain.text import storable
from folkmoot.domain.thread import HOPS

_CONTEXT = re.compile(r"[A-Za-z0-9_-]{1,100}")
_OWN, _FOREIGN = "ws_", "ws_a2a-"
_MOST_HOPS = 1_000


def text_of(message: Message) -> str:
    """Raises `A2AError` for a message without any."""
    if text := "\n\n".join(filter(None, map(_text, message.parts))).strip():
        return text
    raise InvalidParamsError("the message holds no text")


def files_of(message: Message) -> list[File]:
    return [
        File(storable(part.filename) or "file", part.raw, part.media_type)
        for part in message.parts
        if part.HasField("raw")
    ]


def _text(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return storable(part.text)
        case "data":
            return storable(msgspec.json.encode(get_data_parts([part])[0]).decode())
        case "url":
            raise ContentTypeNotSupportedError("nothing is fetched from elsewhere: send the file itself")
        case _:
            return ""


def work_session_of(context: str) -> str:
    """The work session that a context is; one that a client has named itself is told apart by its beginning."""
    if context and not _CONTEXT.fullmatch(context):
        raise InvalidParamsError("a contextId has at most 100 letters, digits, - and _; or leave it out")
    return context if not context or context.startswith(_OWN) else f"{_FOREIGN}{context}"


def context_of(work_session: str) -> str:
    return work_session.removeprefix(_FOREIGN)


def hops_of(message: Message) -> int:
    """How often the matter was passed on before, if whoever asks says so."""
    told = dict(message.metadata).get(HOPS)
    return int(told) if isinstance(told, float) and 0 < told < _MOST_HOPS else 0


def run_of(agent: Agent, message: Message) -> str:
    """The same for a message that comes again: an id alone might be another client's too."""
    said = (agent.file, message.context_id, message.message_id, text_of(message), files_of(message))
    return f"a2a-{sha256(msgspec.json.encode(said)).hexdigest()[:20]}"
