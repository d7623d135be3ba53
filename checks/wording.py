"""Fails where behaviour depends on the wording of an error, an event or a result: codes and fields are for that.

Looked for are tests of a text (`startswith`, `in`, a regular expression, a comparison with a sentence, decoding) that
came from `str(error)`, or from a field in which events, errors and results keep words for people.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.files import ROOT

FIELDS = frozenset({"reason", "error", "text", "decision", "why", "message", "detail", "args"})
TESTS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "find", "index"}
)
READERS = frozenset(
    {"match", "search", "fullmatch", "findall", "finditer", "sub", "decode", "loads", "fnmatch"}
)
ALLOWED = {
    "src/folkmoot/contract/verify.py:take": "it takes out the place, which a fault names by itself",
    "src/folkmoot/coordination/collaboration_steps.py:_accepted": "what a model wrote",
    "src/folkmoot/coordination/collaboration_phases.py:_review": "what a model wrote",
    "src/folkmoot/coordination/collaboration_phases.py:_found": "what a model wrote",
    "src/folkmoot/engine/collaboration.py:interrupted": "a constant of the same file",
    "src/folkmoot/protocols/wire.py:read_body": "msgspec says only in words what is wrong where",
    "src/folkmoot/protocols/content.py:convert_part": "msgspec says only in words what is wrong where",
    "src/folkmoot/protocols/wire.py:rest": "what a model wrote",
    "src/folkmoot/journal/database.py:_code": "this error of the module sqlite3 has no code",
    "src/folkmoot/journal/index.py:_row": "the stored JSON of an entry",
    "src/folkmoot/loader/walk.py:plain": "what an author wrote",
    "src/folkmoot/models/choose.py:installing": "pydantic-ai names an extra only in words",
    "src/folkmoot/orchestration/messages.py:_reading": "what an agent wrote",
    "src/folkmoot/tools/parameters.py:_adapter": "the first line of what pydantic says",
}
"""Functions that read words of others, each with the reason. What old journals say only in words is read in
`domain/older_entries.py`, whose functions get nothing but the words."""


def main(root: Path = ROOT) -> int:
    found = [fault for path in sorted((root / "src").rglob("*.py")) for fault in faults_of(path, root)]
    unused = ALLOWED.keys() - {place for place, _ in found} if root == ROOT else set()
    faults = [fault for place, fault in found if place not in ALLOWED]
    faults += [
        f"checks/wording.py: {place} is allowed, and does nothing of the kind" for place in sorted(unused)
    ]
    print("\n".join(faults) or "no behaviour by wording")
    return 1 if faults else 0


def faults_of(path: Path, root: Path) -> Iterator[tuple[str, str]]:
    """Each as its place, `file:function`, and what is wrong there."""
    name = path.relative_to(root).as_posix()
    for function, scope in _scopes(ast.parse(path.read_text())):
        words = _Words(scope)
        for node in _within(scope):
            if what := words.judge(node):
                yield (
                    f"{name}:{function}",
                    f"{name}:{getattr(node, 'lineno', 0)}: {function} goes by the wording of {what}",
                )


class _Words:
    """What is a text for people, in one function."""

    def __init__(self, scope: ast.AST) -> None:
        self._errors: set[str] = set()
        self._names: set[str] = set()
        for node in _within(scope):
            if isinstance(node, ast.ExceptHandler) and node.name:
                self._errors.add(node.name)
            elif isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name | ast.Attribute):
                named = getattr(node.annotation, "id", "") or getattr(node.annotation, "attr", "")
                if named in ("Exception", "BaseException") or named.endswith("Error"):
                    self._errors.add(node.arg)
            elif isinstance(node, ast.MatchClass):
                for field, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
                    if field in FIELDS and isinstance(pattern, ast.MatchAs) and pattern.name:
                        self._names.add(pattern.name)
        for node in _within(scope):
            if isinstance(node, ast.Assign) and self._is_text(node.value):
                self._names |= {target.id for target in node.targets if isinstance(target, ast.Name)}

    def judge(self, node: ast.AST) -> str:
        """What is gone by here; empty if nothing is."""
        texts: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(value=text, attr=attr)) if attr in TESTS:
                texts = [text]
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in READERS:
                texts = args
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[within]):
                texts = [within, *([left] if _is_wordy(within) else [])]
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[other]) if _is_wordy(
                left
            ) or _is_wordy(other):
                texts = [left, other]
            case ast.MatchClass(kwd_attrs=fields, kwd_patterns=patterns):
                literal = (p for f, p in zip(fields, patterns, strict=True) if f in FIELDS)
                texts = [p.value for p in literal if isinstance(p, ast.MatchValue) and _is_wordy(p.value)]
                return ast.unparse(texts[0]) if texts else ""
        return next((ast.unparse(text) for text in texts if self._is_text(text)), "")

    def _is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name("str"), args=[ast.Name(name)]):
                return name in self._errors or name == "error"
            case ast.Attribute(attr=attr):
                return attr in FIELDS
            case ast.Name(name):
                return name in self._names
            case ast.Call(
                func=ast.Attribute(value=text, attr="strip" | "lstrip" | "rstrip" | "lower" | "casefold")
            ):
                return self._is_text(text)
            case ast.Subscript(value=text):
                return self._is_text(text)
        return False


def _is_wordy(node: ast.expr) -> bool:
    """Whether it holds a sentence, or a part of one."""
    strings = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return any(isinstance(each, str) and " " in each.strip() for each in strings)


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
    yield "<module>", tree


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """All of a function but the functions in it; of a module only what stands in none."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


if __name__ == "__main__":
    sys.exit(main())
