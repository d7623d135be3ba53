"""The token that opens this server, and the signed cookies that stand for it in a browser."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from folkmoot.errors import WrongUse

SHORTEST = 16
"""Characters of a token."""
STAYS = 12 * 3600
"""Seconds for which somebody is signed in."""


class Keys:
    def __init__(self, token: str, changed: Callable[[], None] = lambda: None) -> None:
        self._token = ""
        self._changed = changed
        """Told when whoever came in with the old token has to go."""
        if token:
            self.change(token)

    @property
    def needed(self) -> bool:
        return bool(self._token)

    def opens(self, given: str) -> bool:
        return bool(self._token) and hmac.compare_digest(given.encode(), self._token.encode())

    def change(self, token: str) -> None:
        """From now on only this one opens; no cookie that stands for another does."""
        check_token(token)
        self._token = token
        self._changed()

    def cookie(self, now: float) -> str:
        """`until.chance.signature`. It outlives a restart of the server, but not its token."""
        said = f"{int(now) + STAYS}.{secrets.token_hex(8)}"
        return f"{said}.{self._signature(said)}"

    def holds(self, cookie: str, now: float) -> bool:
        said, _, signature = cookie.rpartition(".")
        until = said.partition(".")[0]
        genuine = self.needed and hmac.compare_digest(signature.encode(), self._signature(said).encode())
        return genuine and int(until) > now

    def _signature(self, said: str) -> str:
        return hmac.new(self._token.encode(), f"folkmoot sign-in {said}".encode(), sha256).hexdigest()


def new_token() -> str:
    return secrets.token_urlsafe(32)


def check_token(token: str) -> None:
    """Raises `WrongUse` for one that could be guessed, or could not stand in a header."""
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise WrongUse(
            f"a token has {SHORTEST} characters or more, of ASCII and without spaces;"
            " `folkmoot serve --new-token` prints a good one"
        )


def read_token(file: Path) -> str:
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"--token-file {str(file)!r} cannot be read: {error}") from None
    if file.stat().st_mode & 0o077:
        raise WrongUse(
            f"others can read the token in {str(file)!r}: chmod 600 {file}", code="token_readable_by_others"
        )
    check_token(token)
    return token
