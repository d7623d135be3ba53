"""Markdown of agents as HTML that does nothing by itself: none of their HTML, no image, no hidden address."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape


class _Inert(RendererHTML):
    """Links show where they lead; images are named and never loaded."""

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        tokens[at].attrSet("rel", "noopener noreferrer nofollow")
        tokens[at].attrSet("class", "link")
        return self.renderToken(tokens, at, options, env)

    def link_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        opened = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
        address = str(opened.attrGet("href") or "")
        shown = "".join(token.content for token in tokens[tokens.index(opened) : at])
        aside = "" if shown == address else f" <span class='quiet mono'>{escape(address)}</span>"
        return f"</a>{aside}"

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        return f"<span class='quiet'>[image: {escape(token.content)} {escape(str(token.attrGet('src') or ''))}]</span>"


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Inert).enable("table")


def markdown(text: str) -> Markup:
    return Markup(_reader().render(text))
