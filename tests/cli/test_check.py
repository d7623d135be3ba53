import pytest

CYCLE = {"a": "handoff: b.ai", "b": "handoff: a.ai"}
ANSWER = {"a": [{"report": "fine"}]}


def test_a_sound_project_shows_what_it_can_cost_at_most(folkmoot):
    folkmoot.write({"a": "handoff: b.ai\nmaxTurns: 2", "b": "maxTurns: 1"}, ANSWER)

    done = folkmoot("check")

    assert (done.code, done.out) == (0, "a.ai: at most 9 model requests\n")
    assert done.err == "2 agents, no problems, no warnings\n"


def test_every_problem_is_told_at_once_with_its_place(folkmoot):
    """A-8, A-10: cycles with their path; exit 4, and nothing ran."""
    folkmoot.write({**CYCLE, "c": "maxTrns: 3"}, ANSWER)

    done = folkmoot("check")

    assert done.code == 4
    assert "c.ai:2:1: " in done.out
    assert "maxTurns" in done.out
    assert "a.ai -> b.ai -> a.ai" in done.out
    assert not (folkmoot.folder / ".folkmoot").exists()


def test_problems_as_json_have_the_fixed_shape(folkmoot):
    folkmoot.write({"c": "maxTrns: 3"}, ANSWER)

    done = folkmoot("check", "--json")

    assert done.code == 4
    (problem,) = done.json["problems"]
    assert problem.pop("message")
    assert problem == {"file": "c.ai", "line": 2, "column": 1, "severity": "error", "code": "bad_declaration"}


def test_warnings_do_not_fail(folkmoot):
    folkmoot.write({"a": "plugins: [x]"}, ANSWER)

    done = folkmoot("check")
    assert done.code == 0
    assert "warning: " in done.out
    assert "1 agent, no problems, 1 warning" in done.err
    assert [problem["severity"] for problem in folkmoot("check", "--json").json["problems"]] == ["warning"]


def test_a_single_file_is_checked_with_what_it_refers_to_and_nothing_else(folkmoot):
    folkmoot.write({"a": "handoff: b.ai", "b": "description: b", "broken": "nonsense: 1"}, ANSWER)

    assert folkmoot("check", "a.ai").code == 0
    assert folkmoot("check", "broken.ai").code == 4
    assert folkmoot("check").code == 4


def test_another_folder_is_checked_by_its_path(folkmoot, tmp_path):
    folkmoot.write(CYCLE, ANSWER)
    (tmp_path / "empty").mkdir()

    assert folkmoot("check", "empty").code == 0
    assert folkmoot("check", str(tmp_path)).code == 4


def test_the_nearest_settings_upwards_make_the_project(folkmoot, monkeypatch):
    folkmoot.write({"a": "description: a"}, ANSWER)
    deep = folkmoot.folder / "some" / "where"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)

    assert folkmoot("check").err == "1 agent, no problems, no warnings\n"
    assert (
        folkmoot("check", "--project", str(folkmoot.folder / "some")).err
        == "0 agents, no problems, 1 warning\n"
    )


@pytest.mark.parametrize("command", [["run", "loop.ai", "hi"], ["explain", "loop.ai"], ["test", "loop.ai"]])
def test_links_in_a_circle_are_wrong_use_and_no_breakdown(folkmoot, command):
    folkmoot.write({"a": ""}, ANSWER)
    (folkmoot.folder / "loop.ai").symlink_to("loop.ai")

    done = folkmoot(*command)

    assert done.code in (2, 4)
    assert "loop.ai" in done.err
    assert "broke" not in done.err
