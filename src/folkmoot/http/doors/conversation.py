"""A chat client's messages, as what an agent is asked. Pure.

Such clients are stateless: each request brings the whole conversation. Where it goes on is known by its threads: the
hash of what user and assistant said, up to and including one message of the user. A run notes the thread that it
answers; the next request holds that same beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from folkmoot.http.doors.contents import note
from folkmoot.http.doors.wrong import Wrong

_CONVERSATION = "conversation"
"""The block that holds what was said before."""


class Said(Value):
    """One message of a conversation, in whatever wire format it came."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Of the client's own tools, that the assistant wished for."""
    answers: str = ""
    """The id of the call that a tool's result belongs to."""
    failed: bool = False
    """Whether the tool gave no result; the text says why."""
    files: tuple[File, ...] = ()
    """What goes with the text."""

    @property
    def is_plain(self) -> bool:
        """Whether it is part of what was said, not of the traffic with tools in between."""
        return self.role in ("user", "assistant") and not self.calls


class Earlier(Value):
    """A place in the conversation that was answered before."""

    thread: str
    answer: str = ""
    """What the assistant said then; empty if that is not known."""


class Sight(Value):
    """What files an agent can be shown."""

    images: bool | None = None
    """Whether its models take them, if that is known."""
    tokens: int = 100_000
    """That earlier files may have together: beside them there must be room for the conversation."""


class Talk(Value):
    """What a client wants of an agent."""

    agent: str
    """Its file."""
    request: str
    """Empty if there are results alone."""
    thread: str = ""
    earlier: tuple[Earlier, ...] = ()
    """The latest first."""
    blocks: tuple[Block, ...] = ()
    """What was said before, and the client's own instructions: text to the agent, never orders of its author."""
    tools: tuple[ToolSpec, ...] = ()
    """The client's own, which it calls itself."""
    results: tuple[Said, ...] = ()
    """Of its tools, at the end of the conversation: they go to the run that waits for them."""
    dropped: tuple[str, ...] = ()
    """Calls of its tools, by id, that the client repeats without their results."""
    work_session: str = ""
    """Which the client names itself; it wins over the one of its conversation."""
    files: tuple[File, ...] = ()
    """What the user attached, now and before."""
    parts: tuple[Part, ...] = ()
    """What the user attached before, if the client does not repeat it."""
    after: str = ""
    """The answer that the client goes on from, if it names it itself: that of a run, see `Going.name`."""


def talk(
    agent: str, agent_id: str, said: Sequence[Said], *, alone: bool = True, sight: Sight = Sight()
) -> Talk:
    """Raises `Wrong` for a conversation in which nothing is asked. One that is not `alone` goes on from what its client
    does not repeat: results alone are enough there."""
    results = _results(said)
    asked = [number for number, one in enumerate(said) if one.role == "user"]
    if results and not alone and not asked:
        return Talk(agent, "", results=results)
    behind = said[asked[-1] + 1 :] if asked else ()
    if not asked or (any(one.role != "system" for one in behind) and not results):
        raise Wrong(400, "the last message must be the user's, or a tool's result", param="messages")
    if not said[asked[-1]].text.strip() and not said[asked[-1]].files:
        raise Wrong(400, "the last message of the user says nothing", param="messages")
    (last, *before) = reversed([*_threads(agent, said[: asked[-1] + 1])])
    shown = _shown(said, asked[-1], sight)
    request = shown[asked[-1]]
    rest = [one for number, one in enumerate(shown) if number != asked[-1]]
    return Talk(
        agent,
        request.text
        if request.text.strip()
        else note(f"attached: {', '.join(f.name for f in request.files)}"),
        last.thread,
        tuple(before),
        tuple(_blocks(agent_id, rest)),
        results=results,
        dropped=_dropped(said),
        files=tuple(file for one in shown for file in one.files),
    )


def _shown(said: Sequence[Said], request: int, sight: Sight) -> list[Said]:
    """With the latest files that a run may have; notes stand for the others, for images that its models do not take,
    and for those of tools unless they surely do. All that goes with the request stays: if it is too much, it is
    refused."""
    shown, count, size, tokens = [*said], 0, 0, 0
    for number, one in reversed([*enumerate(said)]):
        kept: list[File] = []
        notes: list[str] = []
        for file in one.files:
            part = recorded(file, "")
            count, size, tokens = count + 1, size + part.size, tokens + part.tokens
            fits = count <= MOST and size <= LARGEST_TOGETHER and tokens <= sight.tokens
            if sight.images is False and part.is_image:
                notes.append(note(f"{file.name} was shown here; the model of this agent takes no images"))
            elif number == request or (fits and (sight.images or one.role == "user")):
                kept.append(file)
            else:
                notes.append(note(f"{file.name} was shown here, and is shown no more"))
        if notes:
            shown[number] = replace(one, text="\n\n".join((one.text, *notes)).strip(), files=tuple(kept))
    return shown


def with_what_was_said(talk: Talk, agent_id: str, after: str, drafts: Sequence[Draft]) -> Talk:
    """For a client that names the answer it goes on from, and the run of that answer, instead of repeating all."""
    started = drafts[0].event
    assert isinstance(started, RunStarted)
    before = [block.text for block in started.errand.blocks if block.tag == _CONVERSATION]
    own = [block.text for block in talk.blocks if block.tag == _CONVERSATION]
    said = (line for one in _said_in(drafts) for line in _lines(one))
    block = Block(_CONVERSATION, "\n\n".join((*before, *said, *own)), agent=agent_id)
    kept = [block for block in talk.blocks if block.tag != _CONVERSATION]
    attached = started.errand.attachments
    return replace(talk, thread="", earlier=(), blocks=(*kept, block), parts=attached, after=after)


def _said_in(drafts: Sequence[Draft]) -> Iterator[Said]:
    """Between user and assistant, in one run."""
    for draft in drafts:
        match draft.event:
            case RunStarted(request=request):
                yield Said("user", request)
            case QuestionAsked(question=question):
                yield Said("assistant", question)
            case QuestionAnswered(text=text):
                yield Said("user", text)
            case RunCompleted(outcome=outcome) if outcome.report:
                yield Said("assistant", outcome.report.content)


def _results(said: Sequence[Said]) -> tuple[Said, ...]:
    """The results at the end; what the user and the client say beside them is read with the last one."""
    found: list[Said] = []
    beside: list[str] = []
    files: tuple[File, ...] = ()
    for one in reversed(said):
        if one.role == "tool":
            found.insert(0, one)
        elif one.role == "assistant" or (found and one.role == "user"):
            break
        elif not found:
            beside.insert(0, one.text)
            files = (*one.files, *files)
    if found and beside:
        last = found[-1]
        found[-1] = replace(last, text="\n\n".join((last.text, *beside)), files=(*last.files, *files))
    return tuple(found)


def _dropped(said: Sequence[Said]) -> tuple[str, ...]:
    given = {one.answers for one in said}
    return tuple(call.id for one in said for call in one.calls if call.id not in given)


def _threads(agent: str, said: Sequence[Said]) -> Iterator[Earlier]:
    """Every message of the user as a place to go on from, with what was answered there."""
    hashed, place = sha256(agent.encode()), ""
    answers: list[str] = []
    for one in said:
        if not one.is_plain:
            continue
        text = one.text.strip()
        hashed.update(msgspec.json.encode((one.role, text)))
        for file in one.files:
            hashed.update(sha256(file.content).digest())
        if one.role == "user":
            if place:
                yield Earlier(place, "\n\n".join(answers))
            place, answers = hashed.hexdigest()[:32], []
        else:
            answers.append(text)
    yield Earlier(place)


def _blocks(agent_id: str, said: Sequence[Said]) -> Iterator[Block]:
    if told := "\n\n".join(one.text for one in said if one.role == "system" and one.text.strip()):
        yield Block("client_instructions", told)
    if lines := [line for one in said for line in _lines(one)]:
        by_agent = any(one.role in ("assistant", "tool") for one in said)
        yield Block(_CONVERSATION, "\n\n".join(lines), agent=agent_id if by_agent else "")


def _lines(one: Said) -> Iterator[str]:
    if one.role != "system" and one.text.strip():
        yield f"{one.role}: {one.text}"
    for call in one.calls:
        yield f"{one.role} called {call.tool}: {msgspec.json.encode(call.arguments).decode()}"
