"""What README.md and the example project promise."""

import os
import re
import shlex
import subprocess
import sys

from checks.files import ROOT
from tests.docs.pages import blocks
from tests.docs.shown import compare
from tests.examples import copied

README = (ROOT / "README.md").read_text()


def test_the_first_steps_lead_to_a_letter(folkmoot, monkeypatch):
    (steps,) = re.findall(r"```sh\n(folkmoot init.*?)```", README, re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in steps.splitlines()]

    for program, *arguments in commands:
        if program == "cd":
            monkeypatch.chdir(folkmoot.folder / arguments[0])
            continue
        done = folkmoot(*arguments)
        assert done.code == 0, arguments
    assert {"init", "check", "run", "graph"} == {words[1] for words in commands if words[0] == "folkmoot"}


def test_the_python_example_runs(folkmoot):
    folkmoot("init", "desk")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    agent = folkmoot.folder / "desk" / "front-desk.ai"
    agent.write_text(agent.read_text().replace("advisors:", "tools: [order_status]\nadvisors:"))

    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folkmoot.folder, env=env, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("completed Thank you")


def test_it_leads_to_the_documentation():
    assert "(docs/README.md)" in README.partition("## More")[2]


def test_the_settings_that_it_shows_are_sound(folkmoot):
    settings = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)

    assert [text for text in settings if "ollama" in text]
    for text in settings:
        folkmoot.write({"a": "description: a"}, {}, text)
        assert folkmoot("check").code == 0, text


def test_the_example_project_is_sound_and_its_letters_come_from_the_desk_that_fits(folkmoot):
    copied("front-desk", folkmoot.folder)

    assert folkmoot("check").err == "9 agents, no problems, no warnings\n"
    for request, word in (
        ("I was charged twice for order 1042. Can I have a refund?", "billing desk"),
        ("Where is my parcel?", "shipping desk"),
        ("My lawyer says you owe me a new one.", "neither of us needs a court"),
        ("Hello?", "within a day"),
    ):
        assert word in folkmoot("run", "front-desk.ai", request, "-q").out


def test_the_tree_in_the_readme_of_the_example_is_its_graph(folkmoot):
    folder = ROOT / "examples" / "front-desk"
    shown = re.findall(r"```text\n(front-desk\.ai .*?)```", (folder / "README.md").read_text(), re.DOTALL)[0]

    drawn = folkmoot("--project", str(folder), "graph").out
    assert [line.partition(".ai")[0] for line in shown.splitlines()] == [
        line.partition(".ai")[0] for line in drawn.splitlines()
    ]


def test_the_session_in_the_readme_has_the_agents_of_the_example():
    (session,) = re.findall(r"\$ folkmoot run front-desk(.*?)```", README, re.DOTALL)

    assert re.findall(r"✔ ([\w-]+)", session) == [
        "front-desk",
        "fraud",
        "mood",
        "billing",
        "ledger",
        "editor",
    ]


def test_what_the_readme_shows_of_the_journal_is_what_a_run_leaves(folkmoot):
    copied("front-desk", folkmoot.folder)
    (shown,) = (block for block in blocks(README) if block.text.startswith("$ folkmoot runs show last"))

    folkmoot("run", "front-desk.ai", "I was charged twice for order 1042. Can I have a refund?", "-q")

    compare(shown, "the journal", shown.text.partition("\n")[2], folkmoot("runs", "show", "last").out)


def test_a_payment_killed_in_the_middle_is_booked_once_when_its_run_is_resumed(tmp_path):
    """K-104: the end of `./dev demo`, as the README shows it."""
    copied("payment", tmp_path)
    (shown,) = (block for block in blocks(README) if block.text.startswith("$ folkmoot run cashier.ai"))

    command = [sys.executable, tmp_path / "kill_and_resume.py"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=subprocess.STDOUT, text=True)

    assert done.returncode == 0
    compare(shown, "the demo", shown.text, done.stdout)
    first, again = ((tmp_path / "payments.csv").read_text()).splitlines()
    assert (first.rpartition(",")[2], again.rpartition(",")[2]) == ("booked", "known already")
    assert first.rpartition(",")[0] == again.rpartition(",")[0]
