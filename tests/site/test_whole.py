"""The site as a whole: what is wrong with it is found, what is searched for too, and it is written as files."""

import re
from pathlib import Path

import pytest

from checks.files import ROOT
from folkmoot.errors import OperationFailed
from folkmoot.site.build import ASSETS, build
from folkmoot.site.faults import faults
from folkmoot.site.library import library
from folkmoot.site.search import search
from tests.site.shelf import BEGIN, CONTENTS, shelf

STATIC = ROOT / "src" / "folkmoot" / "http" / "static"


def test_a_sound_site_has_no_faults(tmp_path):
    assert faults(shelf(tmp_path)) == []


@pytest.mark.parametrize(
    ("pages", "fault"),
    [
        ({"lost": "# Lost\n"}, "lost.md is not in the table of contents (README.md)"),
        (
            {"README": CONTENTS + "- [Again](begin.md)\n"},
            "begin.md is 2 times in the table of contents (README.md)",
        ),
        (
            {"begin": BEGIN + "[x](nowhere.md)\n"},
            "begin.md: the link to 'nowhere' leads nowhere: there is no such page",
        ),
        (
            {"begin": BEGIN + "[x](reference/keys.md#sice)\n"},
            "begin.md: the link to 'reference/keys#sice' leads nowhere: that page has no such heading",
        ),
        (
            {"begin": BEGIN + "[x](#asked)\n"},
            "begin.md: the link to 'begin#asked' leads nowhere: that page has no such heading",
        ),
        (
            {"reference__keys": "# Keys\n\n## The key `size`\n\n![x](../x.png)\n"},
            "reference/keys.md: the link to 'x.png' leads nowhere: there is no such file",
        ),
        (
            {"README": CONTENTS.replace("begin.md", "gone.md"), "begin": "# A\n"},
            "README.md: the link to 'gone' leads nowhere: there is no such page",
        ),
        ({"begin": BEGIN + "# B\n"}, "begin.md: a page has one heading of the first level, its title"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, pages, fault):
    assert fault in faults(shelf(tmp_path, **pages))


@pytest.mark.parametrize("language", ["", "pyhton"])
def test_code_without_a_known_language_is_a_fault(tmp_path, language):
    found = faults(shelf(tmp_path, begin=f"{BEGIN}\n```{language}\nx\n```\n"))

    assert len(found) == 1
    line = BEGIN.count("\n") + 2
    assert f"begin.md:{line}: a code block is {language!r}; name one of console, " in found[0]


def test_every_word_must_be_there_and_headings_come_first(tmp_path):
    books = shelf(tmp_path)

    found = [(hit.page.id, hit.section.anchor) for hit in search(books, "SIZE key")]
    assert found[0] == ("reference/keys", "the-key-size")
    assert search(books, "size elephant") == search(books, "  ") == []
    assert "Twice." in search(books, "twice")[0].excerpt


def test_the_site_is_a_folder_of_pages_that_ask_no_other_place(tmp_path):
    written = build(shelf(tmp_path / "docs"), STATIC, tmp_path / "out")

    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    pages = {"index.html", "begin.html", "reference/keys.html", "search.html", "404.html"}
    assert names == {*pages, *(f"static/{name}" for name in ASSETS)}
    assert written == len(pages)
    for name in pages:
        text = (tmp_path / "out" / name).read_text()
        assert "style=" not in text
        assert "<script>" not in text
        for address in re.findall(r"(?:src|href)=[\"']([^\"'#]+)", text):
            there = (tmp_path / "out" / name).parent / address
            assert address == "https://a.example" or there.exists(), (name, address)


def test_a_site_with_faults_is_not_built(tmp_path):
    with pytest.raises(OperationFailed, match=r"lost\.md is not in the table"):
        build(shelf(tmp_path / "docs", lost="# Lost\n"), STATIC, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_the_documentation_itself_is_sound():
    """A-110."""
    assert faults(library()) == []


def test_what_a_page_names_of_the_repository_is_there():
    named = {
        name
        for page in library().pages.values()
        for name in re.findall(r"`((?:tests|chaos|examples|bench)/[\w/.-]*)(?:::\w+)?`", page.source)
    }

    assert "tests/contract/test_verify.py" in named
    assert [name for name in named if not Path(ROOT / name).exists()] == []
