"""Keeps the size of each package: `checks/sizes.txt` says how many lines it may have, and only ever less.

`python -m checks.lines --lower` writes down what was won. A package that is new, or that an issue lets grow, gets its
number by hand, in a commit of its own.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from checks.files import ROOT

SIZES = "checks/sizes.txt"
FILES, TESTS = "files", "tests"
"""Beside the packages: how many files these have together, and the lines of all tests."""
FILE_AIM, FILE_LIMIT = 300, 400
FUNCTION_AIM = 40


def main(root: Path = ROOT, *, lower: bool = False) -> int:
    package = root / "src" / "folkmoot"
    sizes = {path: _lines(path) for path in sorted(package.rglob("*.py"))}
    allowed, now = _read(root / SIZES), measured(root, sizes)
    if lower:
        allowed = {name: min(size, allowed.get(name, size)) for name, size in now.items()}
        (root / SIZES).write_text("".join(f"{name} {size}\n" for name, size in sorted(allowed.items())))
    print(f"  {sum(sizes.values()):,} lines in {len(sizes)} files, {now[TESTS]:,} lines of tests")
    for path, size in sizes.items():
        if FILE_AIM < size <= FILE_LIMIT:
            print(f"  {path.relative_to(root)}: {size} lines, aim {FILE_AIM}")
        for name, length in long_functions(path):
            print(f"  {path.relative_to(root)}: {name} has {length} lines, aim {FUNCTION_AIM}")
    faults = [
        *_grown(allowed, now),
        *(_too_long(root, path) for path, size in sizes.items() if size > FILE_LIMIT),
    ]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


def measured(root: Path, sizes: Mapping[Path, int]) -> dict[str, int]:
    """By package: `domain` for domain/agent.py, `ports` for ports.py."""
    found: Counter[str] = Counter()
    for path, size in sizes.items():
        found[path.relative_to(root / "src" / "folkmoot").parts[0].removesuffix(".py")] += size
    tests = sum(map(_lines, (root / "tests").rglob("*.py")))
    return {**found, FILES: len(sizes), TESTS: tests}


def long_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_AIM:
                yield node.name, length


def _grown(allowed: Mapping[str, int], now: Mapping[str, int]) -> Iterator[str]:
    for name, size in now.items():
        if size > (most := allowed.get(name, 0)):
            what = "there are" if name == FILES else f"{name} has"
            unit = "files" if name == FILES else "lines"
            yield f"{what} {size:,} {unit}, {SIZES} allows {most:,}: find what falls away for what came in"


def _too_long(root: Path, path: Path) -> str:
    return f"{path.relative_to(root)}: over {FILE_LIMIT} lines: find the second thing in it, and move that"


def _read(file: Path) -> dict[str, int]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {name: int(size) for name, size in map(str.split, lines)}


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main(lower="--lower" in sys.argv[1:]))
