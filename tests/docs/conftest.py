"""Where pages are played, and what they find there."""

import os
import sys
from pathlib import Path

import pytest

from tests import ports


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """An empty folder, and nothing of this machine's user around it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    # What is installed beside this Python is at hand, as it is for whoever types the commands.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")  # a page sets it
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a page shows pytest as it comes
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def free_port():
    return str(ports.free_port())
