"""Split one `.ai` file into its declaration and its prompt."""

from __future__ import annotations

from typing import NamedTuple

from folkmoot.loader.findings import Findings, Place

_FENCE = "---"


class Parts(NamedTuple):
    declaration: str
    start: Place
    """Where the declaration begins."""
    prompt: str


def split(text: str, file: str, findings: Findings) -> Parts | None:
    """None after saying what is wrong."""
    lines = text.split("\n")
    opening = 1 if lines[0].startswith("#!") else 0
    while opening < len(lines) and not lines[opening].strip():
        opening += 1
    if opening == len(lines) or lines[opening].rstrip() != _FENCE:
        findings.error(
            Place(file, min(opening + 1, len(lines))),
            "the frontmatter is missing; an agent file begins with a line `---`, its keys such as "
            "`description: …`, and another line `---`; then comes the prompt",
            "bad_frontmatter",
        )
        return None
    closing = next((n for n in range(opening + 1, len(lines)) if lines[n].rstrip() == _FENCE), None)
    if closing is None:
        findings.error(
            Place(file, opening + 1),
            "this `---` is never closed; put a line `---` before the prompt",
            "bad_frontmatter",
        )
        return None
    declaration = "\n".join(lines[opening + 1 : closing])
    prompt = "\n".join(lines[closing + 1 :]).replace("\r\n", "\n").strip()
    return Parts(declaration, Place(file, opening + 2), prompt)
