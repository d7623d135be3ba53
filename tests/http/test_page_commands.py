"""The commands that a page prints are typed by people: each of them works as it stands there."""

import re
import shlex
import subprocess
from html import unescape

import pytest

from checks.files import ROOT
from tests.cli.conftest import PROGRAM
from tests.http.page import browsing

TEMPLATES = ROOT / "src" / "folkmoot" / "http" / "templates"
EMPTY = {
    "runs.html": "/runs",
    "tasks.html": "/tasks",
    "decisions.html": "/decisions",
    "work_list.html": "/work-sessions",
    "costs.html": "/costs",
    "events.html": "/events",
}
"""Screens that say how they are filled."""


def typed(folder, command):
    assert command.startswith("folkmoot ")
    return subprocess.run(
        [*PROGRAM, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("path", EMPTY.values())
async def test_the_command_that_an_empty_screen_prints_fills_it(desk, path):
    """K-85: in the project itself, with one of its own agents."""
    project = desk({"clerk": ""}, {})
    (project.folder / "script.yaml").write_text("agents: {clerk: [{report: done}]}\n")
    async with browsing(project) as page:
        (command,) = re.findall(r"<pre>([^<]*)</pre>", (await page.get(path)).html)

    done = typed(project.folder, unescape(command))

    assert done.returncode == 0, done.stderr


def test_every_template_that_names_a_command_is_looked_at(tmp_path):
    """K-85: of those that are no empty screen, one begins a project, and one names an option of the server."""
    named = {
        path.name for path in TEMPLATES.glob("*.html") if re.search(r"\bfolkmoot [a-z]", path.read_text())
    }
    assert named == {*EMPTY, "graph.html", "sign_in.html"}

    (begin,) = re.findall(r"<pre>(folkmoot [^<]*)</pre>", (TEMPLATES / "graph.html").read_text())
    assert typed(tmp_path, begin).returncode == 0
    assert "--token-file" in typed(tmp_path, "folkmoot serve --help").stdout
