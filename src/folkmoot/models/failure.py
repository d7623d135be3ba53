"""How an attempt at a provider went wrong: a text that names it, and whether another has a chance. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from folkmoot.domain.duration import written
from folkmoot.domain.text import storable
from folkmoot.errors import FailureKind, ModelFailed

SHOWN = 300
"""Characters of a provider's own words that an error repeats."""

LEAST_SECRET = 4
"""A shorter word is no secret, and to take it out would blot out the text."""

_OVERLOADED = 529
_FOR_GOOD = frozenset(
    {
        "authentication_error",
        "billing_error",
        "billing_hard_limit_reached",
        "context_length_exceeded",
        "insufficient_quota",
        "invalid_api_key",
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)
"""What providers call failures that the same request would meet again."""


def of_status(
    provider: str, status: int, headers: Mapping[str, str], body: bytes, secret: str
) -> ModelFailed:
    """What a status other than 2xx means."""
    said, code = _said(body)
    passing = is_passing(status) and code not in _FOR_GOOD
    wait = wait_asked(headers) if passing else None
    pause = f"; it asks for a pause of {written(round(wait))}" if wait and wait >= 1 else ""
    return ModelFailed(
        f"{provider} answered {_named(status)}{_quoted(said, secret)}{pause}",
        retryable=passing,
        retry_after=wait,
        status=status,
        kind=kind_of(status, f"{code} {said}"),
        reset_after=wait or reset_after(said),
    )


def of_error(provider: str, error: Any, secret: str) -> ModelFailed:
    """What an error object means that came inside an answer or a stream of events."""
    said, code = _said(json.dumps({"error": error}).encode())
    status = int(code) if code.isdecimal() else 0
    return ModelFailed(
        f"{provider} broke off with an error{_quoted(said, secret)}",
        retryable=is_passing(status) if code.isdecimal() else code not in _FOR_GOOD,
        kind=kind_of(status, f"{code} {said}"),
        reset_after=reset_after(said),
    )


def of_unreadable(provider: str, body: bytes, why: str, secret: str) -> ModelFailed:
    """What a body means that should have been an answer and is none."""
    if not body.strip():
        return ModelFailed(f"{provider} answered 200 OK with an empty body", retryable=True)
    kind = (
        "HTML instead of JSON"
        if _is_html(body[:1000].decode(errors="replace"))
        else f"what is no answer ({why})"
    )
    return ModelFailed(
        f"{provider} answered 200 OK with {kind}{_quoted(_text(body), secret)}", retryable=True
    )


_PASSING = frozenset({408, 409, 425, 429})
_SERVER_ERRORS = 500
_KINDS: dict[int, FailureKind] = {
    402: "billing",
    408: "timeout",
    504: "timeout",
    429: "rate_limit",
    529: "rate_limit",
}
_BILLING = re.compile(r"billing|insufficient[_ ](quota|funds)|payment|credit balance", re.I)
_WORDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("context_overflow", re.compile(r"context[_ ](length|window|overflow)|prompt is too long", re.I)),
    ("rate_limit", re.compile(r"rate[_ -]?limit|too many requests|overloaded", re.I)),
    ("timeout", re.compile(r"time[d]?[_ -]?out", re.I)),
)
_ASKED = re.compile(r"(?:reset|retry|try again)\s+(?:after|in)\s+([0-9]{1,6}(?:\.[0-9]+)?)\s*s", re.I)


def is_passing(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in _PASSING or status >= _SERVER_ERRORS


def kind_of(status: int, said: str) -> FailureKind:
    """By the status, and by what a provider writes. Billing comes first: some say it with a 429."""
    if _BILLING.search(said):
        return "billing"
    if status in _KINDS:
        return _KINDS[status]
    return next((kind for kind, words in _WORDS if words.search(said)), "unknown")


def reset_after(said: str) -> float:
    """The seconds that a provider asks for in its own words ("try again in 30s"); 0 if it names none."""
    found = _ASKED.search(said)
    return float(found[1]) if found else 0.0


def cleaned(text: str, secret: str) -> str:
    """One short line that can be shown and stored; the key is taken out before anything is cut off."""
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        text = text.replace(form, "[key]") if len(form) >= LEAST_SECRET else text
    text = _KEY_LIKE.sub("[key]", text)
    line = " ".join(_BLANK.sub(" ", storable(text)).split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


_READ = 20_000
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk)-[\w-]{8,}|(?<=Bearer )[^\s\"']+")
_BLANK = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


def _quoted(said: str, secret: str) -> str:
    line = cleaned(said, secret)
    return f": {line}" if line else ""


def _named(status: int) -> str:
    if status == _OVERLOADED:
        return f"{status} Overloaded"
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _said(body: bytes) -> tuple[str, str]:
    """The message and the code in an error body; its bare text where it has none of the usual shapes."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return _text(body), ""
    if isinstance(data, list) and data:
        data = data[0]
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return str(error), ""
    said = error.get("message") or error.get("detail") or error
    code = error.get("code") or error.get("type") or ""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False), str(code)


def _text(body: bytes) -> str:
    text = body[:_READ].decode("utf-8", "replace")
    if len(body) > _READ:  # the last word may be half a key
        text = text[: max(map(text.rfind, " \t\n<>\"'=:,")) + 1] or text
    return re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", text) if _is_html(text) else text


def _is_html(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] == "<"


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds that a provider wants to be left alone, if it says so in any of the usual ways."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    if not asked:
        return max(_resets(headers), default=None)
    seconds = _number(asked)
    return _seconds_until(_http_date(asked), headers) if seconds is None else seconds


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    """When each limit that is used up will be free again."""
    for name, value in headers.items():
        match = _RESET.fullmatch(name.lower())
        if match and headers.get(name.lower().replace("reset", "remaining")) == "0":
            seconds = _seconds_until(_instant(value), headers)
            wait = _written_duration(value) if seconds is None else seconds
            if wait is not None:
                yield wait


_RESET = re.compile(r"x-ratelimit-reset(-\w+)?|anthropic-ratelimit-[\w-]+-reset")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_EPOCH = 1_000_000_000
_EPOCH_MILLISECONDS = 1_000_000_000_000


def _written_duration(text: str) -> float | None:
    """`6m0s`, `20ms`, or plain seconds."""
    match = _DURATION.fullmatch(text) if text else None
    if not match:
        return _number(text)
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def _instant(text: str) -> datetime | None:
    """A date of RFC 3339, or seconds or milliseconds since 1970."""
    number = _number(text)
    if number is not None and number < _EPOCH:
        return None
    try:
        if number is None:
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.fromtimestamp(number / 1000 if number >= _EPOCH_MILLISECONDS else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else None


def _seconds_until(moment: datetime | None, headers: Mapping[str, str]) -> float | None:
    """By the provider's own clock: ours may differ."""
    now = _http_date(headers.get("date", ""))
    return None if moment is None or now is None else max(0.0, (moment - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
