"""A project as it stands on the disk, sound or not."""

from functools import partial

from folkmoot.engine.workshop import load_project
from folkmoot.loader.load import sketch
from tests.desk import write


def sketched(folder):
    return sketch(folder, partial(load_project, folder, env={}))


def test_a_sound_project_is_sketched_with_its_graph(tmp_path):
    write(tmp_path, {"desk": "handoff: clerk.ai\ncapabilities: [talking]", "clerk": "role: specialist"})

    found = sketched(tmp_path)

    assert [(agent.file, agent.role, agent.capabilities, agent.links) for agent in found.agents] == [
        ("clerk.ai", "specialist", (), ()),
        ("desk.ai", "worker", ("talking",), (("handoff", "clerk.ai"),)),
    ]
    assert found.problems == ()
    assert sorted(found.graph.agents) == ["clerk.ai", "desk.ai"]


def test_agents_that_wait_for_each_other_are_there_with_what_is_wrong(tmp_path):
    write(tmp_path, {"a": "handoff: b.ai", "b": "handoff: a.ai"})

    found = sketched(tmp_path)

    assert [agent.links for agent in found.agents] == [(("handoff", "b.ai"),), (("handoff", "a.ai"),)]
    assert "agents wait for each other" in found.problems[0].message
    assert found.graph is None


def test_a_file_that_cannot_be_read_is_there_too(tmp_path):
    write(tmp_path, {"a": "handoff: b.ai", "b": "---\nhandoff: [\n---\nx"})

    found = sketched(tmp_path)

    assert [agent.file for agent in found.agents] == ["a.ai", "b.ai"]
    assert {problem.file for problem in found.problems} == {"b.ai"}
