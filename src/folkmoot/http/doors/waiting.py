"""What a client is told of a run that waits for someone. Pure.

The text names the run, so that the conversation's next message finds it and is known to come after this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from folkmoot.domain.item import Item
from folkmoot.views.inbox import how_to_answer, what


def told(run: str, items: Sequence[Item], paused: Sequence[str], page: str) -> str:
    """`paused` are work sessions that somebody has to let go on; `page` is where this server is."""
    lines = [line for item in items for line in _about(item, page)]
    lines += [
        f"Its work session {id} is paused: `folkmoot work resume {id}`, or {page}work/{id}" for id in paused
    ]
    return "\n".join((*_questions(items), f"_{mark(run)}._", "", *lines)).strip()


def is_told(run: str, answer: str) -> bool:
    """Whether this is what a client was told when the run waited."""
    return mark(run) in answer


def mark(run: str) -> str:
    return f"Run {run} waits for a person"


def _questions(items: Sequence[Item]) -> Iterator[str]:
    """First of all: to the person at the client they are the assistant's own words."""
    for item in items:
        if item.kind == "question":
            yield item.question
            yield ""


def _about(item: Item, page: str) -> Iterator[str]:
    if item.kind == "question":
        yield f"- {item.agent} asks ({item.id}): your next message here is the answer."
    elif item.kind == "approval":
        yield f"- {item.agent} may not go on without a yes or no ({item.id}): `{what(item)}`"
    else:
        yield f"- {item.agent} may or may not have done this ({item.id}): `{what(item)}`"
    yield f"  Elsewhere: {page}inbox/{item.id}, or: {' or '.join(f'`{command}`' for command in how_to_answer(item))}"
