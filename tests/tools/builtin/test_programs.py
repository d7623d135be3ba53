"""Programs that agents run: within limits, and gone afterwards."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from folkmoot.domain.settings import Builtins, ProcessLimits
from folkmoot.tools.functions import in_thread
from tests.tools.builtin.using import Using

DETACHED = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        held = open("held", "w") if os.path.exists("held") else None
        open("pid.new", "w").write(str(os.getpid()))
        os.rename("pid.new", "pid")
        time.sleep(600)
    os._exit(0)
while not os.path.exists("pid"):
    time.sleep(0.001)
"""
"""Leaves a process behind that has its own session and no parent; then goes on with what is appended."""
WAITING = "open('ready', 'w').close(); time.sleep(600)"


def limited(folder, **limits):
    return Using(folder, Builtins(shell=ProcessLimits(**limits), python=ProcessLimits(**limits)))


def alive(pid: int) -> bool:
    """A zombie is dead; in a container without an init nobody may ever bury it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def the_detached(folder) -> int:
    return int((folder / "pid").read_text())


async def test_a_program_runs_in_the_working_folder_and_its_exit_code_is_told(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    using = Using(tmp_path)

    assert await using.text("shell", argv=["ls"]) == "exit code 0\na.txt"
    assert await using.text("shell", argv=["false"]) == "exit code 1"
    assert (await using.text("shell", argv=["ls", "nowhere"])).startswith("exit code 2\nls: cannot access")


@pytest.mark.parametrize(
    "text", ["$(touch taken)", "; touch taken", "`touch taken`", "> taken", "*", "| touch taken"]
)
async def test_there_is_no_shell_that_an_argument_could_speak_to(tmp_path, text):
    """Issue 5: argument injection."""
    assert await Using(tmp_path).text("shell", argv=["echo", text]) == f"exit code 0\n{text}"
    assert not list(tmp_path.iterdir())


async def test_a_command_line_as_one_text_is_refused(tmp_path):
    result = await Using(tmp_path)("shell", argv="touch taken")

    assert result.failed
    assert "Expected `array`" in result.text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argv", [[], [""], ["-c", "touch taken"], ["--version"], ["touch", "tak\0en"]])
async def test_what_is_no_program_is_not_started(tmp_path, argv):
    """Issue 5: argv starting with `-`."""
    assert await Using(tmp_path).refusal("shell", argv=argv)
    assert not list(tmp_path.iterdir())


async def test_an_argument_may_begin_with_a_dash(tmp_path):
    assert await Using(tmp_path).text("shell", argv=["echo", "--", "-n"]) == "exit code 0\n-- -n"


async def test_a_program_is_looked_for_in_the_systems_folders_only(tmp_path):
    (tmp_path / "greet").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "greet").chmod(0o755)
    using = Using(tmp_path, env={"PATH": str(tmp_path)})

    assert (
        await using.refusal("shell", argv=["greet"]) == "'greet' cannot be started: No such file or directory"
    )
    assert await using.text("shell", argv=["./greet"]) == "exit code 0\nmine"


async def test_a_program_gets_only_the_environment_that_the_settings_name(tmp_path):
    """Issue 5: a tool's process gets only the environment that its entry names."""
    limits = Builtins(shell=ProcessLimits(env=("NAMED", "ABSENT")))
    using = Using(tmp_path, limits, env={"NAMED": "yes", "OPENAI_API_KEY": "secret", "PYTHONPATH": "x"})

    assert await using.text("shell", argv=["env"]) == (
        "exit code 0\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nNAMED=yes"
    )
    code = "import os; print(sorted(os.environ))"
    assert "NAMED" not in await using.text("python", code=code)


async def test_stdin_is_empty(tmp_path):
    assert await Using(tmp_path).text("shell", argv=["cat"]) == "exit code 0"


async def test_python_runs_beside_the_runtime_and_imports_nothing_of_the_project(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('the project was imported')")
    using = Using(tmp_path)

    assert await using.text(
        "python", code="import json, os; print(os.getpid() != " + str(os.getpid()) + ")"
    ) == ("exit code 0\nTrue")
    assert (await using.text("python", code="1/0")).startswith("exit code 1\nTraceback")
    assert "at most 100,000 bytes" in await using.refusal("python", code="#" * 100_001)


async def test_a_detached_grandchild_is_gone_when_the_call_ends(tmp_path):
    """Issue 5: the whole process group, and whoever left it."""
    assert await Using(tmp_path).text("python", code=DETACHED + "print('left')") == "exit code 0\nleft"

    assert not alive(the_detached(tmp_path))


async def test_a_program_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    for seconds in (2, 10, 60):  # a busy machine may need longer to begin
        folder = tmp_path / str(seconds)
        folder.mkdir()
        result = await limited(folder, time=float(seconds))(
            "python", code=DETACHED + "print('on', flush=True); time.sleep(600)"
        )
        assert result.failed
        if "on" in result.text.splitlines():
            break

    assert result.text == f"stopped after {seconds} s\non"
    assert not alive(the_detached(folder))


async def test_a_call_that_is_cancelled_leaves_nothing_behind(tmp_path):
    """Pain 14: stop stops."""
    os.mkfifo(tmp_path / "ready")
    running = asyncio.ensure_future(Using(tmp_path)("python", code=DETACHED + WAITING))
    await in_thread((tmp_path / "ready").read_text)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not alive(the_detached(tmp_path))


async def test_nothing_is_left_when_the_runtime_itself_is_killed(tmp_path):
    """Issue 5: the guard hears that its caller is gone."""
    os.mkfifo(tmp_path / "ready")
    os.mkfifo(tmp_path / "held")
    program = f"""
import asyncio, pathlib
from folkmoot.domain.settings import Builtins
from folkmoot.tools.builtin.toolset import Programs
asyncio.run(Programs(Builtins(), {{}}).python({DETACHED + WAITING!r}, pathlib.Path({str(tmp_path)!r})))
"""
    runtime = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    gone = asyncio.ensure_future(in_thread((tmp_path / "held").read_text))
    await in_thread((tmp_path / "ready").read_text)
    assert alive(the_detached(tmp_path))
    assert not gone.done()

    runtime.kill()
    await runtime.wait()

    assert await gone == "", "a file that a process holds is closed only when it ends"


async def test_a_program_that_kills_its_guard_dies_with_it(tmp_path):
    result = await Using(tmp_path)(
        "python", code="import os, time; os.kill(os.getppid(), 9); time.sleep(600)"
    )

    assert result.failed
    assert result.text == "its guard was killed"


async def test_more_processes_than_allowed_are_ended_together(tmp_path):
    code = """
import os, time
for n in range(60):
    if os.fork() == 0:
        open(f"pid{n}", "w").write(str(os.getpid()))
        time.sleep(600)
time.sleep(600)
"""
    result = await limited(tmp_path, processes=20)("python", code=code)

    assert result.failed
    assert result.text == "stopped because it had more than 20 processes"
    assert not any(alive(int(file.read_text() or 0)) for file in tmp_path.iterdir())


async def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path):
    text = await limited(tmp_path, output_bytes=20).text("shell", argv=["seq", "1000"])

    assert text == "exit code 0\n1\n2\n3\n4\n5\n\n[… 3,873 bytes left out …]\n\n999\n1000"


async def test_an_output_without_end_is_cut_off(tmp_path):
    """Issue 5: output bombs."""
    result = await Using(tmp_path)("shell", argv=["yes"])

    assert result.failed
    assert result.text.startswith("stopped after 100,000,000 bytes of output\ny\ny\n")
    assert len(result.text) < 13_000


async def test_output_that_is_not_utf_8_is_shown_as_far_as_it_is_text(tmp_path):
    """Issue 5: invalid UTF-8."""
    code = r"import os; os.write(1, b'caf\xe9 \xff\xfe ok')"

    assert await Using(tmp_path).text("python", code=code) == "exit code 0\ncaf\ufffd \ufffd\ufffd ok"


async def test_memory_and_files_stay_within_their_limits(tmp_path):
    using = limited(tmp_path, memory_bytes=200_000_000, file_bytes=1000)

    assert "MemoryError" in await using.text("python", code="x = bytearray(300_000_000)")
    assert "File too large" in await using.text(
        "python", code="open('big', 'wb', 0).write(b'x' * 5000); open('big', 'ab', 0).write(b'x')"
    )
    assert await using.text(
        "shell", argv=["dd", "if=/dev/zero", "of=big", "bs=5000", "count=2", "status=none"]
    ) == ("ended by SIGXFSZ")
    assert (tmp_path / "big").stat().st_size == 1000
