"""What all tests share."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.desk import Desk
from tests.postgres_server import running_server

settings.register_profile("folkmoot", deadline=None)  # no test judges by the clock of a busy machine
settings.load_profile("folkmoot")

# No test sees or changes what the user who runs it has allowed.
os.environ["FOLKMOOT_STATE"] = tempfile.mkdtemp(prefix="folkmoot-tests-state-")
atexit.register(shutil.rmtree, os.environ["FOLKMOOT_STATE"], ignore_errors=True)

# A script that starts the tests with `&` has SIGINT ignored, and so would every program that a test interrupts.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


SLOW = {
    "browser": ("browser/",),
    "chaos": ("chaos/", "domain/test_fence_model.py"),
    "docs": ("docs/", "cli/test_help_examples.py", "cli/test_readme.py"),
    "packaging": ("test_packaging.py", "test_dev.py", "bench/"),
    "postgres": ("journal/postgres/", "cli/test_postgres.py", "cli/test_worker.py"),
    "processes": (
        *(
            "a2a_server/",
            "chat_apis/",
            "golden/test_table.py",
            "mcp_server/test_stdio.py",
            "mcp/test_faults.py",
        ),
        *("test_every_way_in.py", "test_compositions.py", "engine/test_prune.py", "http/test_attacks.py"),
        *("cli/test_resuming.py", "cli/test_serve.py", "cli/test_servers.py", "cli/test_sinks.py"),
        *("cli/test_watch.py", "cli/test_consent.py", "cli/test_otel.py", "cli/test_live_suite.py"),
    ),
}
"""What takes long, by what it needs. `./dev check` runs all of it, and whoever names a file or a marker gets that."""


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="also what takes long: " + ", ".join(SLOW))


def pytest_configure(config):
    for name, places in SLOW.items():
        config.addinivalue_line("markers", f"{name}: {', '.join(places)}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Runs before pytest looks at `-m`, which goes by these markers."""
    folder = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(folder).as_posix()
        for name, places in SLOW.items():
            if place.startswith(places):
                item.add_marker(name)
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.markexpr
    if not named and not config.option.whole:
        slow = [item for item in items if any(mark.name in SLOW for mark in item.iter_markers())]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in {*slow}]


@pytest.fixture
def desk(tmp_path):
    """A project with a scripted model: `await desk({"a": "handoff: b.ai", …}, {"a": ["hi"], …}).run("a.ai")`."""

    def make(files, script, **more):
        return Desk(tmp_path, files, script, **more)

    return make


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL of its own, for all tests of this session that ask for one."""
    with running_server() as server:
        yield server


@pytest.fixture
def storage(postgres):
    """A project on it that no other test knows."""
    return postgres.storage(f"t{os.urandom(6).hex()}")
