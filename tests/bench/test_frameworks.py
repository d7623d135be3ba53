"""The comparison with other frameworks."""

import pytest

from bench import frameworks


@pytest.mark.parametrize("name", frameworks.FRAMEWORKS)
def test_every_framework_answers_the_same_question_with_one_tool_call(name, monkeypatch, capfd):
    monkeypatch.setenv("FOLKMOOT_BENCH_RUNS", "2")

    frameworks.main([name])

    assert capfd.readouterr().out.splitlines()[1].startswith(name)
