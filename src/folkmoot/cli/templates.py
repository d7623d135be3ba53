"""The projects that `folkmoot init` can make; all but the first are examples of the repository too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from folkmoot.errors import NotFound

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Template(NamedTuple):
    line: str
    """What one gets, for the list."""
    agent: str
    request: str
    """What it may be asked first."""


DEFAULT = "desk"
TEMPLATES: Mapping[str, Template] = {
    DEFAULT: Template(
        "a front desk with an advisor, one desk behind it, and an editor who answers last",
        "front-desk.ai",
        "I was charged twice for order 1042.",
    ),
    "support-desk": Template(
        "a router, two desks behind it, and a refund that a person approves",
        "support.ai",
        "I was charged twice for order 1042.",
    ),
    "review-team": Template(
        "three reviewers who work at the same time, under a supervisor who asks back",
        "review.ai",
        "May this be merged?",
    ),
    "research": Template(
        "agents that read sources, and claims that are checked against what was read",
        "research.ai",
        "Can we do without the paper catalogue?",
    ),
    "planner-executor": Template(
        "a plan under contract: who plans has no tools, who acts reads nothing but the plan",
        "inspector.ai",
        "Was order 1042 charged twice, and was it paid back?",
    ),
}


def template_named(name: str) -> Template:
    if name not in TEMPLATES:
        raise NotFound(
            f"there is no template {name!r}; there are {', '.join(TEMPLATES)}", code="template_not_found"
        )
    return TEMPLATES[name]


def files_of(name: str) -> Mapping[str, str]:
    """The text of each file, by its path in the project; what a run has left beside them is left out."""
    source = _SCAFFOLD / name
    paths = {
        path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if path.is_file()
    }
    kept = {place: path.read_text("utf-8") for place, path in paths.items() if not _left_by_a_run(place)}
    return {".gitignore": ignored(), **kept}


def ignored() -> str:
    """For a `.gitignore`; under that name, git would obey it in our own repository."""
    return (_SCAFFOLD / "gitignore").read_text("utf-8")


def _left_by_a_run(place: str) -> bool:
    return any(part.startswith((".", "__")) for part in place.split("/"))
