"""The check that keeps secrets and one machine's paths out of the repository."""

import pytest

from checks import hygiene

# Put together here, so that this file is clean itself.
FAULTS = {
    "a path of one machine": ["/".join(["see ", place, "notes"]) for place in ("work", "root", "farm")],
    "a package index": [
        "https://py" + "pi.org/simple",
        "files.python" + "hosted.org",
        "pip install -" + "-index-url x",
    ],
    "what looks like a secret key": [
        "key = 's" + "k-proj-abcdefghijklmnopqrstuvwx'",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "gh" + "p_" + "a" * 36,
        "-----BEGIN RSA PRIVATE " + "KEY-----",
    ],
}


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in FAULTS.items() for text in texts])
def test_what_must_not_be_published_is_found_in_any_file(repository, write, capsys, what, text):
    write("docs/page.md", f"first line\n{text}\n")

    code = hygiene.main(repository)

    assert (code, capsys.readouterr().out) == (1, f"docs/page.md:2: {what}\n")


@pytest.mark.parametrize(
    "text", ["docs/work/x", "~/work/x", "sk-short", "--no-emit-index-url", "the root / of it", "a.b/root/"]
)
def test_what_only_resembles_a_fault_is_let_through(repository, write, text):
    write("docs/page.md", text)

    assert hygiene.main(repository) == 0


def test_loose_ends_are_found_in_the_source_and_nowhere_else(repository, write, capsys):
    write("src/folkmoot/app.py", "# TO" + "DO: later\n# FIX" + "ME\n")
    write("tests/test_it.py", "# TO" + "DO: later\n")

    code = hygiene.main(repository)

    assert code == 1
    assert capsys.readouterr().out.splitlines() == [
        "src/folkmoot/app.py:1: a loose end",
        "src/folkmoot/app.py:2: a loose end",
    ]


def test_ignored_files_and_links_are_not_looked_at(repository, write):
    write(".gitignore", ".venv/\n")
    write(".venv/secret.txt", FAULTS["a package index"][0])
    (repository / "link").symlink_to(repository / ".venv" / "secret.txt")

    assert hygiene.main(repository) == 0


def test_pictures_are_no_obstacle(repository):
    (repository / "mark.png").write_bytes(b"\x89PNG\xff\xfe\x00")

    assert hygiene.main(repository) == 0
