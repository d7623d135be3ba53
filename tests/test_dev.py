"""`./dev` on machines that are not like this one: the script is real, the Python beside it is a stand-in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Notes every use in `calls`, makes a `.venv` of itself, and fails to install when `broken` exists.
STAND_IN = """#!/bin/sh
case ${0##*/} in
ruff | mypy | lint-imports) echo "${0##*/} $1" >>calls; [ ! -e "no ${0##*/}" ]; exit ;;
folkmoot) echo "folkmoot $2" >>calls; exit ;;
esac
case "$1 $2" in
"-c "*) [ $# -lt 3 ] || cksum <"$3" ;;
"-m venv") echo venv >>calls; mkdir -p "$3/bin"
    for name in python ruff mypy lint-imports folkmoot; do cp "$0" "$3/bin/$name"; done ;;
"-m pip") echo "pip $*" | sed 's/.*install --no-warn-script-location/install/' >>calls
    [ ! -e broken ] || { echo "no matching distribution"; exit 1; } ;;
"-m checks."*) echo "$2" >>calls ;;
"-m pytest") shift 2; echo "pytest $*" >>calls ;;
"-m chaos.run") shift 2; echo "chaos $*" >>calls ;;
examples/*) echo "$1" >>calls ;;
*) echo "Python 3.99" ;;
esac
"""


class Clone:
    """A folder with `dev`, the files it reads, and a PATH on which only `bin` is found."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder / "a clone", folder / "bin"
        self.folder.mkdir()
        self.bin.mkdir()
        shutil.copy(ROOT / "dev", self.folder)
        (self.folder / "requirements.lock").write_text("one==1\n")
        (self.folder / "requirements-run.lock").write_text("one==1\n")
        (self.folder / "pyproject.toml").write_text("[project]\n")
        for name in ("sh", "cat", "cksum", "cp", "date", "dirname", "mkdir", "rm", "sed"):
            (self.bin / name).symlink_to(shutil.which(name))

    def has_python(self, script: str = STAND_IN, name: str = "python3") -> None:
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)

    def dev(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """From another folder, with an empty environment and no stdin."""
        command = ["sh", str(self.folder / "dev"), *arguments]
        return subprocess.run(
            command,
            cwd="/",
            env={"PATH": str(self.bin)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def calls(self) -> list[str]:
        """What the stand-in was used for since the last time."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


RUNNING = [
    "venv",
    "install --no-deps --require-hashes -r requirements-run.lock",
    "install --no-deps --no-build-isolation --editable .",
]
TOOLS = "install --no-deps --require-hashes -r requirements.lock"
SET_UP = [*RUNNING, TOOLS]
PYTEST = "pytest --numprocesses auto --dist loadfile --max-worker-restart 0"


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_without_a_command_every_command_is_listed(clone):
    done = clone.dev()

    commands = re.findall(r"^    (\w+)\)", (ROOT / "dev").read_text(), re.MULTILINE)
    assert done.returncode == 0
    assert {
        "demo",
        "test",
        "check",
        "docs",
        "bench",
        "chaos",
        "clients",
        "dojo",
        "fuzz",
        "walk",
        "clean",
    } == set(commands)
    assert all(f"\n  {command} " in done.stdout for command in commands)


def test_a_command_that_does_not_exist_is_wrong_use(clone):
    done = clone.dev("tset")

    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "dev: there is no command 'tset'")


def test_the_first_run_sets_up_and_the_second_is_at_once(clone):
    clone.has_python()

    assert clone.dev("test", "-k", "one").returncode == 0
    assert clone.calls() == [*SET_UP, f"{PYTEST} -k one"]
    assert clone.dev("test").stderr == ""
    assert clone.calls() == [PYTEST]


def test_the_demo_installs_only_what_running_needs_and_the_tests_the_rest(clone):
    """K-104."""
    clone.has_python()

    assert clone.dev("demo").returncode == 0
    assert clone.calls() == [*RUNNING, "folkmoot examples/front-desk", "examples/payment/kill_and_resume.py"]
    clone.dev("test")
    assert clone.calls() == [TOOLS, PYTEST]
    clone.dev("demo")
    assert clone.calls() == ["folkmoot examples/front-desk", "examples/payment/kill_and_resume.py"]
    (clone.folder / "requirements.lock").write_text("one==2\n")
    clone.dev("demo")
    assert clone.calls()[:1] == ["folkmoot examples/front-desk"]


def test_what_running_needs_is_a_part_of_the_lock():
    """K-104: both would otherwise install over each other."""
    part, whole = (_pins(ROOT / name) for name in ("requirements-run.lock", "requirements.lock"))

    assert part.items() <= whole.items()
    assert {"aiohttp", "msgspec", "uvicorn"} < part.keys() < whole.keys() - {"pytest", "mypy", "openai"}


def _pins(lock: Path) -> dict[str, list[str]]:
    """The version and the hashes of each package."""
    text = re.sub(r"^ *#.*\n", "", lock.read_text(), flags=re.MULTILINE)
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return {entry.partition("==")[0]: re.findall(r"==[^ ]+|sha256:\w+", entry) for entry in entries if entry}


def test_a_new_lock_rebuilds_and_new_metadata_only_reinstalls_the_project(clone):
    clone.has_python()
    clone.dev("test")
    clone.calls()

    (clone.folder / "requirements.lock").write_text("one==2\n")
    clone.dev("test")
    assert clone.calls() == [*SET_UP, PYTEST]
    (clone.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    clone.dev("test")
    assert clone.calls() == [RUNNING[-1], PYTEST]


@pytest.mark.parametrize("leftover", ["a file", "an empty folder", "one without Python", "a dead link"])
def test_whatever_lies_where_the_environment_goes_is_replaced(clone, leftover):
    clone.has_python()
    place = clone.folder / ".venv"
    match leftover:
        case "a file":
            place.write_text("")
        case "an empty folder":
            place.mkdir()
        case "one without Python":
            place.mkdir()
            (place / ".installed-packages").write_text("")
        case "a dead link":
            place.symlink_to(clone.folder / "nowhere")

    assert clone.dev("test").returncode == 0
    assert clone.calls() == [*SET_UP, PYTEST]


def test_a_failed_installation_shows_what_pip_said_and_is_begun_anew_the_next_time(clone):
    clone.has_python()
    (clone.folder / "broken").touch()

    done = clone.dev("test")
    assert done.returncode == 1
    assert "no matching distribution" in done.stderr
    clone.calls()

    (clone.folder / "broken").unlink()
    assert clone.dev("test").returncode == 0
    assert clone.calls() == [*SET_UP, PYTEST]


def test_a_python_that_is_too_old_is_passed_over_for_a_newer_one(clone):
    clone.has_python("#!/bin/sh\nexit 1\n")
    clone.has_python(name="python3.12")

    assert clone.dev("test").returncode == 0


def test_check_runs_every_guard_in_order_and_the_tests_last(clone):
    """A-109: one command says whether format, lint, types, import rules, documents and tests are clean."""
    clone.has_python()

    done = clone.dev("check")

    assert done.returncode == 0
    assert clone.calls()[len(SET_UP) :] == [
        "ruff format",
        "ruff check",
        "mypy ",
        "lint-imports ",
        "checks.requirements",
        "checks.lines",
        "checks.hygiene",
        "checks.wording",
        "checks.surface",
        "checks.docs",
        f"{PYTEST} --whole",
    ]


def test_check_stops_at_the_first_failure_and_says_which(clone):
    clone.has_python()
    (clone.folder / "no mypy").touch()

    done = clone.dev("check")

    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "dev: check stopped at: mypy")
    assert clone.calls()[len(SET_UP) :] == ["ruff format", "ruff check", "mypy "]


def test_root_gets_strace_and_chromium_where_they_are_missing_and_others_go_on_without(clone):
    clone.has_python()
    clone.has_python('#!/bin/sh\necho "apt-get $*" >>calls\n', "apt-get")
    clone.has_python("#!/bin/sh\necho 1000\n", "id")

    clone.dev("chaos", "power", "--short")
    assert clone.calls()[len(SET_UP) :] == ["chaos power --short"]

    clone.has_python("#!/bin/sh\necho 0\n", "id")
    clone.dev("chaos")
    install = "apt-get install -y --no-install-recommends strace"
    assert clone.calls() == ["apt-get update", install, "chaos "]

    clone.dev("test")
    browser = "apt-get install -y --no-install-recommends chromium"
    assert clone.calls() == ["apt-get update", install, "apt-get update", browser, PYTEST]


def test_without_a_python_the_message_says_what_is_needed(clone):
    clone.has_python("#!/bin/sh\nexit 1\n")

    done = clone.dev("test")

    assert done.returncode == 1
    assert done.stderr.startswith("dev: needs Python 3.11 or newer")
