"""The envelopes in a prompt: which part of it is foreign text, and who said it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENVELOPE = re.compile(
    r"<(?P<tag>[A-Za-z]\w*)__(?P<nonce>[0-9a-f]{12})(?P<rest>[^>\n]*)>\n?"
    r"(?P<text>.*?)\n?</(?P=tag)__(?P=nonce)>",
    re.DOTALL,
)
_KINDS = {"original_user_request": "model", "advisory": "transfer", "response": "session"}


@dataclass(frozen=True)
class Part:
    text: str
    tag: str = ""
    """Empty: no envelope, the runtime's or the agent file's own words."""
    nonce: str = ""
    rest: str = ""
    """What else stands in the opening tag."""

    @property
    def kind(self) -> str:
        """The colour of its margin: by who said it."""
        return _KINDS.get(self.tag, "advisor")


def parts(text: str) -> Iterator[Part]:
    """All of the text, in order."""
    at = 0
    for found in _ENVELOPE.finditer(text):
        if between := text[at : found.start()].strip("\n"):
            yield Part(between)
        yield Part(found["text"], found["tag"], found["nonce"], found["rest"])
        at = found.end()
    if after := text[at:].strip("\n"):
        yield Part(after)
