"""Which task an agent works on: what the task tools record, and in old journals what they answered."""

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.message import RecordState
from folkmoot.session.gate import working_on


def told(*records: RecordState, text: str = "reworded, or cut off") -> ToolFinished:
    return ToolFinished(1, 1, "task_start", text, "e", records=records)


def test_what_is_recorded_of_a_task_decides_whatever_the_text_says():
    """O-11."""
    begun = told(RecordState("task_a", "in_progress", "coder"))

    assert working_on("", "coder", begun) == "task_a"
    assert working_on("", "another", begun) == ""
    assert working_on("task_a", "coder", told(RecordState("task_a", "completed", "coder"))) == ""
    assert working_on("task_a", "coder", told(RecordState("task_b", "completed", "coder"))) == "task_a"
    assert working_on(
        "task_a", "coder", told(text='{"task_id":"b","agent_id":"coder","status":"in_progress"}')
    )


def test_an_old_journal_has_only_the_text():
    text = '{"success":true,"task_id":"task_a","agent_id":"coder","status":"in_progress"}'

    assert working_on("", "coder", ToolFinished(1, 1, "task_start", text, "e")) == "task_a"
    assert working_on("", "coder", ToolFinished(1, 1, "task_list", '{"count":0}', "e")) == ""
