"""Fails for what nobody reads, and for a class name that two modules use for two things.

Unread, by name: a field of a struct, an event type or a top-level function or class that occurs once in the whole
source, templates included. What must stay is in `surface.toml` with its reason. The class names that still exist more
than once are there too; the list may only shrink.
"""

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from checks.files import ROOT

ALLOWED = "checks/surface.toml"
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def main(root: Path = ROOT) -> int:
    package = root / "src" / "folkmoot"
    trees = {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
    words = Counter(
        word
        for path in (*trees, *package.rglob("*.html"), *package.rglob("*.js"))
        for word in _WORD.findall(path.read_text())
    )
    allowed = tomllib.loads((root / ALLOWED).read_text())
    faults = [
        *_compare("unread", unread(trees, words, package), allowed["unread"]),
        *_compare("class names", repeated_classes(trees, package), allowed["classes"]),
    ]
    print("\n".join(faults) or "everything is read, and no class name is new in a second place")
    return 1 if faults else 0


def unread(trees: Mapping[Path, ast.Module], words: Counter[str], package: Path) -> dict[str, str]:
    """By name, `file:thing`: what is wrong with it."""
    found: dict[str, str] = {}
    for path, tree in trees.items():
        name = path.relative_to(package).as_posix()
        for node in tree.body:
            if (
                not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                or node.decorator_list
            ):
                continue  # a decorator may hand it on
            if words[node.name] == 1 and not node.name.startswith("__"):
                found[f"{name}:{node.name}"] = "nobody uses it"
        for owner, field in _fields(tree):
            if words[field] == 1:
                found[f"{name}:{owner}.{field}"] = "nobody reads it"
    return found


def repeated_classes(trees: Mapping[Path, ast.Module], package: Path) -> dict[str, str]:
    """By class name: the files that have one."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(package).as_posix())
    return {name: ", ".join(files) for name, files in places.items() if len(files) > 1}


def _fields(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    yield node.name, part.target.id


def _compare(what: str, found: Mapping[str, str], allowed: Mapping[str, object]) -> Iterator[str]:
    for name in sorted(found.keys() - allowed.keys()):
        yield f"{name}: {found[name]} ({what})"
    for name in sorted(allowed.keys() - found.keys()):
        yield f"{ALLOWED}: {name} is allowed, and no longer needs to be ({what})"


if __name__ == "__main__":
    sys.exit(main())
