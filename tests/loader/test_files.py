import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from folkmoot.errors import DeclarationError
from folkmoot.loader import files
from folkmoot.loader.load import load
from tests.loader.making import error, errors, loaded, problems, write

PLAIN = "description: plain"


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("/etc/x.ai", "must be a path relative to this file"),
        ("~/x.ai", "must be a path relative to this file"),
        ("../x.ai", "leads out of the project"),
        ("sub/../../x.ai", "leads out of the project"),
        ("../home/a.ai", "leads out of the project"),
        ("''", "is empty"),
        ("folder.ai", "is not a regular file"),
        ("a.ai/x.ai", "does not exist|cannot be read"),
        (f"{'x' * 300}.ai", "cannot be read"),
    ],
)
def test_a_reference_leads_to_a_file_inside_of_the_project(tmp_path, reference, reason):
    """A-6, A-7."""
    (tmp_path / "x.ai").write_text("---\n---\noutside")
    (tmp_path / "home" / "folder.ai").mkdir(parents=True)

    message = error(tmp_path / "home", {"a.ai": f"handoff: {reference}"})

    assert any(each in message for each in reason.split("|"))


def test_a_link_out_of_the_project_is_never_followed(tmp_path):
    """A-6."""
    (tmp_path / "secret.ai").write_text("---\n---\nthe secret")
    project = write(tmp_path / "project", {"a.ai": "handoff: link.ai\nadvisors: [folder/secret.ai]"})
    (project / "link.ai").symlink_to(tmp_path / "secret.ai")
    (project / "folder").symlink_to(tmp_path)

    found = errors(project, {})

    assert [line.split(": ")[0] for line in found] == ["a.ai:2:10", "a.ai:3:12", "link.ai:1:1"]
    assert all("is a link that leads out of the project" in line for line in found)


def test_links_in_a_circle_end_somewhere(tmp_path):
    (tmp_path / "x.ai").symlink_to("y.ai")
    (tmp_path / "y.ai").symlink_to("x.ai")

    found = errors(tmp_path, {"a.ai": "handoff: x.ai"})

    assert [line.split(": ")[0] for line in found] == ["a.ai:2:10", "x.ai:1:1", "y.ai:1:1"]


def test_settings_behind_a_link_out_of_the_project_are_refused(tmp_path):
    (tmp_path / "passwords").write_text("root:x:0:0")
    project = write(tmp_path / "project", {"a.ai": PLAIN})
    (project / "folkmoot.yaml").unlink()
    (project / "folkmoot.yaml").symlink_to(tmp_path / "passwords")

    with pytest.raises(
        DeclarationError, match=r"folkmoot\.yaml:1:1: folkmoot\.yaml is a link that leads out"
    ):
        load(project, known={})


def test_two_names_of_one_file_are_one_agent(tmp_path):
    """A-6, A-8: a link cannot hide a cycle."""
    project = write(tmp_path, {"a.ai": "handoff: b.ai", "shared/c.ai": PLAIN})
    (project / "b.ai").symlink_to("shared/c.ai")
    (project / "d").symlink_to("shared")

    graph = loaded(project, {"e.ai": "handoff: d/c.ai"}).graph

    assert (graph.agents["a.ai"].handoff, graph.agents["e.ai"].handoff) == ("shared/c.ai", "shared/c.ai")
    assert list(graph.agents) == ["a.ai", "e.ai", "shared/c.ai"]


@pytest.mark.parametrize("name", ["a b.ai", "ä.ai", f"{'x' * 65}.ai", "a@b.ai"])
def test_the_name_of_a_file_is_the_id_of_an_agent(tmp_path, name):
    """O-18."""
    assert "is no agent's name; use A-Z a-z 0-9 . _ - (at most 64)" in error(tmp_path, {name: PLAIN})


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.ai")

    assert "not a regular file" in error(tmp_path, {})


def test_a_file_name_that_cannot_be_shown_is_escaped(tmp_path):
    for name in ("esc\x1b[31m.ai", "new\nline.ai"):
        (tmp_path / name).write_text("x")

    found = problems(tmp_path, {})

    assert len(found) == 2
    assert all(str(problem).isprintable() for problem in found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbf---\n---\nx", "a.ai:1:1: the file begins with a byte order mark"),
        (b"---\ndescription: \xff\n---\nx", "a.ai:2:14: the byte 0xff is not UTF-8"),
        (
            "---\ndescription: é\n---\n\u00e4".encode() + b"\xed\xa0\x80",
            "a.ai:4:2: the byte 0xed is not UTF-8",
        ),
        (b"---\n---\nprompt \0", "a.ai:3:8: there is a NUL byte here"),
        ("---\n---\nx".encode("utf-16"), "a.ai:1:1: the byte 0xff is not UTF-8"),
        (b"", "a.ai:1:1: the frontmatter is missing"),
    ],
)
def test_what_is_no_text_is_told_with_its_position(tmp_path, content, message):
    """A-107."""
    found = errors(tmp_path, {"a.ai": content})

    assert found[0].startswith(message)


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_FOLDERS"])
def test_a_folder_that_is_too_large_for_a_project_is_not_searched_to_its_end(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(files, limit, 3)

    assert (
        "this is no project; name a smaller folder"
        in errors(tmp_path, {f"{n}/a.ai": PLAIN for n in range(9)})[0]
    )


@contextmanager
def not_as_root():
    """Root may read everything."""
    who = os.geteuid()
    if who == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(who)


def test_a_file_that_cannot_be_read_is_an_error():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write(folder, {"a.ai": PLAIN})
        (folder / "a.ai").chmod(0)
        with not_as_root(), pytest.raises(DeclarationError) as caught:
            load(folder, known={})

    assert "cannot be read" in str(caught.value)
