"""The examples, for tests: each has a copy of its own, without what anybody's runs have left in it."""

import shutil
from pathlib import Path

from checks.files import ROOT
from tests.desk import made_mine


def copied(name: str, folder: Path) -> None:
    """Nothing is asked in the copy."""
    shutil.copytree(
        ROOT / "examples" / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".folkmoot")
    )
    made_mine(folder)
