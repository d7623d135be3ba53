"""The texts of the documentation, and what each page needs beside a folder to be played in."""

from checks.files import ROOT

DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))}
GUIDES = {name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")}
"""What is read outside of the documentation."""

WITH_DATABASE = ("postgresql.md", "workers.md")
WITH_KEY = ("models.md", "quickstart.md", "testing.md")
MOVING = tuple(name for name in PAGES if name.startswith("moving-from-"))
_APART = {"mcp-server.md", "tutorial.md", *WITH_DATABASE, *WITH_KEY, *MOVING}
SERVED = tuple(name for name, text in PAGES.items() if "<!-- serve -->" in text and name not in _APART)
"""Their reader starts a server of ours and asks it, and nothing else."""
ALONE = tuple(name for name in PAGES if name not in {*_APART, *SERVED})
