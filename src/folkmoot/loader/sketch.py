"""A project as it stands on the disk, whether it can be loaded or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from folkmoot.domain.sketch import Sketch, Sketched
from folkmoot.errors import DeclarationError
from folkmoot.loader.draft import SUFFIX, Draft
from folkmoot.loader.findings import Findings
from folkmoot.loader.load import Loaded, read_drafts


def sketch(folder: Path, load: Callable[[], Loaded]) -> Sketch:
    """`load` gives the project or says what is wrong with it. A file of which nothing is understood is there too."""
    try:
        drafts = read_drafts(folder.resolve(), None, Findings())
    except DeclarationError:
        drafts = {}  # there are so many problems that reading was given up: they are all there is to show
    try:
        loaded = load()
        problems, graph = loaded.warnings, loaded.graph
    except DeclarationError as error:
        problems, graph = error.problems, None
    named = {to for draft in drafts.values() for _, to, _ in draft.links}
    named |= {problem.file for problem in problems if problem.file.endswith(SUFFIX)}
    agents = {file: Sketched(file) for file in named} | {
        file: _sketched(draft) for file, draft in drafts.items()
    }
    return Sketch(tuple(agents[file] for file in sorted(agents)), problems, graph)


def _sketched(draft: Draft) -> Sketched:
    said = draft.declared
    return Sketched(
        file=draft.file,
        description=said.description,
        role=said.role,
        capabilities=said.capabilities,
        links=tuple((link.pattern, link.to) for link in draft.links),
    )
