"""A chat client's messages as what an agent is asked. Pure.

Such clients are stateless: each request brings the whole conversation. A run is found again by threads: the hash of
what user and assistant said, up to and including one message of the user. A run records the thread that it answers;
the next request has that same beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunCompleted, RunStarted
from folkmoot.domain.inbox_events import QuestionAnswered, QuestionAsked
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.part import LARGEST_TOGETHER, MOST, File, Part, recorded
from folkmoot.domain.value import Value
from folkmoot.http.problems import ChatError
from folkmoot.protocols.content import format_note

_CONVERSATION = "conversation"
"""The block that holds the earlier messages."""
Role = Literal["system", "user", "assistant", "tool"]


class ChatMessage(Value):
    """One message of a conversation, in whatever wire format it came."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Of the client's own tools, by the assistant."""
    answers: str = ""
    """The id of the call that a tool's result belongs to."""
    failed: bool = False
    """Whether the tool failed; the text says why."""
    files: tuple[File, ...] = ()


class EarlierTurn(Value):
    """A place in the conversation that was answered before."""

    thread: str
    answer: str = ""
    """Of the assistant; empty if that is not known."""


class Vision(Value):
    """Which files an agent can be shown."""

    images: bool | None = None
    """Whether its models take them, if that is known."""
    tokens: int = 100_000
    """Of earlier files together: the conversation needs room beside them."""


class ChatRequest(Value):
    """What a client wants of an agent."""

    agent: str
    """Its file."""
    request: str
    """Empty if there are results alone."""
    thread: str = ""
    earlier: tuple[EarlierTurn, ...] = ()
    """The latest first."""
    blocks: tuple[Block, ...] = ()
    """Earlier messages and the client's own instructions: text to the agent, never orders of its author."""
    tools: tuple[ToolSpec, ...] = ()
    """The client's own, which it calls itself."""
    results: tuple[ChatMessage, ...] = ()
    """Of its tools, at the end of the conversation, for the run that waits for them."""
    dropped: tuple[str, ...] = ()
    """Ids of calls of its tools that the client repeats without their results."""
    work_session: str = ""
    """Named by the client; it wins over the one of its conversation."""
    files: tuple[File, ...] = ()
    """Attached by the user, now and before."""
    parts: tuple[Part, ...] = ()
    """Attached by the user before, if the client does not repeat it."""
    after: str = ""
    """The answer to continue from, if the client names it: see `AwaitedRun.name`."""


def read_conversation(
    agent: str,
    agent_id: str,
    messages: Sequence[ChatMessage],
    *,
    alone: bool = True,
    vision: Vision = Vision(),
) -> ChatRequest:
    """Raises `ChatError` for a conversation without a request. One that is not `alone` continues from messages that its
    client does not repeat: results alone are enough there."""
    results = _trailing_results(messages)
    numbers = [number for number, message in enumerate(messages) if message.role == "user"]
    if results and not alone and not numbers:
        return ChatRequest(agent, "", results=results)
    behind = messages[numbers[-1] + 1 :] if numbers else ()
    if not numbers or (any(message.role != "system" for message in behind) and not results):
        raise ChatError(400, "the last message must be the user's, or a tool's result", param="messages")
    last = numbers[-1]
    if not messages[last].text.strip() and not messages[last].files:
        raise ChatError(400, "the last message of the user says nothing", param="messages")
    (now, *before) = reversed([*_list_turns(agent, messages[: last + 1])])
    fitted = _fit_files(messages, last, vision)
    request = fitted[last]
    attached = format_note(f"attached: {', '.join(file.name for file in request.files)}")
    return ChatRequest(
        agent,
        request.text if request.text.strip() else attached,
        now.thread,
        tuple(before),
        tuple(_build_blocks(agent_id, [*fitted[:last], *fitted[last + 1 :]])),
        results=results,
        dropped=_dropped_calls(messages),
        files=tuple(file for message in fitted for file in message.files),
    )


def _fit_files(messages: Sequence[ChatMessage], request: int, vision: Vision) -> list[ChatMessage]:
    """With the latest files that a run may have. Notes replace the others, images that its models do not take, and
    those of tools unless the models surely take them. All files of the request stay: too many are refused later."""
    fitted, count, size, tokens = [*messages], 0, 0, 0
    for number, message in reversed([*enumerate(messages)]):
        files: list[File] = []
        notes: list[str] = []
        for file in message.files:
            part = recorded(file, "")
            count, size, tokens = count + 1, size + part.size, tokens + part.tokens
            fits = count <= MOST and size <= LARGEST_TOGETHER and tokens <= vision.tokens
            if vision.images is False and part.is_image:
                notes.append(
                    format_note(f"{file.name} was shown here; the model of this agent takes no images")
                )
            elif number == request or (fits and (vision.images or message.role == "user")):
                files.append(file)
            else:
                notes.append(format_note(f"{file.name} was shown here, and is shown no more"))
        if notes:
            text = "\n\n".join((message.text, *notes)).strip()
            fitted[number] = replace(message, text=text, files=tuple(files))
    return fitted


def continue_from(asked: ChatRequest, agent_id: str, after: str, drafts: Sequence[Draft]) -> ChatRequest:
    """For a client that names the answer to continue from, and its run, instead of repeating the conversation."""
    started = drafts[0].event
    assert isinstance(started, RunStarted)
    before = [block.text for block in started.errand.blocks if block.tag == _CONVERSATION]
    own = [block.text for block in asked.blocks if block.tag == _CONVERSATION]
    block = Block(
        _CONVERSATION,
        "\n\n".join((*before, *_message_lines(_read_run_messages(drafts)), *own)),
        agent=agent_id,
    )
    others = [block for block in asked.blocks if block.tag != _CONVERSATION]
    attached = started.errand.attachments
    return replace(asked, thread="", earlier=(), blocks=(*others, block), parts=attached, after=after)


def _read_run_messages(drafts: Sequence[Draft]) -> Iterator[ChatMessage]:
    """Between user and assistant, in one run."""
    for draft in drafts:
        match draft.event:
            case RunStarted(request=text) | QuestionAnswered(text=text):
                yield ChatMessage("user", text)
            case QuestionAsked(question=question):
                yield ChatMessage("assistant", question)
            case RunCompleted(outcome=outcome) if outcome.report:
                yield ChatMessage("assistant", outcome.report.content)


def _trailing_results(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The results at the end; texts of user and client beside them join the last one."""
    found: list[ChatMessage] = []
    beside: list[ChatMessage] = []
    for message in reversed(messages):
        if message.role == "tool":
            found.insert(0, message)
        elif message.role == "assistant" or (found and message.role == "user"):
            break
        elif not found:
            beside.insert(0, message)
    if found and beside:
        text = "\n\n".join(message.text for message in (found[-1], *beside))
        files = tuple(file for message in (found[-1], *beside) for file in message.files)
        found[-1] = replace(found[-1], text=text, files=files)
    return tuple(found)


def _dropped_calls(messages: Sequence[ChatMessage]) -> tuple[str, ...]:
    answered = {message.answers for message in messages}
    return tuple(call.id for message in messages for call in message.calls if call.id not in answered)


def _list_turns(agent: str, messages: Sequence[ChatMessage]) -> Iterator[EarlierTurn]:
    """Every message of the user as a place to continue from, with its answer. Traffic with tools does not count."""
    hashed, place = sha256(agent.encode()), ""
    answers: list[str] = []
    for message in messages:
        if message.role not in ("user", "assistant") or message.calls:
            continue
        text = message.text.strip()
        hashed.update(msgspec.json.encode((message.role, text)))
        for file in message.files:
            hashed.update(sha256(file.content).digest())
        if message.role == "user":
            if place:
                yield EarlierTurn(place, "\n\n".join(answers))
            place, answers = hashed.hexdigest()[:32], []
        else:
            answers.append(text)
    yield EarlierTurn(place)


def _build_blocks(agent_id: str, messages: Sequence[ChatMessage]) -> Iterator[Block]:
    system = [message.text for message in messages if message.role == "system" and message.text.strip()]
    if system:
        yield Block("client_instructions", "\n\n".join(system))
    if lines := [*_message_lines(messages)]:
        by_agent = any(message.role in ("assistant", "tool") for message in messages)
        yield Block(_CONVERSATION, "\n\n".join(lines), agent=agent_id if by_agent else "")


def _message_lines(messages: Iterable[ChatMessage]) -> Iterator[str]:
    for message in messages:
        if message.role != "system" and message.text.strip():
            yield f"{message.role}: {message.text}"
        for call in message.calls:
            yield f"{message.role} called {call.tool}: {msgspec.json.encode(call.arguments).decode()}"
