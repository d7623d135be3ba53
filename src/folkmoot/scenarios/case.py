"""One scenario with everything that is needed to play it, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from folkmoot.loader.findings import Place
from folkmoot.loader.nodes import MapNode, Node, find, place_of
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
    whole: Node
    """All of its file, which may say something for it."""
    script: Script | None = None
    recorded: Path | None = None
    live: bool = False

    @property
    def place(self) -> Place:
        return self.node.place

    @property
    def needs_model(self) -> bool:
        """Nobody answers but a real one."""
        return self.live and not self.script and not self.recorded

    @property
    def shown(self) -> str:
        """The file as it is called in messages."""
        return self.place.file

    def place_of(self, keys: Keys) -> Place:
        """Where something of the scenario stands, or the nearest thing around it."""
        own = find(self.node, keys[:1]) is not None or find(self.whole, keys[:1]) is None
        return place_of(self.node if own else self.whole, keys)
