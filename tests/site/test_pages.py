"""Pages of the documentation: their order, their anchors, their HTML, and where words are."""

import pytest

from folkmoot.errors import OperationFailed
from folkmoot.http.pages.docs import render_html
from folkmoot.site.pages import load_documentation, read_documentation, read_page, search
from tests.site.shelf import shelf


def test_the_contents_are_groups_of_pages_in_the_order_of_the_readme(tmp_path):
    books = shelf(tmp_path)
    first, last = ("begin", "Begin", "a project that runs"), ("reference/keys", "Keys of a.yaml", "")

    assert books.contents == [("First hour", [first]), ("Look up", [last])]
    assert books.entries == [first, last]


def test_anchors_are_those_of_code_hosts_and_never_the_same(tmp_path):
    page = shelf(tmp_path).pages["begin"]

    assert [section.anchor for section in page.sections] == ["beginning", "ask--answer", "ask--answer-1"]
    assert read_page("a", "# `run.started`, version 1\n").sections[0].anchor == "runstarted-version-1"


def test_links_and_pictures_have_the_addresses_at_which_they_are_served(tmp_path):
    pages = shelf(tmp_path).pages
    begin, keys = render_html(pages["begin"]), render_html(pages["reference/keys"])

    assert '<a href="/docs/reference/keys#the-key-size">the keys</a>' in begin
    assert '<a href="/docs/begin#ask--answer">above</a>' in begin
    assert '<a href="/docs/begin">' in keys
    assert '<a href="https://a.example" rel="noopener noreferrer">' in keys
    assert '<img src="/docs/b.png" alt="B"' in render_html(read_page("a/a", "![B](../b.png)"))


def test_what_only_a_clone_has_is_named_and_no_link(tmp_path):
    text = render_html(shelf(tmp_path).pages["README"])

    assert '<a class="outside" title="in a clone of the repository">examples</a>' in text


def test_code_bears_its_file_or_its_language_and_comments_are_no_text(tmp_path):
    text = render_html(shelf(tmp_path).pages["begin"])

    assert "<figcaption>desk/a.yaml</figcaption>" in text
    assert "size: 2 # &lt;b&gt;" in text
    assert "<!--" not in text
    assert "<figcaption>json</figcaption>" in render_html(read_page("a", "# A\n\n```json\n1\n```\n"))


def test_markup_on_a_page_is_text(tmp_path):
    assert "&lt;script&gt;alert(1)" in render_html(shelf(tmp_path).pages["begin"])
    assert "a &lt;img src=x&gt; b" in render_html(read_page("a", "a <img src=x> b"))


def test_a_table_scrolls_in_a_box_that_keys_reach(tmp_path):
    assert "<div class='wide' tabindex='0'" in render_html(shelf(tmp_path).pages["begin"])


def test_one_section_is_cut_out_with_those_below_it():
    page = read_page("a", "# A\n\n## B\n\n<!-- run -->\n```text\nb\n```\n\n### C\n\nc\n\n## D\n\nd\n")

    assert page.markdown("b") == "## B\n\n\n```text\nb\n```\n\n### C\n\nc"
    assert page.markdown().endswith("d")


def test_every_word_must_be_there_and_headings_come_first(tmp_path):
    books = shelf(tmp_path)

    found = [(page.id, section.anchor) for page, section, _ in search(books, "SIZE key")]
    assert found[0] == ("reference/keys", "the-key-size")
    assert search(books, "size elephant") == search(books, "  ") == []
    assert "Twice." in search(books, "twice")[0][2]


def test_the_documentation_of_this_installation_is_found():
    assert {"quickstart", "security", "reference/cli"} <= load_documentation().pages.keys()


def test_a_folder_without_documentation_says_what_to_do(tmp_path):
    with pytest.raises(OperationFailed, match="install folkmoot again"):
        read_documentation(tmp_path)
