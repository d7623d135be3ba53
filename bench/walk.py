"""The newcomer's walk, with a stopwatch: clone, demo, an agent of one's own, a model's server, the page.

A fresh clone in an empty folder, with an empty home; the commands are those of the quickstart and the tutorial. Needs
nothing but Python and git. What is measured is what the machine takes; reading and typing come on top.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "TMPDIR")
_REQUEST = "Where is my parcel?"

SHIPPING = """\
---
description: Parcels, delays and returns.
advisors: [policy.ai]
maxTurns: 3
---
You are the shipping desk of a small shop. Say in two sentences where the parcel is and what the customer can do.
"""
ANSWER = """\
  shipping:
    - report: Your parcel left the store yesterday. If it is not with you tomorrow, we send it again.
"""
MODEL = """\
providers:
  local: {{kind: openai, baseUrl: "http://127.0.0.1:{port}/v1", price: free, contextWindow: 32000}}

models: {{default: local/willing}}

budget: {{usd: 0.50, tokens: 200000, requests: 60, wall: 10m}}
"""


class Place(NamedTuple):
    """Where the walk takes place."""

    home: Path
    clone: Path
    bin: Path
    """Of the `.venv` that `./dev demo` made."""

    @property
    def desk(self) -> Path:
        return self.home / "desk"

    def run(self, command: str, folder: Path) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=self._env(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"`{command}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    @contextmanager
    def running(self, command: list[str], folder: Path) -> Iterator[str]:
        """The first line that a program prints which stays; it ends with the block."""
        with subprocess.Popen(
            command,
            cwd=folder,
            env=self._env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().strip()
            finally:
                process.terminate()

    def _env(self) -> Mapping[str, str]:
        """An empty home, and of this machine only what it needs to reach packages."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("PIP_")}
        settings = Path.home() / ".config" / "pip" / "pip.conf"
        if settings.exists():
            kept.setdefault("PIP_CONFIG_FILE", str(settings))
        return kept | {"HOME": str(self.home), "PATH": f"{self.bin}{os.pathsep}{kept['PATH']}"}


class Step(NamedTuple):
    name: str
    seen: str
    """What the newcomer has in the end."""
    do: Callable[[Place], object]


def clone(place: Place) -> None:
    place.run(f"git clone --quiet 'file://{ROOT}' '{place.clone}'", place.home)


def demo(place: Place) -> None:
    _expect("goes back to the same card", place.run("./dev demo", place.clone))


def short_way(place: Place) -> None:
    place.run("python3 -m venv short && short/bin/pip install './folkmoot[serve]'", place.home)
    _expect("folkmoot ", place.run("short/bin/folkmoot --version", place.home))


def project(place: Place) -> None:
    place.run("folkmoot init desk", place.home)
    _expect(
        "within five working days", place.run('folkmoot run front-desk.ai "I was charged twice."', place.desk)
    )


def own_agent(place: Place) -> None:
    (place.desk / "shipping.ai").write_text(SHIPPING)
    with (place.desk / "script.yaml").open("a") as script:
        script.write(ANSWER)
    _expect("left the store yesterday", place.run(f'folkmoot run shipping.ai "{_REQUEST}"', place.desk))


def model(place: Place) -> None:
    with place.running([str(place.bin / "python"), "-m", "bench.server"], place.clone) as port:
        (place.desk / "folkmoot.yaml").write_text(MODEL.format(port=port))
        _expect(
            "Thank you for your patience", place.run(f'folkmoot run shipping.ai "{_REQUEST}"', place.desk)
        )


def page(place: Place) -> None:
    with place.running([str(place.bin / "folkmoot"), "serve", "--port", "0"], place.desk) as said:
        address = said.split(" at ")[1].split()[0]
        with urllib.request.urlopen(f"{address}runs", timeout=30) as answer:
            _expect(_REQUEST, answer.read().decode())


INSTALLED = (
    Step("project", "`folkmoot init desk`, and a letter from four agents, offline", project),
    Step("own agent", "`shipping.ai` written, and its first answer", own_agent),
    Step("model", "the same agent behind an OpenAI-compatible server on loopback", model),
    Step("page", "`folkmoot serve`, and the list of runs in the browser", page),
)
STEPS = (
    Step("clone", "the repository, from this machine", clone),
    Step("demo", "`./dev demo`: `.venv` with all packages, and the first letter", demo),
    Step("demo again", "the same once more", demo),
    Step(
        "short way", "instead of the demo: `pip install '.[serve]'`, without what only tests need", short_way
    ),
    *INSTALLED,
)


class Taken(NamedTuple):
    """How long a step took, in seconds."""

    wall: float
    cpu: float
    """Of all programs that it started; on a machine that is busy with other things only this says much."""


def walk(place: Place, steps: tuple[Step, ...] = STEPS) -> Iterator[tuple[Step, Taken]]:
    """A step that does not give what it should ends the walk."""
    for step in steps:
        started, used = time.monotonic(), _cpu()
        step.do(place)
        yield step, Taken(time.monotonic() - started, _cpu() - used)


def line(name: str, taken: Taken, seen: str = "") -> str:
    return f"{name:<12} {taken.wall:>7.1f} s {taken.cpu:>7.1f} s CPU  {seen}".rstrip()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _expect(words: str, said: str) -> None:
    if words not in " ".join(said.split()).replace("**", ""):
        raise SystemExit(f"no word of {words!r} in:\n{said}")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="folkmoot-walk-") as name:
        home = Path(name)
        place = Place(home, home / "folkmoot", home / "folkmoot" / ".venv" / "bin")
        for step, taken in walk(place):
            print(line(step.name, taken, step.seen), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
