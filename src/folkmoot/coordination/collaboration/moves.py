"""What can come next in a collaboration. Each move is one step: after a crash the next move is found anew."""

from __future__ import annotations

from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.plan import Verdict
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotReason, WorkState


class Become(Value):
    """The work session goes on to another state."""

    state: WorkState
    reason: str = ""


class AskMove(Value):
    """A member does its part, in a run of its own."""

    purpose: str
    agent: str
    blocks: tuple[Block, ...]
    """What it is told beside the goal."""
    errand: Errand = Errand()
    """What the run may do, where that is less than usual."""


class ReviewPlanMove(Value):
    """What a member said about the plan is recorded."""

    purpose: str
    verdict: Verdict
    text: str


class CommitPlanMove(Value):
    """The plan that the lead approved is carried out from here on."""


class OpenTask(Value):
    """A step becomes a task of its owner."""

    step: str
    attempt: int


class EndTask(Value):
    """With a summary, or with the reason why it is given up."""

    task: str
    summary: str = ""
    reason: str = ""


class AcceptStepMove(Value):
    """Its new owner has said that it takes it over."""

    step: str
    purpose: str


class StartStepMove(Value):
    step: str


class Propose(Value):
    """What blocks a step is put to the vote."""

    step: str
    attempt: int
    reason: str
    suggestion: str = ""


class BlockStepMove(Value):
    step: str
    reason: str
    decision: str


class ResumeStepMove(Value):
    step: str
    reason: str


class ReassignStepMove(Value):
    step: str
    to: str
    reason: str


class CompleteStepMove(Value):
    step: str
    note: str
    skipped: bool = False


class Abstain(Value):
    """For a member whose run ended without a vote."""

    decision: str
    voter: str
    reason: str


class SettleDecision(Value):
    """All have spoken, or the window is over."""

    decision: str


class ReviewStepMove(Value):
    """What the reviewer found is recorded; `change` reopens the step."""

    step: str
    purpose: str
    verdict: Verdict
    text: str


class SnapshotMove(Value):
    reason: SnapshotReason
    step: str = ""
    attempt: int = 1


class Complete(Value):
    """The goal is reached."""

    summary: str


class Wait(Value):
    """Nothing comes next until a person does something."""

    why: str


Move = (
    Become
    | AskMove
    | ReviewPlanMove
    | CommitPlanMove
    | OpenTask
    | EndTask
    | AcceptStepMove
    | StartStepMove
    | Propose
    | BlockStepMove
    | ResumeStepMove
    | ReassignStepMove
    | CompleteStepMove
    | Abstain
    | SettleDecision
    | ReviewStepMove
    | SnapshotMove
    | Complete
    | Wait
)
