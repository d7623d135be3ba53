"""Fails when a finished requirement is named by no test.

`finished.txt` lists what is finished; a test names a requirement in its docstring, by its id (`A-1, A-3`) or
within a range (`A-1..A-3`, `A-1 … A-3`).
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.files import ROOT

_IDS = re.compile(r"\b([A-Z])-(\d+)(?:\s*(?:\.{2,3}|…|–)\s*(?:\1-)?(\d+))?")


def main(root: Path = ROOT) -> int:
    finished = read_finished((root / "checks" / "finished.txt").read_text())
    missing = unnamed(finished, root / "tests")
    if missing:
        print("No test names these finished requirements in its docstring:")
        print("\n".join(f"  {id}" for id in missing))
        return 1
    print(f"{len(finished)} finished requirements, each named by a test")
    return 0


def read_finished(text: str) -> list[str]:
    """One id or range per line, `#` begins a comment; raises ValueError for anything else."""
    finished: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition("#")[0].strip()
        if entry and not _IDS.fullmatch(entry):
            raise ValueError(f"finished.txt:{number}: {entry!r} is neither an id nor a range like A-1..A-3")
        finished += ids_in(entry)
    return finished


def unnamed(finished: list[str], tests: Path) -> list[str]:
    """Which ids no docstring of a test names, in the order of the list."""
    named = {id for path in tests.rglob("test_*.py") for text in docstrings(path) for id in ids_in(text)}
    return [id for id in finished if id not in named]


def docstrings(path: Path) -> Iterator[str]:
    """Only those of test functions: a module or a helper proves nothing."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield ast.get_docstring(node) or ""


def ids_in(text: str) -> Iterator[str]:
    for family, first, last in _IDS.findall(text):
        for number in range(int(first), int(last or first) + 1):
            yield f"{family}-{number}"


if __name__ == "__main__":
    sys.exit(main())
