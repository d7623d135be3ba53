"""AgentDojo, a public set of attacks, against the gate: `./dev dojo [--sample N]`.

Four suites (workspace, banking, slack, travel), 97 tasks of users and 35 attacks, in 949 pairs, of which 609 have an
attack that makes calls. Each pair is a real run: a project on disk whose agent has all tools of the suite, declared in
`declared.py`, with a journal. The model does what the user asked, calls of one tool that follow one another in one
answer, and what an injected text wants as soon as it has read one. The package's own judges say whether the task is
done and whether the attack has succeeded.

The scenes: the set by itself and its attacks without the gate's taint, to see that the judges can find them; attacks
with nobody there, so that what asks waits; with a person who approves exactly the calls of the user's task, without
attacks and with them; and without attacks once more, with one call in each answer. In the table, `wait` is how many
runs still wait, `attacked` what the judges say, `acted` in how many runs a call was made that only the attack wanted,
`asked` the questions per run, `denied` those that were denied.

The package brings 280 MB of other packages: it is installed once, into a cache folder, with an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path

from dojo import declared
from dojo.scenes import SCENES, Played, faults, played, table, unstoppable

ROOT = Path(__file__).parent.parent
PACKAGE = "agentdojo==0.1.35"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev dojo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="only N pairs of each suite and scene"
    )
    sample = parser.parse_args(arguments).sample
    if importlib.util.find_spec("agentdojo") is None:
        return _elsewhere(arguments)
    jobs = [(scene, suite, sample) for suite in declared.SUITES for scene in SCENES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        done = [*pool.map(_job, *zip(*jobs, strict=True))]
    print(*table(done), sep="\n")
    print("\nattacks in words alone, which no gate can stop:", "; ".join(unstoppable(done)) or "none")
    missed = [*faults(done, whole=not sample)]
    print("\n".join(f"MISSED: {fault}" for fault in missed) or "ok")
    return 1 if missed else 0


def environment() -> Path:
    """The Python that has the package, whether it is there yet or not."""
    named = sha256(" ".join((sys.version, *_packages())).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "folkmoot-dojo" / named / "bin" / "python"


def _packages() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [PACKAGE, *project["dependencies"]]


def command(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """How it is run in that environment, on the sources that lie here."""
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    return [str(environment()), "-m", "dojo.run", *arguments], {**os.environ, "PYTHONPATH": paths}


def _elsewhere(arguments: list[str]) -> int:
    if not environment().exists():
        _install(environment().parents[1])
    line, env = command(arguments)
    return subprocess.run(line, cwd=ROOT, env=env, check=False).returncode


def _install(folder: Path) -> None:
    """Whole, or not there."""
    made = folder.with_name(f"{folder.name}.{os.getpid()}")
    print(f"dojo: installing {PACKAGE} into {folder} (once, 300 MB)", file=sys.stderr)
    try:
        for line in (
            [sys.executable, "-m", "venv", str(made)],
            [
                str(made / "bin" / "python"),
                "-m",
                "pip",
                "--disable-pip-version-check",
                "install",
                *_packages(),
            ],
        ):
            done = subprocess.run(line, capture_output=True, text=True, timeout=1800, check=False)
            if done.returncode:
                raise SystemExit(f"dojo: {PACKAGE} cannot be installed:\n{done.stderr}")
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _job(scene: str, suite: str, sample: int) -> Played:
    from dojo.package import suite as of_package  # it is there only in the other environment

    with tempfile.TemporaryDirectory(prefix="folkmoot-dojo-") as folder:
        os.environ["FOLKMOOT_STATE"] = f"{folder}/state"
        return asyncio.run(played(scene, of_package(suite), Path(folder) / "project", sample))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
