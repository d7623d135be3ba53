"""What all tests share."""

import pytest

from tests.desk import Desk


@pytest.fixture
def desk(tmp_path):
    """A project with a scripted model: `await desk({"a": "handoff: b.ai", …}, {"a": ["hi"], …}).run("a.ai")`."""

    def make(files, script, **more):
        return Desk(tmp_path, files, script, **more)

    return make
