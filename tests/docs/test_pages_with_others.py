"""The documentation is true with others beside it: a model's server, a database, another framework."""

import pytest
from msgspec.structs import replace

from bench.process import model_server
from folkmoot.domain.providers import BUILT_IN
from tests.docs.chat_server import shop_model
from tests.docs.pages import play
from tests.docs.texts import GUIDES, MOVING, PAGES, WITH_DATABASE, WITH_KEY

pytestmark = pytest.mark.usefixtures("desktop")


@pytest.fixture
def vendors(monkeypatch):
    """What OpenAI and Anthropic are asked is answered here, in the language of chat completions; any key will do."""
    with shop_model() as port:
        for name in ("openai", "anthropic"):
            here = replace(BUILT_IN[name], kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
            monkeypatch.setitem(BUILT_IN, name, here)
        yield


@pytest.mark.usefixtures("vendors")
@pytest.mark.parametrize("name", WITH_KEY)
def test_what_needs_a_key_is_asked_of_a_server_here(name):
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


def test_the_tutorial_leads_from_an_empty_folder_to_a_team_on_postgresql(postgres, free_port):
    """A-110, with servers where the page has some: a model's, and a database's."""
    with model_server() as model:
        there = {"8000": str(model), "8484": free_port, "postgresql://moot@127.0.0.1/moot": postgres.url}

        assert play(PAGES["tutorial.md"], there, name="tutorial.md") > 20


@pytest.mark.parametrize("name", MOVING)
def test_programs_of_other_frameworks_and_the_same_in_ours_give_what_the_page_shows(name, free_port):
    """A-110, with a model's server on loopback for both."""
    with shop_model() as model:
        assert play(PAGES[name], {"8000": str(model), "8484": free_port}) > 2
