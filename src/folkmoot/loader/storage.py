"""Where a project keeps its journal, whatever state the rest of the project is in: its past must stay readable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from folkmoot.domain.settings import Settings, Storage
from folkmoot.loader.files import SETTINGS
from folkmoot.loader.findings import Findings, Location

_KEY, _VARIABLES = "storage", ("FOLKMOOT_STORAGE_URL", "FOLKMOOT_STORAGE_PROJECT")


def storage_of(folder: Path, env: Mapping[str, str]) -> Storage:
    """Raises `DeclarationError` if what is said about it is wrong; what is said about other things is not looked at."""
    said = {name: env[name] for name in _VARIABLES if name in env}
    file = folder / SETTINGS
    if not said and not (file.is_file() and _KEY.encode() in file.read_bytes()):
        return Storage()
    return _declared(folder.resolve(), said)


def _declared(root: Path, env: Mapping[str, str]) -> Storage:
    from folkmoot.loader.load import settings_node
    from folkmoot.loader.nodes import MapNode
    from folkmoot.loader.options import ProjectSettings, above_files, settings_with
    from folkmoot.loader.settings import check_storage
    from folkmoot.loader.walk import declared

    findings = Findings()
    node = settings_node(root, findings)
    entries = node.entries if isinstance(node, MapNode) else ()
    only = MapNode(Location(SETTINGS), tuple(entry for entry in entries if entry[0].text == _KEY))
    above = above_files(env, {}, findings)
    project = ProjectSettings(settings_with(declared(only, Settings, findings), above), only, above)
    check_storage(project, findings)
    findings.settle()
    return project.settings.storage
