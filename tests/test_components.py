"""Every component of the coordination has tests of its own; see E-87."""

import pytest

from checks.files import ROOT

COMPONENTS = {
    "task tools": "tools/moot/test_tasks.py",
    "task record": "coordination/task/test_record.py",
    "several processes at one task": "coordination/task/test_processes.py",
    "task enforcer": "orchestration/test_task_enforcer.py",
    "continuation and unblocking": "engine/test_watch.py",
    "races of the watch": "engine/test_watch_races.py",
    "bus": "engine/test_bus.py",
    "log and its index": "journal/test_index.py",
    "sinks": "engine/test_sinking.py",
    "team state": "coordination/team/test_team.py",
    "dashboard": "sinks/test_dashboard.py",
    "atomic storage": "engine/test_projections.py",
    "plan approval": "coordination/test_plan_tools.py",
    "session gate": "orchestration/test_gate.py",
    "announcing and delivering": "orchestration/test_a2a.py",
    "loop guard": "domain/test_loop_guard.py",
    "conversations": "views/test_conversations.py",
}


@pytest.mark.parametrize("component", COMPONENTS)
def test_each_component_has_tests_of_its_own(component):
    """E-87."""
    file = ROOT / "tests" / COMPONENTS[component]

    assert file.is_file(), f"{component}: {COMPONENTS[component]} is not there"
    assert "def test_" in file.read_text()
