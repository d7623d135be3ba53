"""The examples, for tests: each has a copy of its own, without what anybody's runs have left in it."""

import re
import shutil
from pathlib import Path

from checks.files import ROOT
from tests.desk import made_mine


def copied(name: str, folder: Path) -> None:
    """Nothing is asked in the copy, and no scripted model takes its time."""
    shutil.copytree(
        ROOT / "examples" / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".folkmoot")
    )
    made_mine(folder)
    hasten(folder)


def hasten(folder: Path) -> None:
    """Let its scripted models answer at once."""
    for script in folder.glob("script.yaml"):
        script.write_text(re.sub(r"delay: \d+ms", "delay: 0ms", script.read_text()))
