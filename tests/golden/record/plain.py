"""An answer without prose: keys, kinds, small words and counts stay; ids, times, paths and sentences become what they are."""

import json
import re
from collections.abc import Mapping
from typing import Any

PROSE = frozenset(
    "about acceptance adr answer ask asked because body cause_text content context description detail error explanation"
    " goal help hint instructions label lines markdown message note prompt question rationale reason rejectReason"
    " remedy reply report request said says summary text title topic value why words meaning doc".split()
)
"""Keys whose strings are for people, even where they hold one word."""
AMOUNT = re.compile(
    r"(?i)tokens|latency|usd|cost|duration|seconds|millis|(^|_)ms$|took|size|bytes|uptime|port$|pid$|elapsed|window$|(^|[a-z])age$|lag$"
)
"""Keys whose numbers hang on the time, the machine, or the length of a text."""
LONGEST = 4
"""Items of a list that are kept; of further ones only how many."""
_KINDS = (
    ("<time>", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)"),
    ("<session>", r"(?:\d{8}-\d{6}-[0-9a-f]{8}|<run[.\w]*>):\w+"),
    ("<run>", r"\d{8}-\d{6}-[0-9a-f]{8}"),
    ("<hash>", r"\b[0-9a-f]{64}\b"),
    (
        r"<\1>",
        r"\b(team_ws|task|plan|decision|ws|conv|ap|q|doubt|ev|art|err|chat|msg|ms|snap|call)_[0-9a-f]{8}[0-9a-f-]*\b",
    ),
    ("<id>", r"\b[0-9a-f]{12,32}\b"),
    ("<day>", r"\b\d{4}-\d\d-\d\d\b"),
    ("<version>", r"\b0\.\d+\.\d+(?:[a-z0-9.+-]*)?"),
    ("<address>", r"http://127\.0\.0\.1:\d+"),
)
_KINDS_OF = [(shown, re.compile(pattern)) for shown, pattern in _KINDS]
_WORD = re.compile(r"[\w.:/@+*=<>#$%~?&|,\[\]{}()-]{0,80}")


class Plain:
    """`known` are ids by their names, `places` folders by what to call them."""

    def __init__(self, known: Mapping[str, str], places: Mapping[str, str]) -> None:
        self._known = {**{path: f"<{name}>" for name, path in places.items()}}
        self._known |= {id: f"<{name}>" for name, id in sorted(known.items())}
        longest_first = sorted(self._known, key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        text = self._names.sub(lambda found: self._known[found[0]], text)
        for shown, pattern in _KINDS_OF:
            text = pattern.sub(shown, text)
        return text

    def json(self, value: Any, key: str = "") -> Any:
        match value:
            case str():
                return self._string(value, key)
            case bool() | None:
                return value
            case int() | float():
                return "<number>" if isinstance(value, float) or AMOUNT.search(key) else value
            case dict():
                return {self.text(name): self.json(each, name) for name, each in sorted(value.items())}
            case list():
                kept = [self.json(each, key) for each in value[:LONGEST]]
                return kept if len(value) <= LONGEST else [*kept, f"<{len(value) - LONGEST} more>"]
        raise TypeError(type(value))

    def _string(self, value: str, key: str) -> str:
        if key in PROSE:
            return "<text>" if value else ""
        shown = self.text(value)
        return shown if _WORD.fullmatch(shown) else "<text>"

    def written(self, text: str) -> Any:
        """Of something that was printed: its JSON, its lines of JSON, or only that there is something."""
        if not text.strip():
            return None
        try:
            return self.json(json.loads(text))
        except ValueError:
            pass
        try:
            return {"lines": self.json([json.loads(line) for line in text.splitlines()])}
        except ValueError:
            return "<text>"
