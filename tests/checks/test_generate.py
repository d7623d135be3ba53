"""The generated parts of the reference."""

from typing import Annotated

import typer
from typer.main import get_command

from checks import generate
from folkmoot.domain.catalogue import EVENTS


def test_every_event_has_its_section_with_name_version_and_docstring():
    text = generate.events()

    for name, event in EVENTS.items():
        assert f"## `{name}`, version {event.version}\n\n{event.__doc__}" in text


def test_every_shape_that_an_event_links_to_has_its_section():
    text = generate.events()

    assert "| `outcome` | [Outcome](#outcome) |" in text
    assert "\n### Outcome\n" in text
    assert "\n### Report\n" in text


def test_the_keys_of_an_agent_and_of_a_project_are_listed_with_what_they_take():
    assert "| `router.destinations` | agent files |" in generate.frontmatter()
    assert "| `providers.NAME.price` | `free` or mapping |" in generate.settings()


def test_every_unit_of_a_duration_is_told_where_durations_are():
    for text in (generate.frontmatter(), generate.settings()):
        assert "A *duration* is a number and a unit (`ms`, `s`, `m`, `h`, `d`)" in text


def test_commands_are_listed_with_their_options_and_hidden_ones_are_not():
    app, runs = typer.Typer(), typer.Typer(help="What ran.")
    app.add_typer(runs, name="runs")

    @runs.command()
    def show(
        run: Annotated[str, typer.Argument(help="Its id.")],
        json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
        after: Annotated[int, typer.Option(help="Events | after this.")] = 0,
    ):
        """One run.

        \b
        Example:
          folkmoot runs show last
        """

    @app.command(hidden=True)
    def secret(): ...

    pages = list(generate.commands(get_command(app), "folkmoot"))

    assert [page.splitlines()[0] for page in pages] == [
        "## folkmoot",
        "## folkmoot runs",
        "## folkmoot runs show",
    ]
    assert pages[-1].split("\n\n")[1:] == [
        "One run.",
        "```text\nExample:\n  folkmoot runs show last\n```",
        "```text\nfolkmoot runs show [OPTIONS] RUN\n```",
        "| Option | Meaning |\n| --- | --- |\n"
        "| `RUN` | Its id. |\n"
        "| `--json` | For programs. |\n"
        "| `--after AFTER` | Events \\| after this. |",
    ]
