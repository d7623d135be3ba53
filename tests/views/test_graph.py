import xml.etree.ElementTree as ElementTree

import pytest

from folkmoot.domain.agent import Agent, Graph, Team
from folkmoot.views.graph import mermaid, roots, svg, text


def agent(file, **declared):
    return Agent(id=file.rpartition("/")[2].removesuffix(".ai"), file=file, prompt="x", **declared)


def graph(*agents):
    return Graph(agents={each.file: each for each in agents})


DESK = graph(
    agent("front.ai", advisors=("fraud.ai",), destinations=("billing.ai", "sales.ai"), handoff="archive.ai"),
    agent("fraud.ai", agents=("lookup.ai",)),
    agent("billing.ai", agents=("fraud.ai",)),
    agent("sales.ai", team=Team(members=("east.ai",), supervisor="chief.ai")),
    *(agent(file) for file in ("lookup.ai", "archive.ai", "east.ai", "chief.ai", "lonely.ai")),
)


def test_the_tree_names_the_pattern_of_each_edge_and_unfolds_each_agent_once():
    assert text(DESK) == (
        "front.ai\n"
        "├─ advisor fraud.ai\n"
        "│  └─ agent lookup.ai\n"
        "├─ route billing.ai\n"
        "│  └─ agent fraud.ai …\n"
        "├─ route sales.ai\n"
        "│  ├─ member east.ai\n"
        "│  └─ lead chief.ai\n"
        "└─ handoff archive.ai\n"
        "lonely.ai\n"
    )


def test_runs_begin_at_agents_that_nobody_refers_to():
    assert roots(DESK) == ["front.ai", "lonely.ai"]


def test_the_flowchart_labels_its_edges_and_rounds_what_is_terminal():
    """A-14, A-20."""
    chain = graph(agent("a.ai", handoff="b.ai"), agent("b.ai", team=Team(members=("c.ai",))), agent("c.ai"))

    assert mermaid(chain) == (
        "flowchart LR\n"
        '  a0["a.ai"]\n'
        '  a1(["b.ai"])\n'
        '  a2["c.ai"]\n'
        "  a0 -->|handoff| a1\n"
        "  a1 -->|member| a2\n"
    )


def test_the_drawing_has_a_box_for_each_agent_and_a_label_for_each_edge():
    root = ElementTree.fromstring(svg(DESK))

    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]

    assert set(texts) >= set(DESK.agents)
    assert sorted(t for t in texts if t in ("advisor", "agent", "route", "member", "lead", "handoff")) == [
        "advisor", "agent", "agent", "handoff", "lead", "member", "route", "route",
    ]  # fmt: skip


def test_boxes_do_not_overlap():
    root = ElementTree.fromstring(svg(DESK))

    boxes = [
        tuple(float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        for element in root.iter("{http://www.w3.org/2000/svg}rect")
        if "rx" in element.attrib
    ]

    assert len(boxes) == len(DESK.agents)
    for number, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[:number]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height


@pytest.mark.parametrize("folder", ['a"b', "<script>alert(1)</script>", "a&b", "a#b", "a'b"])
def test_names_are_escaped(folder):
    strange = graph(agent(f"{folder}/x.ai"))

    root = ElementTree.fromstring(svg(strange))

    assert f"{folder}/x.ai" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script" not in svg(strange)
    assert "<script" not in mermaid(strange)
    assert mermaid(strange).count('"') == 2


def test_nothing_at_all_can_be_drawn():
    empty = graph()

    assert text(empty) == ""
    assert mermaid(empty) == "flowchart LR\n"
    assert ElementTree.fromstring(svg(empty)) is not None


def test_a_long_chain_is_drawn():
    chain = graph(*(agent(f"a{n}.ai", handoff=f"a{n + 1}.ai") for n in range(900)), agent("a900.ai"))

    assert text(chain).count("\n") == 901
    assert svg(chain).count("<rect") == 902
