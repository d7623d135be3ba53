"""What others install."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from checks.files import ROOT, project_files


def test_the_wheel_holds_every_file_of_the_package_and_the_command(tmp_path):
    """A-109: the build passes, and leaves nothing behind."""
    command = [sys.executable, "-W", "error", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("folkmoot/")}
        entry_points = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
        commands = wheel.read(entry_points).decode()

    package = ROOT / "src" / "folkmoot"
    templates = [path for path in (package / "cli" / "scaffold").iterdir() if path.is_symlink()]
    places = {path.resolve(): path for path in [package, *templates]}  # examples that `init` can make too
    wanted = {
        (place / path.relative_to(real)).relative_to(ROOT / "src").as_posix()
        for path in project_files()
        for real, place in places.items()
        if path.is_relative_to(real)
    }
    pages = {
        f"folkmoot/{name}"
        for path in project_files()
        if (name := path.relative_to(ROOT).as_posix()).startswith("docs/")
    }
    assert templates
    assert held == wanted | pages
    assert "folkmoot = folkmoot.cli.main:main" in commands
    assert_reads_its_own_documentation(next(tmp_path.glob("*.whl")), tmp_path / "installed")


def assert_reads_its_own_documentation(wheel: Path, folder: Path) -> None:
    """Where there is no clone, the pages come from inside the package."""
    with zipfile.ZipFile(wheel) as held:
        held.extractall(folder)
    code = "import sys; from folkmoot.cli.main import main; sys.exit(main(['docs', 'trust#verify']))"
    env = os.environ | {"PYTHONPATH": str(folder)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, check=True, capture_output=True, text=True
    )

    assert shown.stdout.startswith("## Verify")
    (folder / "folkmoot" / "docs" / "README.md").unlink()
    without = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True
    )
    assert f"there is no documentation in {folder}" in without.stderr
