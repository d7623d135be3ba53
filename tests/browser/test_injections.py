"""Whatever agents, tools and people write is shown as text: on no screen does it become a script, an image, a link, a
style or a request."""

import re
from urllib.parse import urlsplit

from starlette.routing import Match

from folkmoot.http.pages import ROUTES
from tests.browser.example import lived_in

PAYLOAD = "".join(
    (
        "<script>alert(1)</script><img src=//evil.test/i onerror=alert(2)><svg onload=alert(3)><iframe src=//evil.test/f>",
        "</style></textarea></title><style>*{background:url(//evil.test/s)}</style><link rel=stylesheet href=//evil.test/l>",
        "' onmouseover='alert(4) <b style=color:red> x=`alert(5)` &lt;b&gt;&#60;",
        "{{ 7*7 }}{% for x in y %}${alert(6)}<%= 1 %>#{1}",
        "<a href=javascript:alert(7)>x</a>![i](//evil.test/p.png) [c](javascript:alert(8)) [d](data:text/html,x)",
        "W" * 1_000,
    )
)
HIDDEN = "\u202egnp.exe\u2066 \u200b\ufeff \u0007 \x1b[31m"
"""What turns writing around, or is not seen at all: it may be spelled out, so that nobody is misled."""
FORBIDDEN = (
    "script:not([src^='/static/'])", "style", "[style]", "img", "iframe", "object", "embed", "base", "meta[http-equiv]",
    "link:not([href^='/static/'])", "[onload]", "[onerror]", "[onmouseover]", "[onclick]", "[src*='evil.test']",
    "a[href^='javascript:' i]", "a[href^='data:' i]", "use:not([href^='#'])",
)  # fmt: skip
LOOK = """(forbidden) => ({
    text: document.body.textContent,
    wrong: [...document.querySelectorAll(forbidden)].map((e) => e.outerHTML.slice(0, 200)),
    links: [...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href')),
})"""
ALIKE = 2
"""How many pages of one kind are looked at: of so many runs, say."""


def kind(address: str) -> str:
    """Addresses that differ only in what they name are of one kind."""
    parts = urlsplit(address)
    path = re.sub(r"(?<=/)[^/]*[\d_%.][^/]*", "…", parts.path)
    return f"{path}?{'&'.join(sorted(pair.partition('=')[0] for pair in parts.query.split('&')))}"


def is_page(address: str) -> bool:
    """The documentation shows nothing that anybody here wrote, and has pictures of its own."""
    if address.startswith("/docs"):
        return False
    scope = {"type": "http", "method": "GET", "path": urlsplit(address).path}
    return address.startswith("/") and any(route.matches(scope)[0] is Match.FULL for route in ROUTES)


async def walk(visitor, first):
    """Through these pages and all that they lead to: the text of every one, by its address."""
    waiting, kinds, texts = list(first), {}, {}
    while waiting:
        address = waiting.pop(0)
        if address in texts or (address not in first and kinds.get(kind(address), 0) >= ALIKE):
            continue
        kinds[kind(address)] = kinds.get(kind(address), 0) + 1
        await visitor.go(address)
        found = await visitor.page.evaluate(LOOK, ", ".join(FORBIDDEN))
        assert found["wrong"] == [], address
        texts[address] = found["text"]
        waiting += filter(is_page, found["links"])
    return texts


async def test_what_anybody_writes_is_text_on_every_screen(visit, tmp_path):
    """The whole walk asks no other origin and breaks no policy: the visitor sees to that."""
    fields = set()

    def hostile(field, text):
        fields.add(field)
        nothing = "" if field in ("prompt", "description") else "\x00"  # no file may hold that
        return f"{text} ({field}) {PAYLOAD} {HIDDEN}{nothing} ({field} ends)"

    async with lived_in(tmp_path / "<b>shop", hostile) as moot:
        visitor = await visit(moot, "/")
        telling = {
            field: entry.seq
            async for entry in moot.events()
            for field in fields
            if f"({field})" in entry.text.decode()
        }
        texts = await walk(visitor, ["/", *(f"/events?at={seq}" for seq in sorted(set(telling.values())))])

    whole = "\n".join(texts.values())
    assert {field for field in fields if f"({field}) {PAYLOAD}" in whole} == fields
    assert "evil.test" not in "".join(texts)
