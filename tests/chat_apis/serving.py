"""A project behind a real `folkmoot serve`, as clients of other makers meet it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

PROGRAM = [sys.executable, "-c", "import sys; from folkmoot.cli.main import main; sys.exit(main())"]
SETTINGS = """
providers: {s: {kind: scripted, script: script.yaml, price: {input: 1, output: 2}, contextWindow: 32000}}
models: {default: s/demo}
tools: {bank: {kind: python, module: bank.py}}
"""
BANK = '''
from folkmoot import tool

@tool(effect="pure", access="write", asks="high")
async def pay(to: str) -> str:
    """Pay."""
    return f"paid {to}"
'''
FOREVER = {"report": "never said", "barrier": "nobody comes/2"}
"""An answer that waits until somebody stops it."""


@dataclass
class Server:
    folder: Path
    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        return f"{self.address}v1"

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self.address}{path}", timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def run(self, id: str) -> Any:
        return self.get(f"api/runs/{id}")

    def events(self, id: str) -> list[Any]:
        return list(self.get(f"api/runs/{id}/events?limit=500"))

    def prompt(self, id: str) -> str:
        """What the root agent of a run was asked, envelopes included."""
        return str(self.run(id)["conversation"][0]["text"])

    def runs(self, status: str) -> list[str]:
        return [row["runId"] for row in self.get(f"api/runs?status={status}")]

    def call(self, *arguments: str) -> str:
        """What the program prints, called in the same project."""
        return called(self.folder, *arguments)


def write(
    folder: Path, agents: Mapping[str, str], script: Mapping[str, Any], settings: str = SETTINGS
) -> None:
    """`agents` holds frontmatter by id."""
    (folder / "folkmoot.yaml").write_text(settings)
    (folder / "script.yaml").write_text(yaml.safe_dump({"agents": dict(script)}))
    (folder / "bank.py").write_text(BANK)
    for name, frontmatter in agents.items():
        (folder / f"{name}.ai").write_text(f"---\n{frontmatter}\n---\nYou are {name}.\n")
    called(folder, "trust", "--mine")


@contextmanager
def served(folder: Path, *arguments: str, **env: str) -> Iterator[Server]:
    """Whatever happens, the process is gone in the end."""
    command = [*PROGRAM, "serve", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(folder, **env),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        said = [process.stderr.readline()]
        while said[-1] and "Ctrl-C ends it" not in said[-1]:
            said.append(process.stderr.readline())
        found = re.search(r"at (http://\S+/) ", said[-1])
        assert found, "".join(said)
        yield Server(folder, process, found[1])
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def called(folder: Path, *arguments: str, **env: str) -> str:
    done = subprocess.run(
        [*PROGRAM, *arguments], cwd=folder, env=environment(folder, **env), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", **more}
