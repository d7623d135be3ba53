"""Why a run is started beside its request: what it belongs to, what it may do, and what others said to it."""

from __future__ import annotations

from hashlib import sha256

from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.part import Part
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value


class Block(Value):
    """Foreign text in a prompt."""

    tag: str
    text: str
    agent: str = ""
    """Who said it."""
    runtime: str = ""
    """What the runtime says about it: outside the text, where nobody but the runtime can write."""
    sources: Sources = ()
    """What whoever said it had read."""


class Errand(Value):
    """A run that a person starts has none of these but perhaps the work session."""

    work_session: str = ""
    """Empty: one of its own."""
    label: str = ""
    """What that work session is called from here on."""
    task: str = ""
    """The task that it works on."""
    plan: str = ""
    step: str = ""
    """The step of that plan which it carries out."""
    completes_step: bool = False
    """With the run the step is done; otherwise somebody else says when it is."""
    policy: StepPolicy = StepPolicy()
    """What that step may do; it holds for every agent of the run."""
    blocks: tuple[Block, ...] = ()
    """What others said, put into the first prompt behind the request."""
    attachments: tuple[Part, ...] = ()
    """Images and documents that go with the request."""
    hops: int = 0
    """How often the matter was passed on from agent to agent before."""
    run: str = ""
    """What the run is called; one of that name is gone on with. Empty: it gets a name of its own."""
    message: str = ""
    """What whoever asked calls the message that it came with."""
    tools: tuple[ToolSpec, ...] = ()
    """What its caller brings along: a call of one is put before the caller, whose answer is the result."""
    thread: str = ""
    """The place in a chat client's conversation that it answers, by hash: what is said there next finds it again."""
    aloud: bool = False
    """Its client follows what is said: whoever answers it, and has no tool, does so in plain words."""
    ticket: str = ""
    """The key under which its client may send the same request again, and what that asks, by hash."""
    traceparent: str = ""
    """The span of whoever asked for it, as W3C's Trace Context writes it: the run belongs into that trace."""
    tracestate: str = ""
    """What their tracing systems keep beside it."""
    sources: Sources = ()
    """Where its request came from, if nobody vouches for that."""


def own_work_session(run: str) -> str:
    """Of a run that was given none. It follows from the run's name, so that nobody has to remember it."""
    digits = sha256(run.encode()).hexdigest()
    return f"ws_{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
