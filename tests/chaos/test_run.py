"""The short form of `./dev chaos`: the same scenes with fewer kills, cuts and faults. Each is a process of its own."""

import os
import re
import subprocess
import sys

import pytest

from chaos import run, strace
from checks.files import ROOT

needs_strace = pytest.mark.skipif(
    not strace.installed() and not os.environ.get("CI"),
    reason="strace is not installed: apt-get install strace",
)


def chaos(*arguments):
    command = [sys.executable, "-m", "chaos.run", "--short", "--seed", "1", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def met(done, scene):
    """How often the scene did what it is there for; shows what it said if it found a fault."""
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(rf"^{scene} .*?: (\d+) ", done.stdout, re.MULTILINE)[1])


def test_sixty_processes_killed_at_random_lose_nothing_and_do_nothing_twice():
    """C1, C2, C3, DESIGN 4: over all patterns, with a separate process that counts every effect."""
    assert met(chaos("kills"), "kills") >= 60


@needs_strace
def test_a_process_killed_at_any_system_call_that_writes_goes_on():
    """C1, C3."""
    assert met(chaos("writes"), "writes") == 12


@needs_strace
def test_a_power_cut_loses_nothing_that_was_acknowledged_and_damages_nothing():
    """C1, C2: files rebuilt with unsynced writes dropped or torn and unsynced names missing."""
    assert met(chaos("power"), "power") == 100


@needs_strace
@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("normal", "acknowledged entries are lost"),
        ("artifact", "artifact "),
        ("intent", "was called, and its intent is lost"),
    ],
)
def test_a_journal_that_syncs_too_little_is_found_out(planted, found):
    """K-11: also an intent that nobody waited for. Of an artifact that was not synced a cut may take the content or the name, whichever chance will have it."""
    done = chaos("power", "--planted", planted)

    assert done.returncode == 1
    assert found in done.stdout


@needs_strace
def test_after_a_fault_of_the_disk_or_a_lock_there_is_a_clear_error_and_the_runs_go_on():
    """C1: a full disk, I/O errors at fsync and at write, a database that another process keeps locked."""
    done = chaos("faults")

    assert met(done, "faults") == 6
    assert "folkmoot.db: the disk is full; free some room on it" in done.stdout
    assert "folkmoot.db: another process kept the journal locked" in done.stdout


def test_a_scene_that_does_not_exist_is_named():
    done = chaos("kils")

    assert done.returncode == 2
    assert "there is no scene kils: choose from kills, writes, power, faults, load" in done.stderr


def test_where_strace_is_missing_the_remedy_is_said(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")

    assert run.main(["power"]) == 3
    assert "apt-get install strace" in capsys.readouterr().err
