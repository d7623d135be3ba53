import pytest

from folkmoot.domain.agent import Team
from folkmoot.errors import WrongUse
from folkmoot.loader.load import load
from tests.loader.making import KNOWN, error, errors, loaded, problems, warnings, write

PLAIN = "description: plain"


@pytest.mark.parametrize(
    "declared",
    [
        "handoff: b.ai",
        "router: {destinations: [b.ai]}",
        "advisors: [b.ai]",
        "team: {members: [b.ai]}",
        "chat: true",
    ],
)
def test_each_pattern_has_its_key(tmp_path, declared):
    """A-1."""
    graph = loaded(tmp_path, {"a.ai": declared, "b.ai": PLAIN}).graph

    assert list(graph.agents) == ["a.ai", "b.ai"]


@pytest.mark.parametrize(
    ("key", "suggested"),
    [
        ("routerDestinations", "router"),
        ("next", "handoff"),
        ("delegate", "handoff"),
        ("dispatch", "router"),
        ("triage", "router"),
        ("consult", "advisors"),
        ("gather", "advisors"),
        ("panel", "team"),
        ("council", "team"),
    ],
)
def test_a_rejected_name_of_a_pattern_is_unknown_and_the_right_one_is_told(tmp_path, key, suggested):
    """A-2, A-19."""
    message = error(tmp_path, {"a.ai": f"description: x\n{key}: [b.ai]"})

    assert message.startswith(f"a.ai:3:1: unknown key {key!r}")
    assert suggested in message


def test_a_misspelt_key_suggests_the_right_one(tmp_path):
    """A-2, O-9."""
    assert (
        error(tmp_path, {"a.ai": "max_turn: 3"})
        == "a.ai:2:1: unknown key 'max_turn'; did you mean 'maxTurns'?"
    )


@pytest.mark.parametrize("key", "traceLLM traceMCP verbose accounting save load stream targets".split())
def test_a_key_that_only_concerns_running_points_to_the_flags(tmp_path, key):
    """A-2."""
    assert "use CLI flags" in error(tmp_path, {"a.ai": f"{key}: true"})


@pytest.mark.parametrize("value", ["[b.ai]", "[b.ai, c.ai]"])
def test_handoff_is_one_string_and_never_a_list(tmp_path, value):
    """A-3, A-4."""
    message = error(tmp_path, {"a.ai": f"handoff: {value}", "b.ai": PLAIN, "c.ai": PLAIN})

    assert message == "a.ai:2:10: `handoff` must be one string, not a list"


@pytest.mark.parametrize("value", ["{destinations: []}", "{}", "{destinations: ''}"])
def test_a_router_needs_a_destination(tmp_path, value):
    """A-5."""
    assert "destinations" in error(tmp_path, {"a.ai": f"router: {value}"})


def test_a_team_needs_members(tmp_path):
    """A-1, A-70."""
    assert "needs the key 'members'" in error(tmp_path, {"a.ai": "team: {supervisor: b.ai}", "b.ai": PLAIN})


def test_a_reference_is_relative_to_the_file_that_makes_it(tmp_path):
    """A-6."""
    files = {"desks/a.ai": "handoff: ./b.ai\nagents: [../c.ai]", "desks/b.ai": PLAIN, "c.ai": PLAIN}

    agent = loaded(tmp_path, files).graph.agents["desks/a.ai"]

    assert (agent.handoff, agent.agents) == ("desks/b.ai", ("c.ai",))


def test_a_reference_without_the_ending_suggests_it(tmp_path):
    """A-6."""
    message = error(tmp_path, {"a.ai": "handoff: b", "b.ai": PLAIN})

    assert message == "a.ai:2:10: the handoff 'b' lacks the ending `.ai`; write 'b.ai'"


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        ("handoff: bb.ai", "2:10"),
        ("router: {destinations: [bb.ai]}", "2:25"),
        ("advisors: [b.ai, bb.ai]", "2:18"),
        ("team: {members: [bb.ai]}", "2:18"),
        ("team: {members: [b.ai], supervisor: bb.ai}", "2:37"),
        ("agents: b.ai, bb.ai", "2:9"),
    ],
)
def test_a_missing_agent_is_an_error_at_its_reference_with_a_near_name(tmp_path, declared, place):
    """A-7, A-10."""
    message = error(tmp_path, {"a.ai": declared, "b.ai": PLAIN})

    assert message.startswith(f"a.ai:{place}: ")
    assert message.endswith("'bb.ai' does not exist; did you mean 'b.ai'?")


def test_everything_that_is_wrong_is_said_at_once_in_the_order_of_the_files(tmp_path):
    """A-10, A-13, O-9."""
    files = {
        "a.ai": "handoff: [x]\nmaxTurns: many\nllmTimeout: soon",
        "b/b.ai": "advisors: [b.ai]\nsplit: allways",
        "c.ai": "---\nnever closed",
        "folkmoot.yaml": "models: {default: nobody/x}\nbudgett: {}",
    }

    places = [str(problem).split(": ")[0] for problem in problems(tmp_path, files)]

    assert places == ["a.ai:2:10", "a.ai:3:11", "a.ai:4:13", "b/b.ai:2:12", "b/b.ai:3:8", "c.ai:1:1",
                      "folkmoot.yaml:1:19", "folkmoot.yaml:2:1"]  # fmt: skip


def test_the_order_of_advisors_is_that_of_the_file(tmp_path):
    """A-15."""
    files = {"a.ai": "advisors: [z.ai, m.ai, b.ai]", "z.ai": PLAIN, "m.ai": PLAIN, "b.ai": PLAIN}

    assert loaded(tmp_path, files).graph.agents["a.ai"].advisors == ("z.ai", "m.ai", "b.ai")


def test_a_list_may_be_a_string_with_commas(tmp_path):
    """A-1, A-15."""
    files = {"a.ai": "advisors: z.ai , b.ai", "z.ai": PLAIN, "b.ai": PLAIN}

    assert loaded(tmp_path, files).graph.agents["a.ai"].advisors == ("z.ai", "b.ai")


def test_a_workflow_needs_no_settings_file(tmp_path):
    """A-16."""
    models = "models: [openai/gpt-5-mini]\n"
    files = {
        "a.ai": f"{models}router: {{destinations: [b.ai, c.ai]}}",
        "b.ai": f"{models}handoff: d.ai",
        "c.ai": models,
        "d.ai": models,
    }
    write(tmp_path, files)
    (tmp_path / "folkmoot.yaml").unlink()

    assert list(load(tmp_path, known=KNOWN).graph.agents) == ["a.ai", "b.ai", "c.ai", "d.ai"]


def test_an_agent_without_patterns_has_none(tmp_path):
    """A-17."""
    agent = loaded(tmp_path, {"a.ai": PLAIN}).graph.agents["a.ai"]

    assert (agent.edges, agent.id, agent.tool_name, agent.prompt) == ((), "a", "a", "You are a.ai.")


@pytest.mark.parametrize(
    ("declared", "terminal"),
    [
        (PLAIN, True),
        ("handoff: b.ai", False),
        ("router: {destinations: [b.ai]}", False),
        ("advisors: [b.ai]", True),
        ("team: {members: [b.ai]}", True),
        ("router: {destinations: [b.ai]}\nadvisors: [c.ai]", False),
    ],
)
def test_each_agent_is_terminal_or_not(tmp_path, declared, terminal):
    """A-14, A-20."""
    graph = loaded(tmp_path, {"a.ai": declared, "b.ai": PLAIN, "c.ai": PLAIN}).graph

    assert graph.terminal("a.ai") is terminal


def test_a_member_of_a_team_is_never_terminal(tmp_path):
    """A-14, A-20."""
    files = {"a.ai": "team: {members: [m.ai], supervisor: s.ai}", "m.ai": PLAIN, "s.ai": PLAIN}

    graph = loaded(tmp_path, files).graph

    assert {file: graph.terminal(file) for file in graph.agents} == {
        "a.ai": True,
        "m.ai": False,
        "s.ai": True,
    }


def test_patterns_nest(tmp_path):
    """A-13, A-30, A-107: router to an agent with advisors, which hands off to a team; advisors of advisors."""
    files = {
        "router.ai": "router: {destinations: [desk.ai, other.ai]}\nhandoff: last.ai",
        "other.ai": "router: {destinations: [desk.ai]}",
        "desk.ai": "advisors: [wise.ai]\nhandoff: team.ai",
        "wise.ai": "advisors: [wiser.ai]\nagents: [tool.ai]",
        "wiser.ai": "team: {members: [m.ai]}",
        "team.ai": "team: {members: [m.ai, n.ai], supervisor: ./team.ai}\nhandoff: last.ai",
        **dict.fromkeys(("last.ai", "tool.ai", "m.ai", "n.ai"), PLAIN),
    }

    graph = loaded(tmp_path, files).graph

    assert graph.agents["team.ai"].team == Team(members=("m.ai", "n.ai"), supervisor=None)
    assert graph.agents["wise.ai"].edges == (("advisor", "wiser.ai"), ("agent", "tool.ai"))


def test_an_agent_may_say_nothing_but_its_prompt(tmp_path):
    assert loaded(tmp_path, {"a.ai": "---\n---\nYou greet."}).graph.agents["a.ai"].prompt == "You greet."


def test_an_interpreter_line_and_windows_line_ends_are_fine(tmp_path):
    text = b"#!/usr/bin/env folkmoot\r\n---\r\nmaxTurns: 3\r\n---\r\nYou greet.\r\nAlways.\r\n"

    agent = loaded(tmp_path, {"a.ai": text}).graph.agents["a.ai"]

    assert (agent.tuning.max_turns, agent.prompt) == (3, "You greet.\nAlways.")


def test_lines_are_counted_from_the_top_of_the_file(tmp_path):
    text = "#!/usr/bin/env folkmoot\n---\ndescription: x\n\nmaxTurns: 0\n---\nx"

    assert error(tmp_path, {"a.ai": text}) == "a.ai:5:11: `maxTurns` must be at least 1, not 0"


def test_a_file_without_frontmatter_is_told_how_to_begin(tmp_path):
    message = error(tmp_path, {"a.ai": b"You greet people.\n"})

    assert message.startswith("a.ai:1:1: the frontmatter is missing; an agent file begins with a line `---`")


def test_an_agent_without_a_prompt_is_a_warning_and_an_empty_file_an_error(tmp_path):
    assert warnings(tmp_path, {"a.ai": "---\ndescription: x\n---\n \n"})[0].startswith(
        "a.ai:1:1: warning: the agent has no prompt"
    )
    assert "no prompt" in error(tmp_path, {"a.ai": "---\n---\n"})


def test_a_folder_of_another_project_and_what_tools_keep_are_not_searched(tmp_path):
    files = {
        "a.ai": PLAIN,
        "other/folkmoot.yaml": "",
        **dict.fromkeys(("other/x.ai", ".hidden/x.ai", "node_modules/x.ai", ".venv/x.ai"), "nonsense: 1"),
    }

    assert list(loaded(tmp_path, files).graph.agents) == ["a.ai"]


def test_a_single_file_is_loaded_with_those_it_needs_only(tmp_path):
    files = {"a.ai": "handoff: sub/b.ai", "sub/b.ai": PLAIN, "illustration.ai": b"%!PS-Adobe\0\xff"}

    assert list(loaded(tmp_path, files, entry="a.ai").graph.agents) == ["a.ai", "sub/b.ai"]


@pytest.mark.parametrize("entry", ["x.ai", "../a.ai", "sub"])
def test_a_single_file_that_is_none_is_wrong_use(tmp_path, entry):
    (tmp_path / "sub").mkdir()

    with pytest.raises(WrongUse, match=r"the agent file .* (does not exist|leads out|is not a regular file)"):
        loaded(tmp_path, {"a.ai": PLAIN}, entry=entry)


def test_a_folder_that_does_not_exist_is_wrong_use(tmp_path):
    with pytest.raises(WrongUse, match="there is no folder"):
        load(tmp_path / "nowhere", known=KNOWN)


def test_an_empty_folder_is_a_project_with_a_warning(tmp_path):
    assert load(tmp_path, known=KNOWN).warnings[0].message.startswith("there is no agent file here")


def test_settings_that_cannot_be_read_do_not_blame_the_agents(tmp_path):
    files = {"a.ai": "tools: [psp.refund]", "folkmoot.yaml": "models: [\n"}

    assert [line.split(":")[0] for line in errors(tmp_path, files)] == ["folkmoot.yaml"]


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ("cache: 5m", "cache"),
        ("plugins: [x]", "plugins"),
        ("toolOutput: {a: 1}", "toolOutput"),
    ],
)
def test_what_this_release_does_not_do_yet_is_a_warning(tmp_path, declared, key):
    [warning] = warnings(
        tmp_path, {"a.ai": f"{declared}\nadvisors: [c.ai]", "b.ai": "agents: [c.ai]", "c.ai": PLAIN}
    )

    assert f"warning: `{key}` is checked, but this release does not do it yet" in warning


def test_an_agent_that_no_other_knows_is_a_warning_where_others_work_together(tmp_path):
    """A-13."""
    files = {"a.ai": "handoff: b.ai", "b.ai": PLAIN, "lonely.ai": PLAIN}

    assert warnings(tmp_path, files) == [
        "lonely.ai:1:1: warning: unreachable: no agent refers to this file, so that it runs only when you name it"
    ]
    assert warnings(tmp_path / "alone", {"a.ai": PLAIN, "b.ai": PLAIN}) == []
