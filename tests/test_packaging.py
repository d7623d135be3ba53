"""What others install."""

import subprocess
import sys
import zipfile

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
    assert templates
    assert held == wanted
    assert "folkmoot = folkmoot.cli.main:main" in commands
