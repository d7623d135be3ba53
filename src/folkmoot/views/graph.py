"""Who calls whom, for people: as a tree of text, as a Mermaid flowchart, as an SVG drawing."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.domain.agent import Graph
from folkmoot.views.drawing import draw
from folkmoot.views.layout import Arrow


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
