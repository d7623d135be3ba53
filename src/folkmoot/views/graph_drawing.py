"""The graph of agents for the page: boxes, arrows by kind, circles and problems marked. Pure geometry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from folkmoot.domain.agent import Sketch, Sketched
from folkmoot.domain.value import Value
from folkmoot.views.layout import Arrow, Layout, Size, Spot, closers, lay_out

KINDS = {
    "advisor": ("advise", "advisor", "advises, before"),
    "route": ("route", "transfer", "routes, instead of me"),
    "handoff": ("hand", "transfer", "hands off, after me"),
    "agent": ("call", "session", "calls, keeps the answer"),
    "member": ("teamed", "team", "member of its team"),
    "lead": ("teamed", "team", "leads its team"),
}
"""How each pattern is drawn: its line, its colour, and what it means."""
_LABELS = {
    "advisor": "advises",
    "route": "routes",
    "handoff": "hands off",
    "agent": "calls",
    "member": "member",
    "lead": "lead",
}
_WIDTH, _HEIGHT, _CHARACTER, _ROW = 150.0, 46.0, 7.2, 15.0
_BETWEEN, _RUN_IN = 118.0, 58.0
_GAP, _WIDE = 24.0, 900.0

Mark = Literal["", "bad", "doubtful"]


class Node(Value):
    agent: Sketched
    name: str
    sub: str
    """Its model; of a file that cannot be read: its path."""
    spot: Spot
    kind: str
    """The colour: of what others use it for."""
    tag: str
    """`router`, `lead`, …"""
    entry: bool
    """Nobody refers to it: runs begin here."""
    alone: bool
    """Nobody refers to it, and it refers to nobody."""
    mark: Mark


class Edge(Value):
    line: str
    pattern: str
    label: str
    at: tuple[float, float]
    """Where its label ends."""
    bad: bool
    """A part of a circle."""


class Drawing(Value):
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def drawing(sketch: Sketch) -> Drawing:
    files = {agent.file: agent for agent in sketch.agents}
    arrows = [Arrow(agent.file, to, pattern) for agent in sketch.agents for pattern, to in agent.links]
    used: dict[str, list[str]] = {file: [] for file in files}
    for arrow in arrows:
        used[arrow.end].append(arrow.label)
    order = sorted(files, key=lambda file: (bool(used[file]), file))
    sizes = {file: _size(file, len(used[file])) for file in order}
    alone = {file: sizes.pop(file) for file in order if not used[file] and not files[file].links}
    layout = _beside(lay_out(sizes, arrows, between=_BETWEEN, run_in=_RUN_IN), alone)
    circles = _circles(list(sizes), arrows)
    caught = {file for circle in circles for file in circle}
    return Drawing(
        width=layout.width,
        height=layout.height,
        nodes=tuple(
            _node(files[file], sketch, used[file], layout.spots[file], _mark(file, sketch, caught))
            for file in order
        ),
        edges=tuple(_edges(layout, circles)),
    )


def _size(file: str, arriving: int) -> Size:
    return Size(
        max(_WIDTH, len(_name(file)) * _CHARACTER + 60, len(file) * 6.5 + 26),
        max(_HEIGHT, arriving * _ROW + 8),
    )


def _beside(layout: Layout, alone: Mapping[str, Size]) -> Layout:
    """Those with whom nobody works stand below the others, in rows of one width."""
    if not alone:
        return layout
    width = max(size.width for size in alone.values()) + _GAP
    across = max(1, int((max(layout.width, _WIDE) - _GAP) // width))
    top = layout.height if layout.spots else _GAP
    spots = {
        file: Spot(
            _GAP + number % across * width, top + number // across * (_HEIGHT + _GAP), width - _GAP, _HEIGHT
        )
        for number, file in enumerate(alone)
    }
    return layout._replace(
        width=max(layout.width, *(spot.x + width for spot in spots.values())),
        height=max(spot.y for spot in spots.values()) + _HEIGHT + _GAP,
        spots={**layout.spots, **spots},
    )


def _name(file: str) -> str:
    return file.rpartition("/")[2].removesuffix(".ai")


def _circles(names: Sequence[str], arrows: Sequence[Arrow]) -> list[set[str]]:
    """The agents that wait for each other: all on the ways from where a circle is closed to where it was left."""
    onto: dict[str, list[str]] = {}
    of: dict[str, list[str]] = {}
    for arrow in arrows:
        onto.setdefault(arrow.start, []).append(arrow.end)
        of.setdefault(arrow.end, []).append(arrow.start)
    return [_reached(back.end, onto) & _reached(back.start, of) for back in closers(names, arrows)]


def _reached(start: str, steps: Mapping[str, Iterable[str]]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        new = set(steps.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached


def _node(agent: Sketched, sketch: Sketch, used: Sequence[str], spot: Spot, mark: Mark) -> Node:
    """`used`: in which ways others refer to it."""
    loaded = sketch.graph and sketch.graph.agents.get(agent.file)
    return Node(
        agent=agent,
        name=_name(agent.file),
        sub=loaded.models[0].ref if loaded and loaded.models else agent.file,
        spot=spot,
        kind=_kind(agent, used),
        tag=_tag(agent, used),
        entry=not used and bool(agent.links),
        alone=not used and not agent.links,
        mark=mark,
    )


def _kind(agent: Sketched, used: Sequence[str]) -> str:
    own = {pattern for pattern, _ in agent.links}
    if "member" in own or {"member", "lead"} & set(used):
        return "team"
    if "route" in own:
        return "transfer"
    return "advisor" if used and set(used) == {"advisor"} else "session"


def _tag(agent: Sketched, used: Sequence[str]) -> str:
    own = {pattern for pattern, _ in agent.links}
    tags = {"team": "member" in own, "router": "route" in own, "lead": "lead" in used}
    return next((tag for tag, fits in tags.items() if fits), "")


def _mark(file: str, sketch: Sketch, caught: set[str]) -> Mark:
    """`caught`: the agents in circles, of which the loader names one."""
    severities = {problem.severity for problem in sketch.problems if problem.file == file}
    if "error" in severities or file in caught:
        return "bad"
    return "doubtful" if severities else ""


def _edges(layout: Layout, circles: Sequence[set[str]]) -> Iterable[Edge]:
    for way in layout.ways:
        start, end, pattern = way.arrow
        label_at = (way.x - 10, way.y - 5) if not way.back else (way.x, way.y + 30)
        yield Edge(
            line=way.line,
            pattern=pattern,
            label=_LABELS[pattern],
            at=label_at,
            bad=any({start, end} <= circle for circle in circles),
        )
