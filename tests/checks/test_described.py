"""The check that everything which people write or type has words."""

from typing import Annotated

import typer
from msgspec import Struct
from typer.main import get_command

from checks import described
from checks.generate import below
from checks.structs import all_rows


def test_nothing_is_without_words():
    """A-110."""
    assert list(described.undescribed()) == []


def test_a_key_without_a_line_beneath_it_is_named():
    class Inner(Struct):
        size: int = 0

    class Outer(Struct):
        inner: Inner
        """It has a word."""

    assert list(described.keys("a.yaml", all_rows(Outer))) == [
        "a.yaml: the key 'inner.size' has no line beneath it"
    ]


def test_an_event_without_a_docstring_is_named():
    class Silent:
        pass

    assert list(described.events({"silent.happened": Silent})) == [
        "the event 'silent.happened' has no docstring"
    ]


def test_a_command_without_help_example_or_words_for_an_option_is_named():
    app = typer.Typer()

    @app.command()
    def mute(): ...

    @app.command()
    def plain(size: Annotated[int, typer.Option()] = 0):
        """It does something."""

    found = [
        fault for path, command in below(get_command(app), "f") for fault in described.commands(path, command)
    ]
    assert [fault for fault in found if "completion" not in fault and not fault.startswith("`f`")] == [
        "`f mute` has no help",
        "`f plain` shows no example",
        "`f plain`: size has no help",
    ]


def test_an_operation_without_a_summary_or_words_for_what_is_asked_is_named():
    asked = {"in": "query", "name": "size"}
    document = {"paths": {"/a": {"get": {"parameters": [asked, {"in": "path", "name": "id"}]}}}}

    assert list(described.operations(document)) == [
        "GET /a has no summary",
        "GET /a: size has no line beneath it",
    ]


def test_a_variable_that_is_on_no_page_is_named(tmp_path):
    (tmp_path / "a.py").write_text('READ = ("FOLKMOOT_KNOWN", "FOLKMOOT_UNKNOWN")')

    assert list(described.variables(tmp_path, "`FOLKMOOT_KNOWN`")) == [
        "the variable FOLKMOOT_UNKNOWN is not on the page of variables"
    ]
