"""What can happen while a team works towards the goal of a work session, beside what happens to its records."""

from __future__ import annotations

from folkmoot.domain.event import Event
from folkmoot.domain.sources import Sources


class WorkSessionEntrusted(Event):
    """Whoever serves this project carries the collaboration on from here, until it has ended."""

    type = "work_session.entrusted"


class WorkSessionAsked(Event):
    """A member is to do its part. Recorded before its run begins, so that a run that was cut off is gone on with."""

    type = "work_session.asked"
    purpose: str
    """What for, by name: `plan/1`, `review/1/tester`, `step/s2/1`, `vote/decision_…/coder`, …"""
    agent: str
    run: str


class WorkSessionAnswered(Event):
    """The run of a member has ended."""

    type = "work_session.answered"
    purpose: str
    run: str
    success: bool
    text: str
    """Its report, or why it failed."""
    sources: Sources = ()
    """What its sessions have read."""
