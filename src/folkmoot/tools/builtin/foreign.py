"""Run as a script: work on foreign text that comes on stdin, within seconds of CPU. See `process`.

`foreign.py search SECONDS` finds the lines that match, in files given as JSON; `foreign.py page SECONDS` gives the text
of an HTML page.
"""

import json
import re
import resource
import sys
from html.parser import HTMLParser

DROPPED = frozenset("script style noscript template svg math iframe object select".split())
BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section table title tr ul".split()
)


def main() -> None:
    job, seconds = sys.argv[1], int(sys.argv[2])
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sys.stdout.write({"search": search, "page": page_text}[job](sys.stdin.read()))


def search(given: str) -> str:
    asked = json.loads(given)
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        return json.dumps({"wrong": str(error)})
    found: list[tuple[str, int, str]] = []
    count = 0
    for path, text in asked["files"]:
        for number, line in enumerate(text.split("\n"), 1):
            if hit := pattern.search(line):
                count += 1
                if len(found) < asked["most"]:
                    start = max(0, hit.start() - asked["width"] // 2)
                    found.append((path, number, line[start : start + asked["width"]]))
    return json.dumps({"found": found, "count": count})


def page_text(html: str) -> str:
    page = PageText()
    page.feed(html)
    page.close()
    lines = (line.strip() for line in "".join(page.text).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


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


if __name__ == "__main__":
    main()
