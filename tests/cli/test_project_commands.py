"""The small commands about a project: init, graph, config, trust, doctor."""

import pytest

LOOK = """
@tool
def look() -> str:
    return "a tree"
"""


@pytest.fixture
def tooled(folkmoot):
    folkmoot.write_with_tool("look", LOOK, trusted=False)
    return folkmoot


def test_what_init_makes_is_sound_and_runs_at_once_without_trust_or_network(folkmoot, monkeypatch):
    done = folkmoot("init", "desk")
    assert done.code == 0
    assert "cd desk" in done.err
    monkeypatch.chdir(folkmoot.folder / "desk")

    assert folkmoot("check").code == 0
    assert "within five working days" in folkmoot("run", "front-desk.ai", "I was charged twice.").out
    assert folkmoot("run", "front-desk.ai", "Hello", "-q").out.startswith("Thank you for writing")


def test_init_overwrites_nothing(folkmoot):
    (folkmoot.folder / "editor.ai").write_text("mine")

    done = folkmoot("init", "--json")

    assert done.code == 2
    assert "editor.ai" in done.json["error"]
    assert [path.name for path in folkmoot.folder.iterdir()] == ["editor.ai"]


def test_init_keeps_a_gitignore_that_is_there(folkmoot):
    (folkmoot.folder / ".gitignore").write_text("mine\n")

    assert ".gitignore" not in folkmoot("init", "--json").json["files"]
    assert (folkmoot.folder / ".gitignore").read_text() == "mine\n"


def test_init_says_where_it_cannot_write(folkmoot):
    (folkmoot.folder / "file").write_text("")

    done = folkmoot("init", "file/desk")

    assert done.code == 1
    assert "file/desk" in done.err


@pytest.mark.parametrize(
    ("form", "start"), [("text", "a.ai\n"), ("mermaid", "flowchart LR\n"), ("svg", "<svg ")]
)
def test_the_graph_is_drawn_in_three_ways(folkmoot, form, start):
    folkmoot.write({"a": "handoff: b.ai", "b": "description: b"}, {})

    done = folkmoot("graph", "--format", form)
    assert done.code == 0
    assert done.out.startswith(start)

    assert folkmoot("graph", "-f", form, "-o", "drawing").out == ""
    assert (folkmoot.folder / "drawing").read_text() == done.out


def test_a_graph_that_cannot_be_drawn_or_kept_is_told(folkmoot):
    folkmoot.write({"a": "handoff: b.ai"}, {})
    assert folkmoot("graph").code == 4

    folkmoot.write({"a": "description: a"}, {})
    assert folkmoot("graph", "-o", "no/such/folder/x").code == 2
    assert folkmoot("graph", "--format", "gif").code == 2


def test_every_setting_is_shown_with_its_source(folkmoot, monkeypatch):
    folkmoot.write({"a": "maxTurns: 4\ntemperature: 1"}, {})
    monkeypatch.setenv("FOLKMOOT_MAX_RETRIES", "2")

    done = folkmoot("config", "show", "--set", "budget.usd=0.5")

    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "models.default.ref s/demo folkmoot.yaml:2" in lines
    assert "maxRetries 2 environment FOLKMOOT_MAX_RETRIES" in lines
    assert "budget.usd 0.5 --set" in lines
    assert "a.ai maxTurns 4 a.ai:2" in lines
    assert "llmTimeout 10m default" in lines
    assert not [line for line in lines if line.startswith("a.ai llmTimeout")]
    assert "a.ai llmTimeout 10m default" in " ".join(folkmoot("config", "show", "--all").out.split())


def test_durations_are_shown_as_they_are_written_and_told_to_programs_in_seconds(folkmoot):
    folkmoot.write({"a": "toolTimeout: 90s"}, {})

    shown = [line.split() for line in folkmoot("config", "show", "--set", "budget.wall=2h").out.splitlines()]
    assert ["budget.wall", "2h", "--set"] in shown
    assert ["a.ai", "toolTimeout", "90s", "a.ai:2"] in shown
    assert ["agents.defaults.taskContinuation.zombieTaskTtl", "1d", "default"] in shown

    told = folkmoot("config", "show", "--json").json
    assert {"key": "llmTimeout", "value": 600.0, "source": "default", "unit": "s"} in told


def test_an_unknown_setting_exits_4(folkmoot):
    folkmoot.write({"a": "description: a"}, {})

    done = folkmoot("config", "show", "--set", "maxTurn=3", "--json")

    assert done.code == 4
    assert "maxTurns" in done.json["problems"][0]["message"]


def test_on_a_terminal_a_run_asks_and_goes_on(tooled):
    code, written = tooled.on_a_terminal("run", "a.ai", "x", typed=b"n\n")
    assert code == 4
    assert "Allow this? [y/N, or numbers such as 1 3]" in written

    code, written = tooled.on_a_terminal("run", "a.ai", "x", typed=b"y\n")
    assert code == 0
    assert "fine" in written
    assert tooled("run", "a.ai", "x", "-q").out == "fine\n"


def test_trust_on_a_terminal_takes_no_for_an_answer(tooled):
    assert tooled.on_a_terminal("trust", typed=b"\n")[0] == 1
    assert tooled("run", "a.ai", "x").code == 4


def test_the_doctor_names_the_libraries_that_are_missing(tooled, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    (tooled.folder / "b.ai").write_text(
        "---\nmodels: [google/gemini-3.8-flash, bedrock/amazon.nova-lite-v1:0]\n---\nx\n"
    )

    found = {
        finding["id"]: (finding["status"], finding["text"]) for finding in tooled("doctor", "--json").json
    }

    assert "library of google" not in found
    assert found["key of bedrock"] == ("ok", "left to its own library")
    assert found["library of bedrock"] == (
        "warning",
        "not installed: pip install 'folkmoot[providers]' 'pydantic-ai-slim[bedrock]'",
    )


def test_the_doctor_looks_at_everything_and_tells_no_secret(tooled, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "very secret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (tooled.folder / "b.ai").write_text(
        "---\nmodels: [openai/gpt-4o-mini, anthropic/claude-3-5-haiku-latest]\n---\nx\n"
    )

    done = tooled("doctor", "--json")

    assert done.code == 0
    found = {finding["id"]: (finding["status"], finding["text"]) for finding in done.json}
    assert found["key of openai"] == ("ok", "OPENAI_API_KEY is set")
    assert found["key of anthropic"][0] == "warning"
    assert found["key of s"] == ("ok", "none needed")
    assert found["trust"][0] == "warning"
    assert found["journal"] == ("ok", "nothing has run yet")
    assert {"folkmoot", "python", "sqlite", "terminal", "project"} <= set(found)
    assert "very secret" not in done.out


def test_the_doctor_finds_what_is_broken(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    folkmoot("run", "a.ai", "x")
    assert "1 run, readable and writable" in folkmoot("doctor").out

    (folkmoot.folder / ".folkmoot" / "folkmoot.db").write_bytes(b"no database at all")
    (folkmoot.folder / "a.ai").write_text("---\nnonsense: 1\n---\n")
    done = folkmoot("doctor")

    assert done.code == 1
    assert "`folkmoot check` lists them" in done.out
    assert "not a SQLite" in done.out


def test_the_doctor_says_in_words_that_there_is_no_terminal(folkmoot):
    assert "stderr is no terminal: progress comes line by line" in folkmoot("doctor").out


def test_what_comes_next_can_be_typed_as_it_stands(folkmoot):
    assert "\n  cd 'a desk'\n" in folkmoot("init", "a desk").err
