"""The word with which a session says that it waits for someone."""

from __future__ import annotations


class Parked(Exception):  # because it is no error, its name has no Error in it
    """The session cannot go on before somebody answers; carries what it waits for."""

    def __init__(self, waiting: tuple[str, ...]) -> None:
        self.waiting = waiting
        super().__init__(", ".join(waiting))


async def nobody_answers(id: str) -> None:
    """For a session without an inbox around it."""
    raise Parked((id,))
