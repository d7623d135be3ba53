"""The page about A2A is true: what needs a server is played against one."""

import os
import sys
from pathlib import Path

from checks.files import ROOT
from tests.a2a_server.conftest import Server
from tests.docs.pages import play

PAGE = (ROOT / "docs" / "a2a.md").read_text()
BEGINS = "<!-- not run: it stays until it is told to stop -->"
MARK = "<!-- not run: by tests/a2a_server/test_page.py, against a server -->"
ADDRESS = "http://127.0.0.1:8484"


def test_what_the_page_shows_of_a_server_is_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    before, begins, after = PAGE.partition(BEGINS)
    play(before)
    server = Server(tmp_path / "desk")
    try:
        done = play((begins + after).replace(MARK, "<!-- run -->").replace(ADDRESS, server.address))
    finally:
        server.kill()

    assert (done, PAGE.count(MARK)) == (9, 3)
