"""`folkmoot init --template`: projects that are sound, tested, and run at once; the same files as the examples."""

import re
import subprocess

import pytest
import yaml

from checks.files import ROOT
from folkmoot.cli.init import DEFAULT, TEMPLATES
from tests.examples import hasten

NAMES = ["support-desk", "review-team", "research", "planner-executor"]
ANSWERS = {
    "review-team": "**Not yet.** Two things must change",
    "research": "**Keep it, but not for everybody.**",
    "planner-executor": "**Yes, and yes.**",
}


@pytest.fixture
def made(folkmoot, monkeypatch):
    """A project from a template, with answers that take no time."""

    def make(name):
        done = folkmoot("init", "--template", name, "project")
        assert done.code == 0, done.err
        monkeypatch.chdir(folkmoot.folder / "project")
        hasten(folkmoot.folder / "project")
        return folkmoot

    return make


def test_there_are_the_four_and_the_one_that_is_made_without_asking():
    assert list(TEMPLATES) == [DEFAULT, *NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_template_is_sound_and_its_scenarios_pass_without_trusting_anything(made, name):
    folkmoot = made(name)

    assert "no problems, no warnings" in folkmoot("check").err
    played = folkmoot("test", "--json")
    assert (played.code, {each["status"] for each in played.json["scenarios"]}) == (0, {"passed"})


@pytest.mark.parametrize("name", ANSWERS)
def test_a_template_answers_what_it_says_one_may_ask(made, name):
    template = TEMPLATES[name]

    done = made(name)("run", template.agent, template.request, "-q")

    assert (done.code, done.out[: len(ANSWERS[name])]) == (0, ANSWERS[name])


def test_the_refund_of_the_support_desk_waits_for_a_person_and_is_then_paid_once(made):
    folkmoot = made("support-desk")
    paid = folkmoot.folder / "project" / "refunds.csv"

    assert folkmoot("run", "support.ai", TEMPLATES["support-desk"].request).code == 6
    assert not paid.exists()
    (waiting,) = folkmoot("approvals", "list", "--json").json
    assert "on their way back" in folkmoot("approvals", "approve", waiting["id"], "--resume").out
    assert paid.read_text() == "1042,39.90\n"


def test_what_no_source_bears_out_is_not_verified_in_the_research(made):
    folkmoot = made("research")
    folkmoot("run", "research.ai", TEMPLATES["research"].request, "-q")

    shown = folkmoot("runs", "show", "last").out

    assert len(re.findall(r"^verified: .*\(ev_", shown, re.MULTILINE)) == 2
    assert "\nunverified: Customers would pay for it.\n" in shown


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_of_a_template_shows_its_graph_and_how_to_use_a_real_model(made, name):
    folkmoot = made(name)
    readme = (folkmoot.folder / "project" / "README.md").read_text()
    settings = folkmoot.folder / "project" / "folkmoot.yaml"

    shown, drawn = re.findall(r"```\w*\n(\w+\.ai.*?)```", readme, re.DOTALL)[0], folkmoot("graph").out
    if "planner" not in shown:  # who plans and who executes are one agent
        assert [line.partition(".ai")[0] for line in shown.splitlines()] == [
            line.partition(".ai")[0] for line in drawn.splitlines()
        ]
    (real,) = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    settings.write_text(yaml.safe_dump(yaml.safe_load(settings.read_text()) | yaml.safe_load(real)))
    assert "no problems" in folkmoot("check").err
    assert folkmoot("test").code == 0, "the scenarios go on offline"


def test_what_init_allowed_is_told_to_programs(folkmoot):
    assert folkmoot("init", "-t", "review-team", "--json").json["allowed"] == [
        "run the Python module tools.py"
    ]
    assert folkmoot("init", "plain", "--json").json["allowed"] == []


def test_init_allows_nothing_where_consent_cannot_be_kept(folkmoot, monkeypatch):
    (folkmoot.folder / "file").write_text("")
    monkeypatch.setenv("FOLKMOOT_STATE", str(folkmoot.folder / "file"))

    assert folkmoot("init", "-t", "review-team", "team", "--json").json["allowed"] == []


def test_a_template_that_there_is_not_is_refused_with_those_that_there_are(folkmoot):
    done = folkmoot("init", "--template", "suport-desk", "project")

    assert (done.code, done.err) == (
        2,
        f"there is no template 'suport-desk'; there are {', '.join(TEMPLATES)}\n",
    )
    assert not (folkmoot.folder / "project").exists()


def test_a_template_overwrites_nothing_also_not_in_a_folder_below(folkmoot):
    mine = folkmoot.folder / "reviewers" / "tests.ai"
    mine.parent.mkdir()
    mine.write_text("mine")

    done = folkmoot("init", "--template", "review-team")

    assert (done.code, "reviewers/tests.ai" in done.err, mine.read_text()) == (2, True, "mine")
    assert not (folkmoot.folder / "folkmoot.yaml").exists()


def test_the_templates_are_listed_with_a_line_each_and_in_the_help(folkmoot):
    listed, helped = folkmoot("init", "--list").out, folkmoot("init", "--help").out

    for name, template in TEMPLATES.items():
        line = f"{name:<16}  {template.line}"
        assert line in listed
        assert line in helped
    assert [each["name"] for each in folkmoot("init", "--list", "--json").json] == list(TEMPLATES)
    assert list(folkmoot.folder.glob("*.ai")) == []


def test_the_shell_completes_the_names_of_templates(folkmoot, monkeypatch, capsys):
    monkeypatch.setenv("_FOLKMOOT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "folkmoot init --template re")
    monkeypatch.setenv("COMP_CWORD", "3")

    with pytest.raises(SystemExit):
        folkmoot()
    assert capsys.readouterr().out.split() == ["review-team", "research"]


@pytest.mark.parametrize("name", NAMES)
def test_a_template_is_the_example_of_its_name_without_what_a_run_left_there(folkmoot, name):
    made = folkmoot("init", "-t", name, "project", "--json").json["files"]

    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."],
        cwd=ROOT / "examples" / name, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert set(made) == {*listing.stdout.split(), ".gitignore"}
