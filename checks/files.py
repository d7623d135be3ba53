"""Which files belong to the repository: what git tracks, and what it would if asked."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def project_files(root: Path = ROOT) -> Iterator[Path]:
    """Tracked files, and new ones that no .gitignore excludes; links and deleted files left out."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, check=True, text=True,
    )  # fmt: skip
    for name in sorted(set(listing.stdout.split("\0")) - {""}):
        path = root / name
        if path.is_file() and not path.is_symlink():
            yield path
