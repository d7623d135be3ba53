"""Remedies: what an author probably meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

RUNTIME_ONLY = frozenset("traceLLM traceMCP verbose accounting save load stream targets".split())
"""Keys of older agent files that say how to run, not what an agent is."""

_OTHER_NAMES = {
    **dict.fromkeys(("next", "delegate"), "`handoff`"),
    **dict.fromkeys(
        ("routerDestinations", "dispatch", "triage", "destinations"), "`router: {destinations: […]}`"
    ),
    **dict.fromkeys(("consult", "gather"), "`advisors`"),
    **dict.fromkeys(("panel", "council"), "`team`"),
    **dict.fromkeys(("model",), "`models`"),
}
_LONGEST_WORD = 64


def unknown_key(key: str, inside: str, known: Collection[str]) -> str:
    """Why there is no such key, and which one there is."""
    if key in RUNTIME_ONLY and not inside:
        return (
            f"the key {key!r} says how to run, not what an agent is: use CLI flags, see `folkmoot run --help`"
        )
    where = f" in `{inside}`" if inside else ""
    if key in _OTHER_NAMES and not inside:
        return f"unknown key {key!r}{where}; write {_OTHER_NAMES[key]}"
    return f"unknown key {key!r}{where}{near(key, known) or '; it may have ' + ', '.join(sorted(known))}"


def near(word: str, words: Collection[str]) -> str:
    """`; did you mean 'x'?` for the likeliest of `words`, or nothing."""
    if len(word) > _LONGEST_WORD:
        return ""
    by_shape = {_shape(known): known for known in words}
    close = get_close_matches(_shape(word), by_shape, n=1, cutoff=0.7)
    return f"; did you mean {by_shape[close[0]]!r}?" if close else ""


def short(value: object) -> str:
    """A value as it may stand in a message: quoted, escaped, not endless."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…{text[-1]}"


def _shape(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
