"""Starts the fake model server in another process, and asks it what it has seen."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Traffic(NamedTuple):
    requests: int
    bytes: int


@contextmanager
def model_server() -> Iterator[int]:
    """Yields the port. The server ends when its stdin closes, so also if this process is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the bench; the server follows it
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


def traffic(port: int) -> Traffic:
    """What came in since the server began."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=60) as answer:
        return Traffic(**json.load(answer))
