"""What this release checks but does not do yet; whoever builds one of these takes it out of the list."""

from __future__ import annotations

from msgspec.structs import fields

from folkmoot.domain.agent import Frontmatter
from folkmoot.loader.findings import Findings
from folkmoot.loader.nodes import Node, place_of

_STANDARD = Frontmatter()
KEYS = ("cache", "plugins", "tool_output")


def warn_of_unfinished(declared: Frontmatter, node: Node, findings: Findings) -> None:
    """One warning for each that is set to something."""
    written = {field.name: field.encode_name for field in fields(Frontmatter)}
    for name in KEYS:
        if getattr(declared, name) != getattr(_STANDARD, name):
            message = f"`{written[name]}` is checked, but this release does not do it yet"
            findings.warning(place_of(node, (written[name],)), message)
