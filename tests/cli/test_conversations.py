"""`folkmoot conversations` as its users meet it."""

import pytest

from tests.cli.conftest import interrupted, wait_for
from tests.orchestration.messages import calls, have, write

AGENTS = {"ann": "tools: [messages]", "bob": "description: knows the law"}
SCRIPT = {
    "ann": [calls(write("bob", "may we?", label="Law"), have("bob", "count")), {"report": "done"}],
    "bob": [{"report": "yes"}],
}


@pytest.fixture
def told(folkmoot):
    folkmoot.write(AGENTS, SCRIPT)
    assert folkmoot("run", "ann.ai", "hello", "-q").code == 0
    return folkmoot


def test_conversations_are_listed_and_shown(told):
    """E-7, E-83: as tables for people and as one document for programs."""
    [thread] = told("conversations", "list", "--json").json
    assert (thread["title"], thread["participants"], len(thread["turns"])) == ("Law", ["ann", "bob"], 1)
    assert thread["turns"][0]["outcome"] == "replied"
    listed = told("conversations", "list").out
    assert "CONVERSATION" in listed
    assert thread["conversationId"] in listed

    shown = told("conversations", "show").out
    assert "Law  (ann, bob)" in shown
    assert "ann -> bob: may we?" in shown
    assert "bob -> ann: yes" in shown
    assert "count" not in shown
    assert told("conversations", "show", thread["conversationId"][:8], "--json").json == thread


def test_with_all_there_is_also_what_agents_had_others_do(told):
    [thread] = told("conversations", "list", "--all", "--json").json

    assert sorted(turn["message"] for turn in thread["turns"]) == ["count", "may we?"]


def test_where_nobody_wrote_that_is_said(folkmoot):
    folkmoot.write(AGENTS, {"ann": [{"report": "done"}]})
    assert "no main agents have written" in folkmoot("conversations", "list").err
    assert folkmoot("conversations", "list", "--json").json == []
    folkmoot("run", "ann.ai", "hello", "-q")

    assert "no main agents have written to each other yet" in folkmoot("conversations", "list").err
    assert folkmoot("conversations", "list", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "conv_x"), "there is no conversation 'conv_x'; `folkmoot conversations list --all` shows"),
        (("show", "--live", "--json"), "--live and --json do not go together"),
        (("list", "--live", "--json"), "--live and --json do not go together"),
    ],
)
def test_wrong_use_names_the_remedy(told, arguments, says):
    done = told("conversations", *arguments)

    assert done.code == 2
    assert says in done.err


@pytest.mark.parametrize("arguments", [("list", "--live"), ("show", "--live")])
def test_what_is_said_from_now_on_is_printed_as_it_comes(told, arguments):
    """A view that stays open until it is interrupted."""
    watching = told.started("conversations", *arguments)
    wait_for(watching.stdout, "Law" if arguments[0] == "list" else "bob -> ann: yes")
    told("run", "ann.ai", "again", "-q")
    if arguments[0] == "list":
        assert "ann -> bob: may we?" in wait_for(watching.stdout, "bob -> ann: yes")
    done = interrupted(watching)
    assert "may we?" not in done.out
    assert "Traceback" not in done.err
    assert done.code == 130


def test_the_list_of_agents_shows_what_they_say_of_themselves(told):
    """E-55: as the tools do."""
    assert "knows the law" in told("agents", "list").out
