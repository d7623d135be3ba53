"""The graph of agents as the page draws it."""

from folkmoot.domain.agent import Sketch, Sketched
from folkmoot.errors import Problem
from folkmoot.views.graph import drawing


def drawn(links, problems=()):
    agents = {file for file in links} | {to for each in links.values() for _, to in each}
    sketched = tuple(Sketched(file, links=tuple(links.get(file, ()))) for file in sorted(agents))
    return drawing(Sketch(sketched, tuple(problems)))


def nodes(drawing):
    return {node.agent.file: node for node in drawing.nodes}


def test_whoever_is_referred_to_stands_to_the_right_and_no_two_boxes_overlap():
    links = {
        "a.ai": [("route", "b.ai"), ("route", "c.ai")],
        "b.ai": [("handoff", "d.ai")],
        "c.ai": [("agent", "d.ai")],
    }

    spots = {file: node.spot for file, node in nodes(drawn(links)).items()}

    assert spots["a.ai"][0] < spots["b.ai"][0] == spots["c.ai"][0] < spots["d.ai"][0]
    (_, top, _, height), (_, other, _, _) = sorted((spots["b.ai"], spots["c.ai"]), key=lambda spot: spot[1])
    assert top + height < other


def test_a_circle_is_drawn_whole_and_every_part_of_it_is_marked():
    circle = {"desk.ai": [("route", "a.ai")], "a.ai": [("handoff", "b.ai")], "b.ai": [("handoff", "a.ai")]}

    found = drawn(circle)

    assert [edge.bad for edge in found.edges if edge.pattern == "handoff"] == [True, True]
    assert [edge.bad for edge in found.edges if edge.pattern == "route"] == [False]
    assert {file: node.mark for file, node in nodes(found).items()} == {
        "desk.ai": "",
        "a.ai": "bad",
        "b.ai": "bad",
    }


def test_an_agent_that_names_itself_is_a_circle_too():
    found = drawn({"a.ai": [("agent", "a.ai")]})

    assert [edge.bad for edge in found.edges] == [True]
    assert all(0 <= each <= found.width for each in nodes(found)["a.ai"].spot)


def test_agents_are_marked_by_the_worst_that_is_wrong_with_them():
    problems = [
        Problem(file="a.ai", message="unreachable", severity="warning"),
        Problem(file="a.ai", message="unknown key"),
        Problem(file="b.ai", message="unreachable", severity="warning"),
    ]

    found = nodes(drawn({"a.ai": [], "b.ai": [], "c.ai": []}, problems))

    assert {file: node.mark for file, node in found.items()} == {
        "a.ai": "bad",
        "b.ai": "doubtful",
        "c.ai": "",
    }


def test_the_colour_says_what_others_use_an_agent_for():
    links = {
        "desk.ai": [("advisor", "fraud.ai"), ("route", "billing.ai")],
        "team.ai": [("member", "m.ai"), ("lead", "l.ai")],
    }

    found = nodes(drawn(links))

    assert {file: (node.kind, node.tag, node.entry) for file, node in found.items()} == {
        "desk.ai": ("transfer", "router", True),
        "fraud.ai": ("advisor", "", False),
        "billing.ai": ("session", "", False),
        "team.ai": ("team", "team", True),
        "m.ai": ("team", "", False),
        "l.ai": ("team", "lead", False),
    }


def test_without_agents_there_is_nothing_to_draw():
    assert drawn({}).nodes == ()
