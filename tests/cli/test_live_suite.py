"""Scenarios with a real model behind them: the server of the benchmark stands in for one."""

import json
import shutil

import pytest
import yaml

from bench.process import model_server, traffic
from checks.files import ROOT
from tests.examples import copied

SETTINGS = """
providers: {{endpoint: {{kind: openai, baseUrl: "http://127.0.0.1:{port}/v1", price: {{input: 1, output: 2}}, contextWindow: 32000}}}}
models: {{default: endpoint/willing}}
"""
FILE = """\
agent: front.ai
scenarios:
  - name: First                      # this comment stays
    request: I was charged twice.
    expect:
      route: billing

  - name: Second
    request: I was charged twice.

# and so does this one
"""


@pytest.fixture(scope="module")
def port():
    with model_server() as port:
        yield port


@pytest.fixture
def desk(folkmoot, port):
    agents = {"front": "router: {destinations: [billing.ai]}", "billing": "description: Charges."}
    folkmoot.write(agents, {}, SETTINGS.format(port=port))
    (folkmoot.folder / "desk.test.yaml").write_text(FILE)
    return folkmoot


@pytest.fixture
def live(folkmoot, port):
    shutil.copytree(ROOT / "tests" / "live", folkmoot.folder, dirs_exist_ok=True)
    settings = folkmoot.folder / "folkmoot.yaml"
    settings.write_text(settings.read_text().replace("8080", str(port)))
    return folkmoot


def test_full_composition_and_a_forced_advisor_failure_hold_against_an_endpoint(live, port):
    """A-108: advisors, router, handoff, precedence, both pairs, and an advisor whose schema nothing can fit."""
    before = traffic(port).requests

    done = live("test", "--model", "endpoint/willing", "--json")

    verdicts = done.json["scenarios"]
    assert [each["status"] for each in verdicts] == ["passed"] * 7, done.out
    assert traffic(port).requests - before == 2 + 2 + 2 + 3 + 3 + 3 + 3


def test_the_live_suite_is_left_out_without_a_model_and_takes_it_from_the_environment(live, monkeypatch):
    """A-108: it is optional."""
    assert live("test").out == "7 scenarios: 0 passed, 7 skipped\n"

    monkeypatch.setenv("FOLKMOOT_TEST_MODEL", "endpoint/willing")
    assert live("test", "-k", "nothing can fit").out == "1 scenario: 1 passed\n"


def test_a_model_that_does_not_do_as_it_should_fails_the_live_suite(live):
    """A-108: it is no suite that always passes: this model never routes."""
    done = live("test", "--model", "endpoint/final", "-k", "passes the request on")

    assert done.code == 1
    assert "expected  billing" in done.out


def test_answers_are_recorded_once_and_then_played_without_the_model(desk, port):
    done = desk("test", "--record")

    assert (done.code, done.out) == (0, "2 scenarios: 2 passed\n")
    text = (desk.folder / "desk.test.yaml").read_text()
    assert "# this comment stays\n" in text
    assert text.endswith("\n\n# and so does this one\n")
    first, second = yaml.safe_load(text)["scenarios"]
    assert first["script"] == second["script"]
    assert first["script"]["agents"]["front"] == [
        {"route": {"agent": "billing"}, "usage": first["script"]["agents"]["front"][0]["usage"]}
    ]
    assert list(first) == ["name", "request", "script", "expect"]
    asked = traffic(port).requests
    assert desk("test").out == "2 scenarios: 2 passed\n"
    assert traffic(port).requests == asked


def test_a_script_is_replaced_only_by_somebody_who_wants_it(desk, port):
    desk("test", "--record", "-k", "first")
    before = (desk.folder / "desk.test.yaml").read_text()
    asked = traffic(port).requests

    refused = desk("test", "--record")
    assert refused.code == 2
    assert "desk.test.yaml:3: 'First' has a script already; replace it with --record --yes" in refused.err
    code, told = desk.on_a_terminal("test", "--record", "-k", "first", when=[("Replace it?", b"n\n")])
    assert (code, "nothing was recorded" in told) == (2, True)
    assert traffic(port).requests == asked
    assert (desk.folder / "desk.test.yaml").read_text() == before

    code, _ = desk.on_a_terminal("test", "--record", "-k", "first", when=[("Replace it?", b"y\n")])
    assert code == 0
    assert desk("test", "--record", "--yes", "-k", "first").code == 0
    assert (desk.folder / "desk.test.yaml").read_text() == before, "the same answers, at the same place"


def test_a_scenario_on_one_line_cannot_be_recorded_into(desk):
    (desk.folder / "desk.test.yaml").write_text("agent: front.ai\nscenarios: [{name: One, request: Hi}]\n")

    done = desk("test", "--record")

    assert done.code == 2
    assert "desk.test.yaml:2: write each key of the scenario on a line of its own" in done.err


def test_parts_of_a_plan_claims_and_their_evidence_are_recorded_too(folkmoot):
    """Ids are the same each time, so that what was cited then is there now."""
    copied("planner-executor", folkmoot.folder)
    folkmoot("trust", "--yes")

    file = folkmoot.folder / "inspector.test.yaml"
    file.write_text(
        file.read_text().replace("plan.rejected: 1", "plan.rejected: 1, claim.recorded: 3, claim.demoted: 0")
    )

    assert folkmoot("test", "--record").code == 0
    (folkmoot.folder / "script.yaml").write_text("{}")

    done = folkmoot("test")
    assert done.code == 0, done.out


def test_an_agent_that_is_called_twice_is_recorded_by_session(folkmoot):
    ask = [{"tool": "agent.b", "arguments": {"prompt": word, "reason": "x"}} for word in ("red", "blue")]
    rules = [{"when": "red", "report": "apples"}, {"when": "blue", "report": "skies"}]
    script = {"a": [{"calls": ask}, {"report": "Both."}], "b": {"rules": rules}}
    folkmoot.write({"a": "agents: [b.ai]", "b": "description: B."}, script)
    file = folkmoot.folder / "a.test.yaml"
    file.write_text("scenarios:\n  - name: Twice\n    agent: a.ai\n    request: Hi\n")

    assert folkmoot("test", "--record").code == 0
    (recorded,) = yaml.safe_load(file.read_text())["scenarios"]
    said = {name: turns[0]["report"] for name, turns in recorded["script"]["agents"].items() if name != "a"}
    assert sorted(said.values()) == ["apples", "skies"]
    assert all(name.startswith("b@scenario") for name in said)
    (folkmoot.folder / "script.yaml").write_text("{}")
    assert folkmoot("test").code == 0


AWKWARD = (
    *("1e3", "0x1F", "off", "null", "2026-01-01", "12:30", " a \n  b\n\n", "a\tb: {c}", "# no comment"),
    *("\x07\u2028é", "- x", "'\""),
)


def test_whatever_a_model_says_is_written_down_as_it_said_it(folkmoot):
    folkmoot.write({"a": ""}, {})
    rules = [{"when": f"/^{n}$/", "report": f"{text}|", "text": text} for n, text in enumerate(AWKWARD)]
    (folkmoot.folder / "script.yaml").write_text(json.dumps({"agents": {"a": {"rules": rules}}}))
    (folkmoot.folder / "a.test.yaml").write_text(
        "agent: a.ai\nscenarios:\n"
        + "".join(
            f"  - name: says {n}\n    request: '{n}'\n    expect:\n      report: {{equals: {json.dumps(f'{text}|')}}}\n"
            for n, text in enumerate(AWKWARD)
        )
    )

    assert folkmoot("test", "--record").code == 0
    (folkmoot.folder / "script.yaml").write_text("{}")
    done = folkmoot("test")
    assert done.code == 0, done.out


def test_nothing_is_written_down_where_no_model_answered(folkmoot):
    folkmoot.write({"a": "input: {format: json}"}, {"a": ["x"]})
    file = folkmoot.folder / "a.test.yaml"
    file.write_text("scenarios:\n  - name: None\n    agent: a.ai\n    request: no JSON\n")
    before = file.read_text()

    done = folkmoot("test", "--record")

    assert done.code == 1
    assert "a.test.yaml:2: nothing was recorded: a.ai takes JSON, and the request is none" in done.err
    assert file.read_text() == before
