"""Who calls whom: as a tree of text, a Mermaid flowchart, an SVG file, and as the drawing on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Literal

from folkmoot.domain.agent import Graph, Sketch, Sketched
from folkmoot.domain.value import Value
from folkmoot.views.layout import Arrow, Layout, Size, Spot, Way, closers, lay_out


def text(graph: Graph) -> str:
    """A tree under each agent that no other refers to; what stood before is not unfolded again."""
    shown: set[str] = set()
    return "".join(f"{line}\n" for file in roots(graph) for line in _tree(graph, file, shown))


def mermaid(graph: Graph) -> str:
    """Rounded are the agents whose own report is an answer."""
    names = {file: f"a{number}" for number, file in enumerate(sorted(graph.agents))}
    lines = ["flowchart LR"]
    for file, name in names.items():
        opening, closing = ("([", "])") if graph.terminal(file) else ("[", "]")
        lines.append(f'  {name}{opening}"{_mermaid_text(file)}"{closing}')
    for file, name in names.items():
        lines += [f"  {name} -->|{pattern}| {names[to]}" for pattern, to in graph.agents[file].edges]
    return "\n".join(lines) + "\n"


def svg(graph: Graph) -> str:
    """A whole document without scripts or outside references."""
    boxes = {file: graph.terminal(file) for file in [*roots(graph), *sorted(graph.agents)]}
    arrows = [Arrow(file, to, pattern) for file in boxes for pattern, to in graph.agents[file].edges]
    return draw(boxes, arrows, "Green with a bold border: its own report may be the answer.")


def roots(graph: Graph) -> list[str]:
    """The agents that nobody refers to: where runs begin."""
    below = {to for agent in graph.agents.values() for _, to in agent.edges}
    return sorted(graph.agents.keys() - below)


def _tree(graph: Graph, root: str, shown: set[str]) -> Iterator[str]:
    waiting = [(root, "", "", "")]
    while waiting:
        file, pattern, branch, indent = waiting.pop()
        edges = graph.agents[file].edges
        folded = " …" if edges and file in shown else ""
        remote = graph.agents[file].remote
        yield f"{branch}{pattern}{file}{f' at {remote.url}' if remote else ''}{folded}"
        shown.add(file)
        for number, (kind, to) in enumerate(() if folded else reversed(edges)):
            corner, bar = ("└─ ", "   ") if number == 0 else ("├─ ", "│  ")
            waiting.append((to, f"{kind} ", indent + corner, indent + bar))


def _mermaid_text(file: str) -> str:
    return file.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


_COLOURS = {
    "advisor": "#7c3aed",
    "agent": "#0f766e",
    "member": "#b45309",
    "lead": "#be123c",
    "route": "#1d4ed8",
    "handoff": "#15803d",
}
_MARGIN, _BETWEEN_COLUMNS = 24, 130
_SVG_ROW, _SVG_CHARACTER, _LABEL = 20, 7.3, 62


def draw(boxes: Mapping[str, bool], arrows: Sequence[Arrow], caption: str) -> str:
    """`boxes` by name, true for those to be stressed."""
    arriving = Counter(arrow.end for arrow in arrows)
    sizes = {
        name: Size(len(name) * _SVG_CHARACTER + 24, _SVG_ROW * max(1, arriving[name]) + 12) for name in boxes
    }  # a box is as high as its arriving arrows need
    layout = lay_out(sizes, arrows, between=_BETWEEN_COLUMNS, run_in=_LABEL)
    width = max(layout.width, len(caption) * 6.1 + 2 * _MARGIN)
    height = layout.height + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="ui-monospace, Menlo, monospace" font-size="12">',
        "<title>Who calls whom</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *map(_arrow, layout.ways),
        *(_box(name, stressed, layout.spots[name]) for name, stressed in boxes.items()),
        f'<text x="{_MARGIN}" y="{height - 12:.0f}" font-size="10" fill="#475569">{escape(caption)}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrow(way: Way) -> str:
    label = way.arrow.label
    colour = _COLOURS.get(label, "#444444")
    return (
        f'<path d="{way.line}" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        f'<path d="M{way.x:.1f},{way.y:.1f} l-8,-4 v8 z" fill="{colour}"/>'
        f'<text x="{way.x - 11:.1f}" y="{way.y - 4:.1f}" font-size="10" text-anchor="end" '
        f'fill="{colour}">{escape(label)}</text>'
    )


def _box(name: str, stressed: bool, spot: Spot) -> str:
    fill, border = ("#ecfdf5", 2) if stressed else ("#f8fafc", 1)
    x, y = spot.x + spot.width / 2, spot.middle + 4
    return (
        f'<rect x="{spot.x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="6" '
        f'fill="{fill}" stroke="#334155" stroke-width="{border}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="#0f172a">{escape(name)}</text>'
    )


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
