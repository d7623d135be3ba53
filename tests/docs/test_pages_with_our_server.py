"""The documentation is true where its reader starts a server of ours and asks it."""

from pathlib import Path

import pytest

from tests.docs.pages import play
from tests.docs.texts import PAGES, SERVED

pytestmark = pytest.mark.usefixtures("desktop")


@pytest.mark.parametrize("name", SERVED)
def test_what_is_asked_of_our_server_is_answered_as_the_page_shows(name):
    """A-110."""
    assert play(PAGES[name], name=name)


def test_the_entry_that_an_mcp_client_takes_starts_our_server(free_port):
    """A-110, over HTTP too."""
    there = {"8000": free_port, "/home/ann/desk": str(Path.cwd() / "desk")}

    assert play(PAGES["mcp-server.md"], there, name="mcp-server.md")
