"""What can happen to a work session; its snapshots stand with the plans."""

from __future__ import annotations

from msgspec import field

from folkmoot.domain.category import CategoryId
from folkmoot.domain.event import Event
from folkmoot.domain.work_session import Action, ArtifactKind, Roster, WorkState


class WorkSessionOpened(Event):
    """Somebody has a goal that agents and people shall reach together."""

    type = "work_session.opened"
    goal: str
    label: str = ""
    constraints: tuple[str, ...] = ()
    previous: str = field(default="", name="previousWorkSessionId")
    """The one that it goes on with, which was archived."""


class WorkSessionTeamFormed(Event):
    """A team was put together, or put together anew."""

    type = "work_session.team_formed"
    team: Roster


class WorkSessionChanged(Event):
    """It went on to another state; completion has an event of its own."""

    type = "work_session.changed"
    state: WorkState
    reason: str = ""


class WorkSessionCompleted(Event):
    """The goal is reached, and what came of it is recorded."""

    type = "work_session.completed"
    summary: str
    decisions: tuple[str, ...] = ()


class WorkSessionPaused(Event):
    """From here on its runs ask no model and begin nothing new."""

    type = "work_session.paused"
    reason: str = ""


class WorkSessionResumed(Event):
    """Its runs may go on."""

    type = "work_session.resumed"


class WorkSessionLabelled(Event):
    """Somebody named it."""

    type = "work_session.labelled"
    label: str


class WorkSessionCategorised(Event):
    """A person said what it is about; that stays so, whatever its words say."""

    type = "work_session.categorised"
    category: CategoryId


class WorkSessionSummarised(Event):
    """What came of it so far, for people."""

    type = "work_session.summarised"
    summary: str


class WorkSessionArtifactAdded(Event):
    """Something that came of the work is kept with it."""

    type = "work_session.artifact_added"
    artifact: str
    kind: ArtifactKind
    title: str


class WorkSessionRefused(Event):
    """A member wanted to do what its team's policy does not let it do."""

    type = "work_session.refused"
    agent: str
    action: Action
    reason: str
