"""Fails when something that people write or type is without a word: a key, an event, a command, an operation."""

import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from checks.files import ROOT
from checks.generate import below
from checks.structs import Row, all_rows
from folkmoot.domain.agent import Frontmatter
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.settings import Settings
from folkmoot.scenarios.scenario import ScenarioFile

_VARIABLE = re.compile(r"\bFOLKMOOT_[A-Z][A-Z_]*[A-Z]\b")


def undescribed() -> Iterator[str]:
    for name, struct in (
        ("agent file", Frontmatter),
        ("folkmoot.yaml", Settings),
        ("scenario", ScenarioFile),
    ):
        yield from keys(name, all_rows(struct))
    yield from events(EVENTS)
    for path, command in below(get_command(importlib.import_module("folkmoot.cli.main").app), "folkmoot"):
        yield from commands(path, command)
    yield from operations(importlib.import_module("folkmoot.http.openapi").get_openapi_document())
    page = (ROOT / "docs" / "reference" / "environment.md").read_text()
    yield from variables(ROOT / "src", page)


def keys(name: str, rows: Iterable[Row]) -> Iterator[str]:
    return (f"{name}: the key {row.key!r} has no line beneath it" for row in rows if not row.meaning)


def events(catalogue: dict[str, Any]) -> Iterator[str]:
    return (f"the event {name!r} has no docstring" for name, event in catalogue.items() if not event.__doc__)


def commands(path: str, command: Any) -> Iterator[str]:
    """A single command shows how it is used; a group has that in its commands."""
    if not command.help:
        yield f"`{path}` has no help"
    elif not hasattr(command, "list_commands") and "xample" not in command.help:
        yield f"`{path}` shows no example"
    for param in command.params:
        if not getattr(param, "hidden", False) and not param.help:
            yield f"`{path}`: {param.name} has no help"


def variables(code: Path, page: str) -> Iterator[str]:
    """What the code itself reads; those that stand for a key are generated."""
    read = {name for path in code.rglob("*.py") for name in _VARIABLE.findall(path.read_text())}
    return (
        f"the variable {name} is not on the page of variables" for name in sorted(read) if name not in page
    )


def operations(document: Any) -> Iterator[str]:
    """What a path names is clear from the path."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if not operation.get("summary"):
                yield f"{method.upper()} {path} has no summary"
            for given in operation.get("parameters", ()):
                if given["in"] == "query" and not given.get("description"):
                    yield f"{method.upper()} {path}: {given['name']} has no line beneath it"
