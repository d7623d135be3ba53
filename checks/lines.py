"""Prints how large the house has grown against its aims; fails only for a file that nobody reads any more."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.files import ROOT

CORE = ("domain", "ports", "loader", "session", "orchestration", "coordination", "views")
CORE_AIM, PACKAGE_AIM = 4_000, 12_000
CORE_FILE_AIM, FILE_AIM, FILE_LIMIT = 200, 300, 400
FUNCTION_AIM = 40


def main(root: Path = ROOT) -> int:
    package = root / "src" / "folkmoot"
    sizes = {path: len(path.read_text().splitlines()) for path in sorted(package.rglob("*.py"))}
    core = {path for path in sizes if room(path, package) in CORE}

    print(f"  core     {sum(sizes[path] for path in core):>6,} lines, aim {CORE_AIM:,}")
    print(f"  package  {sum(sizes.values()):>6,} lines, aim {PACKAGE_AIM:,}")
    for path, size in sizes.items():
        aim = CORE_FILE_AIM if path in core else FILE_AIM
        if size > aim:
            print(f"  {path.relative_to(root)}: {size} lines, aim {aim}")
        for name, length in long_functions(path):
            print(f"  {path.relative_to(root)}: {name} has {length} lines, aim {FUNCTION_AIM}")

    too_long = [path for path, size in sizes.items() if size > FILE_LIMIT]
    for path in too_long:
        print(
            f"{path.relative_to(root)}: over {FILE_LIMIT} lines: find the second thing in it, and move that"
        )
    return 1 if too_long else 0


def room(path: Path, package: Path) -> str:
    """`domain` for domain/agent.py, `ports` for ports.py."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def long_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_AIM:
                yield node.name, length


if __name__ == "__main__":
    sys.exit(main())
