"""What can happen in a team, and when agents write to each other."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from folkmoot.domain.entry import Cause, Event
from folkmoot.domain.report import Outcome
from folkmoot.domain.value import Value


class TeamStarted(Event):
    """A team begins in place of its file's own session; what its lead and members do is told below it."""

    type = "team.started"
    lead: str
    members: tuple[str, ...]
    parent: str = ""
    """The session that caused it."""
    cause: Cause = ""
    title: str = ""


class TeamCalled(Event):
    """A member or the lead is called for its part of a cycle. What it reads now, it never reads again."""

    type = "team.called"
    member_id: str
    cycle: int
    reads: tuple[int, ...] = ()
    """The broadcasts that go into its prompt, by their order: all it has not read before."""
    dropped: tuple[int, ...] = ()
    """Those of them that would overflow its context; a diagnostic stands in their place, and the team must end."""


class TeamBroadcast(Event):
    """Somebody speaks to the whole team, at the time of the entry; everyone else reads it once, before a turn."""

    type = "team.broadcast"
    kind: Literal["update", "failure"] = field(name="type")
    member_id: str
    message: str
    turn_count: int
    """Turns that the sender has taken so far."""
    order: int
    """The place in the team's transcript, by cycle and then as the members are declared; the lead comes last."""
    terminal: bool = False
    """The sender has left the team with it."""
    outcome: Literal["", "success", "failure"] = ""
    """With `terminal`."""


class TeamMemberExited(Event):
    """A member has done its part and left the team."""

    type = "team.member_exited"
    member_id: str


class TeamMemberFailed(Event):
    """A member gave up, broke down or used up its turns, and is no longer in the team."""

    type = "team.member_failed"
    member_id: str
    reason: str


class TeamCancelled(Event):
    """The members that were still in the team are let go."""

    type = "team.cancelled"
    members: tuple[str, ...]
    reason: str
    by: Literal["", "run", "lead"] = ""
    """Whether the run was cancelled or the lead has ended; empty in old journals."""


class TeamCompleted(Event):
    """The lead has reported, or failed to; that is the end of the team."""

    type = "team.completed"
    outcome: Outcome


HOPS = "folkmoot/hops"
"""What they are called in a message to another program: so those who ask each other in a circle come to an end."""


class Thread(Value):
    conversation: str = ""
    """Its id; empty as long as nobody wrote."""
    origin: str = ""
    """The agent that first passed the matter on."""
    hops: int = 0
    """How often it was passed on."""
    main: bool = False
    """Whether the session is a main agent's: the root of a run, or whoever one of them wrote to."""


PREVIEW = 200
"""Characters of a text that an event shows; the whole is an artifact of the transfer."""


class Exchange(Event):
    """What every event about one message says. It is no event itself."""

    from_agent: str
    to_agent: str
    conversation_id: str
    """The same from the first message of a run on, unless an agent begins another conversation."""
    target_session_key: str
    """The session in which the receiver reads it."""
    run_id: str
    work_session_id: str
    parent_conversation_id: str = ""
    """The conversation in which this one was begun."""
    task_id: str = ""
    """The task that the run works on."""
    channel: Literal["a2a", "broadcast"] = "a2a"
    """Written to one agent, or to all that fit."""
    label: str = ""
    origin: str = ""
    """The agent that first passed the matter on; it stays the same over all hops."""
    turn: int = 1
    """Of the conversation between these two."""
    hop: int = 0
    """How often the matter was passed on by messages, this time included; 0 for a spawn."""
    depth: int = 0
    """Levels of delegation below the root; 0 in a message between main agents."""
    main: bool = False
    """Whether both sides are main agents: the root of a run, or whoever one of them wrote to."""


class A2aSend(Exchange, kw_only=True):
    """An agent writes to another, which now reads it."""

    type = "a2a.send"
    message: str
    """Its beginning."""


class A2aSpawn(Exchange, kw_only=True):
    """An agent has another work for it."""

    type = "a2a.spawn"
    message: str
    """Its beginning."""


class A2aResponse(Exchange, kw_only=True):
    """What came of a message: exactly one for each."""

    type = "a2a.response"
    outcome: Literal["replied", "blocked"]
    """Blocked: there was no reply."""
    reply_preview: str = ""
    error: str = ""
    announced: bool = False
    """It is the result of an agent that was spawned, told to whoever spawned it."""


class A2aComplete(Exchange, kw_only=True):
    """A message and its answer are done with."""

    type = "a2a.complete"
    total_turns: int
    """Of the conversation between these two so far."""
    reply_preview: str = ""
    announced: bool = False


class A2aSpawnResult(Exchange, kw_only=True):
    """How the work of a spawned agent ended."""

    type = "a2a.spawn_result"
    status: Literal["ok", "error"]
    error: str = ""


class GuardLoopBlocked(Event):
    """A message was not delivered, because agents would talk in circles."""

    type = "guard.loop_blocked"
    span: str
    """Where the receiver would have read it."""
    from_agent: str
    to_agent: str
    reason: str
    """Begins with the rule: `self_message`, `pair_window` or `hops`."""
    conversation_id: str = ""
    hop: int = 0
    message: str = ""
    """With `messages.keepDropped`: what its receiver reads with the next one that is delivered."""
