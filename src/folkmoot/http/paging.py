"""Lists come in pages: at most `limit` at once, and a `Link` header that leads to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, TypeVar

from msgspec import Meta
from starlette.datastructures import URL

from folkmoot.http.problems import Refused
from folkmoot.http.reading import Given, Position

T = TypeVar("T")
Limit = Annotated[int, Meta(ge=1, le=1000)]


class Page(Given, kw_only=True):
    """One page of a list."""

    limit: Limit = 100
    """At most so many."""
    after: str = ""
    """The id of the last one of the page before."""


class Back(Given, kw_only=True):
    """One page of what is read backwards in the journal."""

    limit: Limit = 100
    """At most so many."""
    before: Position = 0
    """Only those with a smaller `seq`; 0: from the newest on."""


@dataclass(frozen=True)
class Part:
    """A page, and the parameter that leads to the next."""

    rows: Sequence[Any]
    cursor: str = ""
    """`after` or `before`."""
    value: str = ""
    """Of that; empty: there is no more."""

    def headers(self, url: URL) -> dict[str, str]:
        if not self.value:
            return {}
        further = url.include_query_params(**{self.cursor: self.value})
        return {"link": f'<{further.path}?{further.query}>; rel="next"'}


def part(rows: Iterable[T], page: Page, id: Callable[[T], str]) -> Part:
    """The page of all rows that is wanted; those after it are not asked for."""
    left = iter(rows)
    if page.after and not any(id(row) == page.after for row in left):
        raise Refused(400, f"`after` names {page.after!r}, and this list has no such row")
    *shown, more = *islice(left, page.limit), next(left, None)
    return Part(shown, "after", id(shown[-1]) if more is not None else "")
