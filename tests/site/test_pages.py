"""Pages of the documentation: their order, their anchors, their HTML."""

import pytest

from folkmoot.errors import OperationFailed
from folkmoot.site.contents import Entry
from folkmoot.site.html import SERVED, beside, html
from folkmoot.site.library import library, read_library
from folkmoot.site.page import excerpted, read_page
from tests.site.shelf import shelf


def test_the_contents_are_groups_of_pages_in_the_order_of_the_readme(tmp_path):
    contents = shelf(tmp_path).contents

    assert [group.title for group in contents.groups] == ["First hour", "Look up"]
    assert contents.entries == [
        Entry("begin", "Begin", "a project that runs"),
        Entry("reference/keys", "Keys of a.yaml", ""),
    ]


def test_each_page_knows_what_comes_before_and_after_it(tmp_path):
    contents = shelf(tmp_path).contents
    first, last = contents.entries

    assert contents.around("begin") == (None, last)
    assert contents.around("reference/keys") == (first, None)
    assert contents.around("README") == (None, first)


def test_anchors_are_those_of_code_hosts_and_never_the_same(tmp_path):
    page = shelf(tmp_path).pages["begin"]

    assert [section.anchor for section in page.sections] == ["beginning", "ask--answer", "ask--answer-1"]
    assert read_page("a", "# `run.started`, version 1\n").anchors == {"runstarted-version-1"}


@pytest.mark.parametrize(
    ("addresses", "link", "home"),
    [
        (SERVED, "/docs/reference/keys#the-key-size", "/docs"),
        (beside("begin"), "reference/keys.html#the-key-size", "index.html"),
    ],
)
def test_links_fit_where_a_page_is_shown(tmp_path, addresses, link, home):
    text = html(shelf(tmp_path).pages["begin"], addresses)

    assert f"<a href='{link}'>the keys</a>" in text
    assert addresses.page("README") == home


def test_a_page_in_a_folder_finds_its_way_up(tmp_path):
    text = html(shelf(tmp_path).pages["reference/keys"], beside("reference/keys"))

    assert "<a href='../begin.html'>" in text
    assert "<a href='https://a.example' rel='noopener noreferrer'>" in text


def test_what_only_a_clone_has_is_named_and_no_link(tmp_path):
    text = html(shelf(tmp_path).pages["README"], SERVED)

    assert "<span class='outside' title='in a clone of the repository'>examples</span>" in text


def test_code_bears_its_file_or_its_language_and_comments_are_no_text(tmp_path):
    text = html(shelf(tmp_path).pages["begin"], SERVED)

    assert "<figcaption>desk/a.yaml</figcaption>" in text
    assert "size: 2 # &lt;b&gt;" in text
    assert "<!--" not in text
    assert "<figcaption>json</figcaption>" in html(read_page("a", "# A\n\n```json\n1\n```\n"), SERVED)


def test_markup_on_a_page_is_text(tmp_path):
    assert "&lt;script&gt;alert(1)" in html(shelf(tmp_path).pages["begin"], SERVED)


def test_a_table_scrolls_in_a_box_that_keys_reach(tmp_path):
    assert "<div class='wide' tabindex='0'" in html(shelf(tmp_path).pages["begin"], SERVED)


def test_one_section_is_cut_out_with_those_below_it():
    page = read_page("a", "# A\n\n## B\n\n<!-- run -->\n```text\nb\n```\n\n### C\n\nc\n\n## D\n\nd\n")

    assert excerpted(page, "b") == "## B\n\n\n```text\nb\n```\n\n### C\n\nc"
    assert excerpted(page).endswith("d")


def test_the_documentation_of_this_installation_is_found():
    assert {"quickstart", "security", "reference/cli"} <= library().pages.keys()


def test_a_folder_without_documentation_says_what_to_do(tmp_path):
    with pytest.raises(OperationFailed, match="install folkmoot again"):
        read_library(tmp_path)
