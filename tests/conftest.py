"""What all tests share."""

import atexit
import os
import shutil
import signal
import tempfile

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
