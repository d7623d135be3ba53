"""Programs of others from the npm registry, each checked against the hash in a folder's `package-lock.json`."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest


def installed(config: pytest.Config, folder: Path) -> Path:
    """The folder with the programs of the packages that `folder` names; installed once, and kept."""
    npm = shutil.which("npm")
    if npm is None:
        if os.environ.get("CI") == "true":
            pytest.fail("npm is missing")
        pytest.skip("npm is missing: the programs from its registry cannot be installed")
    lock = (folder / "package-lock.json").read_bytes()
    kept = config.cache.mkdir(f"npm-{sha256(lock).hexdigest()[:12]}")
    if not (kept / "installed").exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, kept)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=kept, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (kept / "installed").touch()
    return kept / "node_modules" / ".bin"
