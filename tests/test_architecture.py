"""The walls of the house stand, and would be missed: import-linter is run on a copy with a hole in each."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

from checks.files import ROOT

REJECTED = {"Orchestrator", "AgentProtocol", "MessageQueue", "MessageBus"}
HOLES = {
    "One way through the house": ("domain/message.py", "import folkmoot.app"),
    "The thinking rooms do no I/O": ("session/decide.py", "import asyncio"),
    "Only the orchestration starts a session": ("engine/clock.py", "import folkmoot.session.run"),
    "Adapters know words and ports, not the core": ("models/__init__.py", "import folkmoot.session.state"),
    "No cycles anywhere": ("domain/value.py", "import folkmoot.domain.agent"),
}


@pytest.fixture
def house(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken_contracts(house):
    script = (
        "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache', '--no-logo'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=house,
        env=os.environ | {"PYTHONPATH": str(house / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    return {name for name in HOLES if f"{name} BROKEN" in done.stdout}


def test_imports_go_one_way_through_the_house(house):
    """B-62: the core imports nothing from the doors, the adapters or the composition root."""
    assert broken_contracts(house) == set()


def test_each_wall_is_missed_when_it_has_a_hole(house):
    """B-62: the rule is one that can fail."""
    for file, line in HOLES.values():
        path = house / "src" / "folkmoot" / file
        path.write_text(f"{path.read_text()}\n{line}\n")

    assert broken_contracts(house) == set(HOLES)


def test_there_is_no_class_for_what_a_file_declares():
    """B-63: no orchestrator, no protocol that agents implement, no queue between agents: an
    agent is an `.ai` file, and what one tells another is in the journal."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src").rglob("*.py")]
    classes = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    assert {"Agent", "RunLog"} <= classes
    assert {name for name in classes if any(word in name for word in REJECTED)} == set()
