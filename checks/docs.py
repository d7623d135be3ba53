"""Fails when a document lies: a generated part that differs from the code, a dead link, an overlong map; or when
something has no document: a page that nobody finds, a key without a word.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; `./dev docs` renews it.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from checks.described import undescribed
from checks.files import ROOT, project_files
from checks.generate import GENERATORS
from checks.pages import faults as faults_of
from checks.pages import leads_nowhere
from folkmoot.site.pages import INDEX, read_documentation
from folkmoot.site.remedies import STATUSES, STOPPED, TABLE

MAP_LIMIT = 200
_PART = re.compile(r"(<!-- generated: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(<?([^)#\s>]+)[^)]*\)")
_OUTSIDE = re.compile(r"[a-z][a-z+.-]*:")

Generators = Mapping[str, Callable[[], str]]


def main(
    arguments: list[str],
    root: Path = ROOT,
    generators: Generators = GENERATORS,
    described: Callable[[], Iterable[str]] = undescribed,
) -> int:
    pages = [path for path in project_files(root) if path.suffix == ".md"]
    if arguments == ["--write"]:
        for page in pages:
            page.write_text(renewed(page.read_text(), generators))
    faults = [*parts_out_of_date(pages, root, generators), *dead_links(pages, root), *overlong_map(root)]
    faults += [*wrong_pages(root), *unknown_help(root), *described()]
    print("\n".join(faults) or "documents match the code")
    return 1 if faults else 0


def renewed(text: str, generators: Generators) -> str:
    """The page with each generated part made anew; a part that nobody generates stays as it is."""

    def replace(part: re.Match[str]) -> str:
        start, name, end = part.groups()
        return f"{start}\n{generators[name]().strip()}\n\n{end}" if name in generators else part[0]

    return _PART.sub(replace, text)


def parts_out_of_date(pages: list[Path], root: Path, generators: Generators) -> Iterator[str]:
    shown: set[str] = set()
    for page in pages:
        text, name = page.read_text(), page.relative_to(root)
        shown |= {part[2] for part in _PART.finditer(text)}
        if renewed(text, generators) != text:
            yield f"{name}: a generated part differs from the code: run ./dev docs"
    for part in sorted(shown ^ set(generators)):
        yield f"generated part {part!r} " + ("has no page" if part in generators else "has no generator")


def dead_links(pages: list[Path], root: Path) -> Iterator[str]:
    for page in pages:
        for target in _LINK.findall(_FENCE.sub("", page.read_text())):
            if not _OUTSIDE.match(target) and not (page.parent / target).exists():
                yield f"{page.relative_to(root)}: the link to {target!r} leads nowhere"


def wrong_pages(root: Path) -> list[str]:
    """Pages that the contents leave out, anchors that are not there, code without a language."""
    folder = root / "docs"
    return (
        [f"docs/{fault}" for fault in faults_of(read_documentation(folder))] if _has_contents(folder) else []
    )


def unknown_help(root: Path) -> Iterator[str]:
    """What an error message leads to must be there."""
    if not _has_contents(root / "docs"):
        return
    library = read_documentation(root / "docs")
    topics = [*TABLE.values(), *STOPPED.values(), *STATUSES.values()]
    for topic in filter(None, topics):
        if missing := leads_nowhere(library, topic):
            yield f"remedies: an error leads to {topic!r}: {missing}"


def _has_contents(folder: Path) -> bool:
    return (folder / f"{INDEX}.md").exists()


def overlong_map(root: Path) -> Iterator[str]:
    path = root / "ARCHITECTURE.md"
    if not path.exists():
        yield "ARCHITECTURE.md is missing"
    elif (lines := len(path.read_text().splitlines())) > MAP_LIMIT:
        yield f"ARCHITECTURE.md has {lines} lines; a map has at most {MAP_LIMIT}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
