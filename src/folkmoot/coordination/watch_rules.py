"""What is due, rule by rule: each looks at one task and says what to record, and who is then told what; or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from folkmoot.coordination.tasks import begun
from folkmoot.coordination.team import Failure
from folkmoot.coordination.watch import Sight, backoff
from folkmoot.domain import task as watched
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.task import Blocking, Task
from folkmoot.domain.value import Value

CONTINUATION_COOLDOWN = 300.0
REMINDER_COOLDOWN = 180.0
REPORT_COOLDOWN = 300.0
REPORTS = 3
"""The most times that a lead is told, if no run of it came of it."""
UNBLOCK_DISTANCE = 1_800.0
UNBLOCK_REQUESTS = 3
"""The last one is an escalation."""
UNBLOCK_FAILURES = 3
RETURNS = 2
"""How often a task that nobody works on goes back to the backlog before it is interrupted."""


class Move(Value):
    """What is to be recorded about a task; after that, and only then, an agent may be told."""

    task: Task
    event: Event
    tells: str = ""
    """The agent that is told; empty: nobody."""


Rule = Callable[[Task, Sight], Move | None]


def due(task: Task, sight: Sight, rules: Sequence[Rule]) -> Iterator[Rule]:
    """The rules that want something done about a task."""
    return (rule for rule in (*rules, *_reports(task, sight, rules)) if rule(task, sight))


def zombie(task: Task, sight: Sight) -> Move | None:
    """In progress, and nobody did anything about it for too long."""
    ttl = sight.settings.zombie_task_ttl
    if task.status != "in_progress" or not ttl or sight.untouched(task) < ttl or sight.worked_on(task):
        return None
    if task.backlog.reassign_count < RETURNS:
        return Move(task, watched.ZombieAbandoned("backlog", task.last_activity))
    why = f"nobody worked on it since {task.last_activity}, for the third time"
    return Move(task, watched.ZombieAbandoned("interrupted", task.last_activity, why))


def back_off(task: Task, sight: Sight) -> Move | None:
    """Its agent failed, and that is not answered yet."""
    health = sight.health.of(task.agent_id)
    if not _is_focus(task, sight) or health.last_failure is None:
        return None
    if health.backed_off_for >= health.consecutive_failures:
        return None
    until = sight.moments.written(sight.backed_off(task.agent_id))
    reason, times = health.last_failure.reason, health.consecutive_failures
    return Move(task, watched.ContinuationBackoff(task.agent_id, reason, times, until))


def go_on(task: Task, sight: Sight) -> Move | None:
    """Its agent has fallen asleep over it."""
    if not _is_focus(task, sight) or not _may_work(task, sight):
        return None
    idle = sight.idle(task)
    asked = sight.since(task.last_continuation_at, task.id, "continuation")
    if idle < sight.settings.idle_threshold or asked < CONTINUATION_COOLDOWN:
        return None
    return Move(task, watched.ContinuationSent(task.agent_id, round(idle, 3)), task.agent_id)


def pick(task: Task, sight: Sight) -> Move | None:
    """Its agent has nothing to do, and this is the first of its backlog that may be taken."""
    agent = task.agent_id
    if task.status != "backlog" or sight.pick.get(agent) != task.id or not _may_work(task, sight):
        return None
    return Move(task, watched.BacklogAutoPicked("in_progress", agent, begun(task.steps)), agent)


def unblock(task: Task, sight: Sight) -> Move | None:
    """It waits for others: they are asked in turn, the last time people are told too."""
    blocking = task.blocking
    if task.status != "blocked" or blocking is None or blocking.escalation_state in ("escalated", "failed"):
        return None
    if sight.since(blocking.last_unblock_request_at, task.id, "unblock") < UNBLOCK_DISTANCE:
        return None
    index = _next_unblocker(blocking, sight)
    if index is None:
        why = "; ".join(sight.objection(agent) for agent in blocking.unblocked_by)
        failures = blocking.unblock_request_failures
        return Move(task, watched.UnblockFailed(why, failures=failures, final=True))
    agent, attempt = blocking.unblocked_by[index], blocking.unblock_request_count + 1
    escalated = attempt >= UNBLOCK_REQUESTS
    channel = sight.settings.channel if escalated else ""
    return Move(task, watched.UnblockRequested(agent, index, attempt, escalated, channel), agent)


def remind(task: Task, sight: Sight) -> Move | None:
    """Somebody who was asked to help has done so, and its agent does not know it yet."""
    blocking = task.blocking
    if task.status != "blocked" or blocking is None or not _may_work(task, sight):
        return None
    if sight.since(task.last_reminder_at, task.id, "reminder") < REMINDER_COOLDOWN:
        return None
    told = sight.health.last_runs.get((task.id, task.agent_id))
    heard = max(task.last_activity, told.started_at if told else "")
    if not any(at > heard for at in _helped(task, blocking, sight)):
        return None
    return Move(task, watched.ResumeReminderSent(task.agent_id), task.agent_id)


def report(task: Task, sight: Sight, *, lead: str) -> Move | None:
    """A member's task was interrupted, and this lead does not know it yet."""
    if task.status != "interrupted" or not sight.free(lead):
        return None
    told = sight.health.last_runs.get((task.id, lead))
    if told and told.started_at >= task.ended_at:
        return None
    before = sight.health.reports.get((task.id, lead))
    if before:
        recently = sight.since(before.at, task.id, "report", lead) < REPORT_COOLDOWN
        if recently or before.times >= REPORTS:
            return None
    return Move(task, watched.ZombieReported(lead), lead)


def not_told(task: Task, sight: Sight, *, move: Move, why: str) -> Move | None:
    """An agent could not be told, and no run tells of it: the next attempt waits, and this one is counted."""
    match move.event:
        case watched.UnblockRequested():
            failures = (task.blocking.unblock_request_failures if task.blocking else 0) + 1
            final = failures >= UNBLOCK_FAILURES
            return Move(task, watched.UnblockFailed(why, move.tells, failures, final))
        case watched.ZombieReported():
            return None  # it is told again
        case _:
            times = sight.health.of(move.tells).consecutive_failures + 1
            until = sight.moments.written(sight.moments.now + backoff(Failure("", "unknown"), times))
            return Move(task, watched.ContinuationBackoff(move.tells, "unknown", times, until, why))


FIRST: tuple[Rule, ...] = (zombie,)
"""Before anybody is told to go on with what is given up."""
THEN: tuple[Rule, ...] = (back_off, go_on, unblock, remind, pick)


def _reports(task: Task, sight: Sight, rules: Sequence[Rule]) -> list[Rule]:
    if rules is not THEN or task.status != "interrupted":
        return []
    return [partial(report, lead=lead) for lead in sight.leads.get(task.agent_id, ())]


def _is_focus(task: Task, sight: Sight) -> bool:
    """One task at a time."""
    return task.status == "in_progress" and sight.focus.get(task.agent_id) == task.id


def _may_work(task: Task, sight: Sight) -> bool:
    agent = task.agent_id
    rested = sight.moments.now >= sight.backed_off(agent)
    return rested and sight.free(agent) and not sight.worked_on(task)


def _next_unblocker(blocking: Blocking, sight: Sight) -> int | None:
    """Who comes after the one that was asked last, without those that may not be asked."""
    count = len(blocking.unblocked_by)
    turns = ((blocking.last_unblocker_index + 1 + step) % count for step in range(count))
    return next((index for index in turns if not sight.objection(blocking.unblocked_by[index])), None)


def _helped(task: Task, blocking: Blocking, sight: Sight) -> Iterator[str]:
    """When each of those that can help was done with it."""
    for agent in blocking.unblocked_by:
        last = sight.health.last_runs.get((task.id, agent))
        if last and last.completed:
            yield last.ended_at


SHOWN_PROGRESS = 10
"""Of the notes on a task, the latest."""
_MARKS = {"done": "x", "in_progress": ">", "pending": " ", "skipped": "-"}
_REQUESTS = {
    "continuation.sent": (
        "Your task {task.id} is in progress, but nobody has worked on it for {event.idle_seconds:.0f} seconds. Go on"
        " with it. When it is done, complete it; if you cannot go on without others, block it."
    ),
    "unblock.requested": (
        "{task.agent_id} cannot go on with task {task.id} and needs your help (request {event.attempt}). Do what is"
        " needed, and say what you did."
    ),
    "resume_reminder.sent": (
        "Your task {task.id} is blocked, but somebody who was asked to help has answered. If you can go on now,"
        " resume it."
    ),
    "backlog.auto_picked": (
        "You have nothing else to do, so task {task.id} was taken from your backlog for you. Work on it, and"
        " complete it."
    ),
    "zombie.reported": (
        "Task {task.id} of {task.agent_id} was interrupted, because nobody worked on it. Decide what becomes of it."
    ),
}
"""By the event that is recorded before. Nothing that an agent wrote is in them but names."""
_SUMMARIES = {
    "continuation.sent": "told to go on; idle for {event.idle_seconds:.0f} s",
    "continuation.backoff": "left alone until {event.until}: {event.reason}, {event.failures} in a row",
    "unblock.requested": "asked to help, request {event.attempt}",
    "unblock.failed": "cannot be asked: {event.reason}",
    "resume_reminder.sent": "reminded that it may go on",
    "zombie.abandoned": "{event.status}: no activity since {event.last_activity}",
    "zombie.reported": "told that a task of {task.agent_id} was interrupted",
    "backlog.auto_picked": "given the first task of its backlog",
}


def request(move: Move) -> str:
    """In the runtime's own words."""
    return _REQUESTS[move.event.type].format(task=move.task, event=move.event)


def summary(move: Move) -> str:
    """What is done, for people."""
    return _SUMMARIES[move.event.type].format(task=move.task, event=move.event)


def errand(move: Move, heard: tuple[Block, ...] = ()) -> Errand:
    """`heard` is what others said about it."""
    block = Block("task", "\n".join(_lines(move.task)))
    return Errand(work_session=move.task.work_session_id, task=move.task.id, blocks=(block, *heard))


def _lines(task: Task) -> Iterator[str]:
    yield f"Task {task.id} ({task.status}, priority {task.priority}) of {task.agent_id}"
    yield task.description
    if task.backlog.due_date:
        yield f"Due: {task.backlog.due_date}"
    if task.backlog.estimated_effort:
        yield f"Estimated effort: {task.backlog.estimated_effort}"
    if task.context:
        yield f"Context: {task.context}"
    yield from (f"- [{_MARKS[step.status]}] ({step.id}) {step.content}" for step in task.steps)
    yield from (f"Noted: {note}" for note in task.progress[-SHOWN_PROGRESS:])
    if task.blocking:
        yield f"Blocked: {task.blocking.blocked_reason}"
        if task.blocking.unblocked_action:
            yield f"What is needed: {task.blocking.unblocked_action}"
    if task.ended_at:
        yield f"Interrupted at {task.ended_at}; its last activity was at {task.last_activity}"
