"""The check that documents match the code."""

import pytest

from checks import docs

GENERATORS = {"keys": lambda: "| `models` |"}
PAGE = "# Keys\n\n<!-- generated: keys -->\n\n| `models` |\n\n<!-- end -->\n"


@pytest.fixture
def sound(write):
    """A repository in which nothing is wrong."""
    write("ARCHITECTURE.md", "The map. See [keys](docs/keys.md).\n")
    return write("docs/keys.md", PAGE)


def faults(repository, capsys, *arguments):
    code = docs.main(list(arguments), repository, GENERATORS, lambda: ())
    lines = capsys.readouterr().out.splitlines()
    assert code == (0 if lines == ["documents match the code"] else 1)
    return lines if code else []


@pytest.mark.usefixtures("sound")
def test_a_sound_repository_passes(repository, capsys):
    assert faults(repository, capsys) == []


def test_a_generated_part_that_differs_from_the_code_fails_and_is_renewed_on_request(
    repository, sound, capsys
):
    """A-110: a change of the code cannot pass without its reference page."""
    sound.write_text(PAGE.replace("models", "modles"))

    assert faults(repository, capsys) == [
        "docs/keys.md: a generated part differs from the code: run ./dev docs"
    ]
    assert faults(repository, capsys, "--write") == []
    assert sound.read_text() == PAGE


def test_a_part_without_a_page_or_without_a_generator_fails(repository, sound, capsys):
    sound.write_text(PAGE.replace("generated: keys", "generated: kyes"))

    assert faults(repository, capsys) == [
        "generated part 'keys' has no page",
        "generated part 'kyes' has no generator",
    ]


@pytest.mark.parametrize("target", ["missing.md", "../src/missing.py#L3", "./keys.md/x"])
def test_a_dead_link_fails(repository, sound, capsys, target):
    sound.write_text(f"{PAGE}[there]({target})")

    path = target.partition("#")[0]
    assert faults(repository, capsys) == [f"docs/keys.md: the link to {path!r} leads nowhere"]


@pytest.mark.parametrize(
    "text", ["[a](https://a.example/x)", "[a](#keys)", "[a](../ARCHITECTURE.md#map)", "```\n[a](no.md)\n```"]
)
def test_links_that_lead_somewhere_or_are_code_pass(repository, sound, capsys, text):
    sound.write_text(f"{PAGE}\n{text}\n")

    assert faults(repository, capsys) == []


@pytest.mark.usefixtures("sound")
def test_a_map_of_more_than_two_hundred_lines_fails(repository, write, capsys):
    write("ARCHITECTURE.md", "line\n" * 200)
    assert faults(repository, capsys) == []

    write("ARCHITECTURE.md", "line\n" * 201)
    assert faults(repository, capsys) == ["ARCHITECTURE.md has 201 lines; a map has at most 200"]


def test_a_missing_map_fails(repository, sound, capsys):
    (repository / "ARCHITECTURE.md").unlink()

    assert faults(repository, capsys) == ["ARCHITECTURE.md is missing"]
