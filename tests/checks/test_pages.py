"""The check of the pages: what is wrong with them is named."""

import re

import pytest

from checks.files import ROOT
from checks.pages import faults
from folkmoot.site.pages import load_documentation
from tests.site.shelf import BEGIN, CONTENTS, shelf


def test_sound_pages_have_no_faults(tmp_path):
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
            "begin.md: the link to 'nowhere' leads nowhere: there is no such page or file",
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
            "reference/keys.md: the link to 'x.png' leads nowhere: there is no such page or file",
        ),
        (
            {"README": CONTENTS.replace("begin.md", "gone.md"), "begin": "# A\n"},
            "README.md: the link to 'gone' leads nowhere: there is no such page or file",
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


def test_the_documentation_itself_is_sound():
    """A-110."""
    assert faults(load_documentation()) == []


def test_what_a_page_names_of_the_repository_is_there():
    named = {
        name
        for page in load_documentation().pages.values()
        for name in re.findall(r"`((?:tests|chaos|examples|bench)/[\w/.-]*)(?:::\w+)?`", page.source)
    }

    assert "tests/contract/test_verify.py" in named
    assert [name for name in named if not (ROOT / name).exists()] == []
