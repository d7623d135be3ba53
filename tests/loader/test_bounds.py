import pytest

from folkmoot.loader.bounds import COUNTLESS, worst_case
from tests.loader.making import loaded

ONE = "maxTurns: 1\nmaxRetries: 1\n"


def bound(folder, files, of="a.ai", settings="models: {default: openai/gpt-5-mini}\n"):
    return worst_case(loaded(folder, {**files, "folkmoot.yaml": settings}).graph, of)


def test_an_agent_alone_makes_its_turns_times_its_attempts(tmp_path):
    assert bound(tmp_path, {"a.ai": "maxTurns: 4\nmaxRetries: 2"}) == 8


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("advisors: [b.ai, c.ai]", 1 + 10 + 20),
        ("router: {destinations: [b.ai, c.ai]}", 1 + 20),
        ("handoff: c.ai", 1 + 20),
        ("team: {members: [b.ai], supervisor: c.ai}", 10 + 20),
        ("team: {members: [b.ai], memberMaxTurns: 3}", 1 + 3),
        ("team: {members: [b.ai], supervisor: c.ai, supervisorMaxTurns: 2}", 10 + 2),
        ("advisors: [b.ai]\nrouter: {destinations: [b.ai, c.ai]}\nhandoff: c.ai", 1 + 10 + 20 + 20),
        ("agents: [b.ai, c.ai]", 1),
    ],
)
def test_each_pattern_adds_what_it_can_start(tmp_path, declared, expected):
    files = {
        "a.ai": ONE + declared,
        "b.ai": "maxTurns: 10\nmaxRetries: 1",
        "c.ai": "maxTurns: 20\nmaxRetries: 1",
    }

    assert bound(tmp_path, files) == expected


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("router: {destinations: [b.ai]}\nmaxTurns: 3\nmaxRetries: 1", 1 + 3 + 3 * 10),
        (ONE + "team: {members: [b.ai]}", 1 + 1 + 10),
        (ONE + "team: {members: [b.ai], supervisor: c.ai, supervisorMaxTurns: 2}", 1 + 10 + 2 + 2 * 10),
    ],
)
def test_a_member_may_route_in_every_turn_and_its_team_goes_on_over_all_cycles(tmp_path, member, expected):
    """A-30, O-48."""
    files = {
        "a.ai": ONE + "team: {members: [m.ai]}",
        "m.ai": member,
        "b.ai": "maxTurns: 10\nmaxRetries: 1",
        "c.ai": "maxTurns: 20\nmaxRetries: 1\nrouter: {destinations: [b.ai]}",
    }

    assert bound(tmp_path, files) == expected


@pytest.mark.parametrize(("children", "expected"), [(20, 3 + 2 * 4 * 5), (6, 3 + 6 * 5)])
def test_agents_as_tools_are_called_in_every_turn_but_the_last(tmp_path, children, expected):
    files = {
        "a.ai": "maxTurns: 3\nmaxRetries: 1\nmaxToolCallsPerTurn: 4\nagents: [b.ai]",
        "b.ai": "maxTurns: 5\nmaxRetries: 1",
    }
    settings = f"models: {{default: openai/gpt-5-mini}}\nlimits: {{childrenPerParent: {children}}}"

    assert bound(tmp_path, files, settings=settings) == expected


def test_a_budget_of_requests_caps_what_is_below_it(tmp_path):
    files = {"a.ai": ONE + "handoff: b.ai", "b.ai": "maxTurns: 100\nbudget: {requests: 7}"}

    assert bound(tmp_path, files) == 8
    assert bound(tmp_path, files, settings="models: {default: openai/gpt-5-mini}\nbudget: {requests: 5}") == 5


def test_counting_stops_somewhere(tmp_path):
    files = {f"a{n}.ai": f"agents: [a{n + 1}.ai]\nmaxTurns: 100" for n in range(40)} | {"a40.ai": ONE}

    assert bound(tmp_path, files, of="a0.ai") == COUNTLESS


def test_many_ways_to_one_agent_are_counted_once_each_and_quickly(tmp_path):
    files = {f"a{n}.ai": ONE + f"advisors: [a{n + 1}.ai]\nhandoff: a{n + 1}.ai" for n in range(20)} | {
        "a20.ai": ONE
    }

    assert bound(tmp_path, files, of="a0.ai") == 2**21 - 1


def test_where_agents_may_call_any_other_the_costliest_is_called_down_to_the_depth(tmp_path):
    """B-25: the bound says what the limits allow."""
    files = {"a.ai": "maxTurns: 2\nmaxRetries: 1", "b.ai": "maxTurns: 5\nmaxRetries: 1", "c.ai": ONE}
    settings = "models: {default: openai/gpt-5-mini}\norchestration: {enable_agent_tool: true}\n"
    limits = "limits: {callDepth: 3, childrenPerParent: 4}\n"

    assert bound(tmp_path, files, settings=settings + limits) == 2 + 4 * (5 + 4 * 5)
    assert bound(tmp_path, files, "c.ai", settings=settings + limits) == 1
    assert bound(tmp_path, files, settings=settings + limits + "budget: {requests: 9}\n") == 9


def test_an_agent_that_writes_to_others_may_have_the_costliest_of_them_work_as_often_as_it_may_call(tmp_path):
    """E-71: only who writes passes on, never to itself, and no further than the hops and the depth."""
    files = {"a.ai": "maxTurns: 2\nmaxRetries: 1\ntools: [messages]", "b.ai": "maxTurns: 5\nmaxRetries: 1"}
    settings = "models: {default: openai/gpt-5-mini}\nlimits: {childrenPerParent: 4}\n"
    assert bound(tmp_path, files, settings=settings) == 2 + 4 * 5

    files["b.ai"] += "\ntools: [a2a_send]"
    limits = settings.replace("4}", "4, a2aHops: 1, callDepth: 2}")
    assert bound(tmp_path, files, settings=limits) == 2 + 4 * (5 + 4 * 2)
