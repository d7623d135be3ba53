"""Who calls whom, for people: as a tree of text, as a Mermaid flowchart, as an SVG drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from folkmoot.domain.agent import Graph
from folkmoot.views.layout import Arrow, Size, Spot, Way, lay_out


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
_ROW, _CHARACTER, _LABEL = 20, 7.3, 62


def draw(boxes: Mapping[str, bool], arrows: Sequence[Arrow], caption: str) -> str:
    """`boxes` by name, true for those to be stressed."""
    arriving = Counter(arrow.end for arrow in arrows)
    sizes = {
        name: Size(len(name) * _CHARACTER + 24, _ROW * max(1, arriving[name]) + 12) for name in boxes
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
