"""The documentation is true where somebody answers, too: a server of ours, a model's, a database's."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.process import model_server
from folkmoot.domain.providers import BUILT_IN
from tests.docs.chat_server import shop_model
from tests.docs.pages import play
from tests.docs.texts import GUIDES, MOVING, PAGES, SERVED, WITH_DATABASE, WITH_KEY

pytestmark = pytest.mark.usefixtures("desktop")


@pytest.fixture
def vendors(monkeypatch):
    """What OpenAI and Anthropic are asked is answered here, by one that wants no real key."""
    with shop_model() as port:
        for name in ("openai", "anthropic"):
            here = replace(BUILT_IN[name], kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
            monkeypatch.setitem(BUILT_IN, name, here)
        yield


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.mark.parametrize("name", SERVED)
def test_what_is_asked_of_our_server_is_answered_as_the_page_shows(name):
    """A-110."""
    assert play(PAGES[name], name=name)


@pytest.mark.usefixtures("vendors")
@pytest.mark.parametrize("name", WITH_KEY)
def test_what_needs_a_key_is_asked_of_a_real_server(name):
    """A-110."""
    assert play(PAGES[name], name=name)


@pytest.mark.usefixtures("vendors")
@pytest.mark.parametrize("name", GUIDES)
def test_what_is_typed_elsewhere_works_too(name):
    play(GUIDES[name], name=name)


@pytest.mark.parametrize("name", WITH_DATABASE)
def test_what_needs_postgresql_is_done_there(name, postgres):
    """A-110."""
    assert play(PAGES[name], {"postgresql://moot@db.example.com/folkmoot": postgres.url}, name=name)


def test_the_entry_that_an_mcp_client_takes_starts_our_server():
    """A-110, over HTTP too."""
    there = {"8000": free_port(), "/home/ann/desk": str(Path.cwd() / "desk")}

    assert play(PAGES["mcp-server.md"], there, name="mcp-server.md")


def test_the_tutorial_leads_from_an_empty_folder_to_a_team_on_postgresql(postgres):
    """A-110, with servers where the page has some: a model's, and a database's."""
    with model_server() as model:
        there = {"8000": str(model), "8484": free_port(), "postgresql://moot@127.0.0.1/moot": postgres.url}

        assert play(PAGES["tutorial.md"], there, name="tutorial.md") > 20


@pytest.mark.parametrize("name", MOVING)
def test_programs_of_other_frameworks_and_the_same_in_ours_give_what_the_page_shows(name):
    """A-110, with a model's server on loopback for both."""
    with shop_model() as model:
        assert play(PAGES[name], {"8000": str(model), "8484": free_port()}) > 2
