"""Run as a script: the text of an HTML page that comes on stdin. See `process`."""

import re
import resource
import sys
from html.parser import HTMLParser

DROPPED = frozenset("script style noscript template svg math iframe object select".split())
BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section table title tr ul".split()
)


class PageText(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._dropping = ""
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropping:
            return
        if tag in DROPPED:
            self._dropping = tag
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")
        self.text.append("\n" if tag in BLOCKS else " " if tag in ("td", "th") else "")

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            self._dropping = "" if tag == self._dropping else self._dropping
        elif tag == "a" and self._links:
            link = self._links.pop()
            self.text.append(
                f" ({link})" if link and not link.startswith(("#", "javascript:", "data:")) else ""
            )
        elif tag in BLOCKS:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._dropping:
            self.text.append(re.sub(r"\s+", " ", data))


def main() -> None:
    seconds = int(sys.argv[1])
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    page = PageText()
    page.feed(sys.stdin.read())
    page.close()
    lines = (line.strip() for line in "".join(page.text).split("\n"))
    sys.stdout.write(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())


if __name__ == "__main__":
    main()
