"""Fails on what must not be published: paths of one machine, package indexes, keys, loose ends."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.files import ROOT, project_files

EVERYWHERE = {
    "a path of one machine": re.compile(r"(?<![\w.~)}-])/(?:work|root|farm)/"),
    "a package index": re.compile(
        r"pypi\.org|pythonhosted\.org|registry\.npmjs|\s--(?:extra-index-url|index-url|find-links)\b"
    ),
    "what looks like a secret key": re.compile(
        r"\b(?:sk|xox[abp])-[\w-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[opsu]_\w{30,}|BEGIN [A-Z ]*PRIVATE KEY"
    ),
}
IN_SOURCE = {"a loose end": re.compile(r"\b(?:TODO|FIXME|XXX)\b")}


def main(root: Path = ROOT) -> int:
    faults = [fault for path in project_files(root) for fault in faults_of(path, root)]
    print("\n".join(faults) or "clean")
    return 1 if faults else 0


def faults_of(path: Path, root: Path) -> Iterator[str]:
    """Each fault as `file:line: what`; never the text itself, which may be a secret."""
    name = path.relative_to(root).as_posix()
    patterns = EVERYWHERE | IN_SOURCE if name.startswith("src/") else EVERYWHERE
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        for what, pattern in patterns.items():
            if pattern.search(line):
                yield f"{name}:{number}: {what}"


if __name__ == "__main__":
    sys.exit(main())
