"""What agents write as Markdown is shown, and does nothing by itself."""

import re

import pytest

from folkmoot.http.pages.rendering import render_markdown

EVIL = [
    "<script>x()</script>",
    "<img src=http://evil.example/i.png onerror=x()>",
    '![i](http://evil.example/i.png "t")',
    "![i][r]\n\n[r]: http://evil.example/i.png",
    "[j](javascript:x())",
    "[j](data:text/html,<script>x()</script>)",
    "[j](vbscript:x)",
    "<javascript:x()>",
    '[a](http://evil.example/"onmouseover="x())',
    "<style>*{background:url(http://evil.example)}</style>",
    "<a style='x' href=http://evil.example>a</a>",
    "`<b>`\n\n```\n<script>\n```",
    "&lt;script&gt; &#60;script&#62;",
]
_SAFE = {"p", "a", "span", "br", "code", "pre", "em", "strong", "ul", "ol", "li", "blockquote", "hr"}


@pytest.mark.parametrize("text", EVIL)
def test_no_markup_of_theirs_is_left(text):
    """DESIGN 8: only what the reader itself makes; nothing is fetched, and no address is run."""
    shown = render_markdown(text)
    tags = re.findall(r"</?([a-z0-9]+)([^>]*)>", shown)

    assert {name for name, _ in tags} <= _SAFE
    for _, attributes in tags:
        for name, value in re.findall(r"([a-z-]+)=[\"']([^\"']*)[\"']", attributes):
            assert name in ("href", "rel", "class", "title")
            assert name != "href" or value.startswith("http")


def test_a_link_shows_where_it_leads():
    shown = render_markdown("[your bank](http://evil.example/)")
    assert 'rel="noopener noreferrer nofollow"' in shown
    assert "<span class='quiet mono'>http://evil.example/</span>" in shown
    assert "quiet" not in render_markdown("<http://plain.example/>")


def test_lines_and_tables_stay():
    assert render_markdown("one\ntwo") == "<p>one<br />\ntwo</p>\n"
    assert "<table>" in render_markdown("|a|b|\n|-|-|\n|1|2|")
