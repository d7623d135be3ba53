"""One scenario with everything that is needed to play it, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from folkmoot.loader.findings import Place
from folkmoot.loader.nodes import MapNode, place_of
from folkmoot.loader.nodes import Path as Keys
from folkmoot.models.script import Script
from folkmoot.scenarios.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Case:
    scenario: Scenario
    """With what its file says for all."""
    file: Path
    project: Path
    node: MapNode
    script: Script | None = None
    recorded: Path | None = None
    live: bool = False

    @property
    def place(self) -> Place:
        return self.node.place

    @property
    def shown(self) -> str:
        """The file as it is called in messages."""
        return self.place.file

    def place_of(self, keys: Keys) -> Place:
        """Where something of the scenario stands, or the nearest thing around it."""
        return place_of(self.node, keys)
