"""Which column a task stands in, and in which order."""

from folkmoot.domain.task import Cancelled, Interrupted, Task, TaskStep
from folkmoot.views.tasks import board, card

NOW = "2026-01-01T10:00:00.000Z"


def task(id, status, **more):
    return Task(id, "clerk", f"do {id}", status, "2026-01-01T08:00:00.000Z", "eve", **more)


def test_every_status_has_its_column():
    """E-6: as the design names them."""
    statuses = {
        "Backlog": ("backlog", "pending"),
        "Needs approval": ("pending_approval",),
        "In progress": ("in_progress",),
        "Blocked": ("blocked", "interrupted"),
        "Completed": ("completed", "cancelled"),
    }
    tasks = [task(status, status) for column in statuses.values() for status in column]

    columns = board(tasks, NOW)

    assert {column.name: tuple(card.task.status for card in column.cards) for column in columns} == statuses


def test_the_most_urgent_comes_first_and_of_what_is_over_the_latest():
    tasks = [task("low", "backlog", priority="low"), task("urgent", "backlog", priority="urgent")]
    tasks += [task(f"end-{n}", "completed", ended_at=f"2026-01-01T0{n}:00:00.000Z") for n in (8, 9)]
    backlog, *_, over = board(tasks, NOW)

    assert [each.task.id for each in backlog.cards] == ["urgent", "low"]
    assert [each.task.id for each in over.cards] == ["end-9", "end-8"]


def test_steps_are_pieces_of_one_bar():
    steps = (TaskStep("s1", "a", 1, "done"), TaskStep("s2", "b", 2, "in_progress"))
    steps += (TaskStep("s3", "c", 3, "skipped"), TaskStep("s4", "d", 4))
    shown = card(task("t", "in_progress", steps=steps), NOW)

    assert [mark.form for mark in shown.marks] == ["on", "at", "skip-step", "off"]
    assert [mark.x for mark in shown.marks] == ["0.00%", "25.00%", "50.00%", "75.00%"]
    assert (shown.done, shown.now, shown.aside, shown.age) == (2, "b", "2 of 4", "2 h")


def test_what_ended_says_how():
    given_up = task("t", "interrupted", outcome=Interrupted("nobody worked on it"))
    assert card(given_up, NOW).because == "nobody worked on it"
    assert card(task("t", "cancelled", outcome=Cancelled("no need")), NOW).outcome == "no need"
