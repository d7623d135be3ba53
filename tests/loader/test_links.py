import pytest

from tests.loader.making import error, errors, loaded, problems

PLAIN = "description: plain"
JSON_IN = "input: {format: json}"
JSON_OUT = "output: {format: json}"


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"a.ai": "handoff: b.ai", "b.ai": "handoff: c.ai", "c.ai": "handoff: a.ai"}, "a.ai -> b.ai -> c.ai -> a.ai"),
        ({"a.ai": "handoff: r.ai", "r.ai": "router: {destinations: [a.ai]}"}, "a.ai -> r.ai -> a.ai"),
        ({"t.ai": "team: {members: [t.ai]}"}, "t.ai -> t.ai"),
        ({"t.ai": "team: {members: [m.ai]}", "m.ai": "team: {members: [t.ai]}"}, "m.ai -> t.ai -> m.ai"),
        ({"t.ai": "team: {members: [m.ai], supervisor: s.ai}", "m.ai": PLAIN, "s.ai": "agents: [t.ai]"}, "s.ai -> t.ai -> s.ai"),
        ({"a.ai": "advisors: [a.ai]"}, "a.ai -> a.ai"),
        ({"a.ai": "advisors: [b.ai]", "b.ai": "advisors: [c.ai]", "c.ai": "advisors: [a.ai]"}, "a.ai -> b.ai -> c.ai -> a.ai"),
        ({"a.ai": "agents: [b.ai]", "b.ai": "agents: [a.ai]"}, "a.ai -> b.ai -> a.ai"),
        (
            {"a.ai": "advisors: [b.ai]", "b.ai": "router: {destinations: [c.ai]}", "c.ai": "handoff: d.ai", "d.ai": "agents: [a.ai]"},
            "a.ai -> b.ai -> c.ai -> d.ai -> a.ai",
        ),
    ],
)  # fmt: skip
def test_no_agent_waits_for_itself_whatever_the_patterns_on_the_way(tmp_path, files, path):
    """A-8, A-9, A-107, O-34."""
    message = error(tmp_path, files)

    assert f"agents wait for each other: {path}; take one of these references out" in message


def test_a_cycle_is_shown_at_the_reference_that_closes_it(tmp_path):
    """A-8."""
    [problem] = problems(
        tmp_path,
        {
            "a.ai": "handoff: sub/b.ai",
            "sub/b.ai": "description: b\nagents: [c.ai, ../a.ai]",
            "sub/c.ai": PLAIN,
        },
    )

    assert (problem.file, problem.line, problem.column) == ("sub/b.ai", 3, 16)


def test_every_cycle_is_reported(tmp_path):
    """A-8, A-10."""
    files = {
        "a.ai": "handoff: b.ai",
        "b.ai": "advisors: [a.ai]",
        "c.ai": "handoff: d.ai",
        "d.ai": "handoff: c.ai",
    }

    assert len(errors(tmp_path, files)) == 2


def test_the_same_agent_on_two_ways_is_no_cycle(tmp_path):
    """A-8."""
    files = {
        "a.ai": "handoff: d.ai\nadvisors: [b.ai]\nrouter: {destinations: [c.ai]}",
        "b.ai": "agents: [d.ai]",
        "c.ai": "handoff: d.ai",
        "d.ai": PLAIN,
    }

    assert len(loaded(tmp_path, files).graph.agents) == 4


def test_a_chain_of_hundreds_is_walked(tmp_path):
    """A-8, A-43."""
    files = {f"a{n}.ai": f"handoff: a{n + 1}.ai" for n in range(500)} | {"a500.ai": PLAIN}

    assert len(loaded(tmp_path, files).graph.agents) == 501
    assert "a500.ai -> a0.ai" in error(tmp_path, files | {"a500.ai": "handoff: a0.ai"})


def test_the_team_file_may_supervise_its_team_itself(tmp_path):
    """O-4."""
    team = (
        loaded(tmp_path, {"t.ai": "team: {members: [m.ai], supervisor: t.ai}", "m.ai": PLAIN})
        .graph.agents["t.ai"]
        .team
    )

    assert team is not None
    assert team.supervisor is None


def test_a_member_with_a_handoff_is_refused_in_its_own_file(tmp_path):
    """A-11, A-107, O-1."""
    files = {
        "t.ai": "team: {members: [m.ai]}\nhandoff: last.ai",
        "m.ai": "description: m\nhandoff: last.ai",
        "last.ai": PLAIN,
    }

    message = error(tmp_path, files)

    assert message.startswith("m.ai:3:10: this agent is a member of the team of 't.ai'")


def test_the_supervisor_and_the_team_file_may_hand_off(tmp_path):
    """A-107, O-1."""
    files = {
        "t.ai": "team: {members: [m.ai], supervisor: s.ai}\nhandoff: last.ai",
        "s.ai": "handoff: last.ai",
        "m.ai": PLAIN,
        "last.ai": PLAIN,
    }

    assert loaded(tmp_path, files).graph.agents["t.ai"].handoff == "last.ai"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"s.ai": "team: {members: [x.ai]}"}, "s.ai:2:7: this agent leads the team of 't.ai'; it cannot have another"),
        ({"t.ai": "team: {members: [m.ai], supervisor: s.ai}\nrouter: {destinations: [x.ai]}"}, "put `router` there"),
        ({"t.ai": "team: {members: [m.ai, x/s.ai], supervisor: s.ai}", "x/s.ai": PLAIN}, "'x/s.ai' has the id of its lead, 's'"),
    ],
)  # fmt: skip
def test_a_lead_only_leads_and_shares_its_id_with_no_member(tmp_path, files, message):
    """A-73, O-4."""
    sound = {"t.ai": "team: {members: [m.ai], supervisor: s.ai}", "m.ai": PLAIN, "s.ai": PLAIN, "x.ai": PLAIN}

    assert message in error(tmp_path, sound | files)


def test_a_supervisor_is_not_a_member_too(tmp_path):
    """O-4."""
    message = error(tmp_path, {"t.ai": "team: {members: [m.ai], supervisor: m.ai}", "m.ai": PLAIN})

    assert "'m.ai' is a member of this team too" in message


@pytest.mark.parametrize(
    ("declared", "called"),
    [
        ("router: {destinations: [x/b.ai, y/b.ai]}", "destinations"),
        ("advisors: [x/b.ai, y/b.ai]", "advisors"),
        ("team: {members: [x/b.ai, y/b.ai]}", "members"),
    ],
)
def test_two_with_one_id_are_refused_where_the_id_must_tell_them_apart(tmp_path, declared, called):
    """O-5."""
    message = error(tmp_path, {"a.ai": declared, "x/b.ai": PLAIN, "y/b.ai": PLAIN})

    assert f"two {called} have the id 'b': 'x/b.ai' and 'y/b.ai'" in message


def test_the_same_destination_twice_is_refused_however_it_is_spelt(tmp_path):
    """O-5."""
    assert "have the id 'b'" in error(
        tmp_path, {"a.ai": "router: {destinations: [b.ai, ./b.ai]}", "b.ai": PLAIN}
    )


@pytest.mark.parametrize(
    ("files", "culprit"),
    [
        ({"a.ai": "handoff: b.ai", "b.ai": JSON_IN}, "'a.ai' before it answers in text"),
        ({"a.ai": "handoff: b.ai\noutput: {format: markdown}", "b.ai": JSON_IN}, "'a.ai' before it answers in markdown"),
        ({"a.ai": f"handoff: b.ai\nrouter: {{destinations: [c.ai]}}\n{JSON_OUT}", "b.ai": JSON_IN, "c.ai": PLAIN}, "'c.ai' before it answers in text"),
        ({"a.ai": f"handoff: b.ai\nrouter: {{destinations: [c.ai]}}\n{JSON_OUT}", "b.ai": JSON_IN, "c.ai": f"handoff: d.ai\n{JSON_OUT}", "d.ai": PLAIN}, "'d.ai' before it answers in text"),
        ({"a.ai": f"handoff: b.ai\n{JSON_OUT}\nteam: {{members: [m.ai], supervisor: s.ai}}", "b.ai": JSON_IN, "m.ai": PLAIN, "s.ai": PLAIN}, "'s.ai' before it answers in text"),
    ],
)  # fmt: skip
def test_an_answer_must_fit_what_the_next_in_the_chain_expects(tmp_path, files, culprit):
    """A-47, O-29."""
    message = error(tmp_path, files)

    assert message.startswith("a.ai:2:10: 'b.ai' expects JSON (`input.format: json`), but")
    assert culprit in message


@pytest.mark.parametrize(
    "declared", ["router: {destinations: [b.ai]}", "advisors: [b.ai]", "team: {members: [b.ai]}"]
)
def test_a_request_that_is_passed_on_must_fit_too(tmp_path, declared):
    """A-47, O-29."""
    message = error(tmp_path, {"a.ai": declared, "b.ai": JSON_IN})

    assert "'b.ai' expects JSON" in message
    assert "the request that it gets from 'a.ai' is text" in message


def test_an_advisor_never_answers_so_its_format_is_its_own_business(tmp_path):
    """A-12, A-47."""
    files = {
        "a.ai": f"advisors: [wise.ai]\nhandoff: b.ai\n{JSON_OUT}",
        "wise.ai": "output: {format: markdown}",
        "b.ai": JSON_IN,
    }

    graph = loaded(tmp_path, files).graph

    assert graph.agents["a.ai"].edges == (("advisor", "wise.ai"), ("handoff", "b.ai"))


def test_formats_that_fit_are_fine(tmp_path):
    """A-47, A-107."""
    files = {
        "a.ai": f"handoff: b.ai\n{JSON_OUT}\n{JSON_IN}\nadvisors: [c.ai]\nrouter: {{destinations: [d.ai]}}",
        "b.ai": JSON_IN,
        "c.ai": JSON_IN,
        "d.ai": f"handoff: e.ai\n{JSON_IN}",
        "e.ai": JSON_OUT,
    }

    assert len(loaded(tmp_path, files).graph.agents) == 5
