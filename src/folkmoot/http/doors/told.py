"""How much of the report a client of a stream has. Pure: what it was told is never taken back."""

from __future__ import annotations

from folkmoot.http.doors.reply import Reply
from folkmoot.http.doors.wrong import NO_RETRY, Wrong


class Told:
    def __init__(self) -> None:
        self.text = ""

    def more(self, said: str) -> str:
        """What comes behind what the client has. A blank answer is none, and an attempt after one that broke off has
        nothing to add before it has come as far in the same words."""
        if not said.strip() or not said.startswith(self.text):
            return ""
        new, self.text = said[len(self.text) :], said
        return new

    def rest(self, reply: Reply, page: str) -> str:
        """What is missing in the end. Raises `Wrong` if what the client was told is not the answer; `page` is the
        address of this server."""
        if not reply.text.startswith(self.text):
            raise Wrong(
                500,
                "what was streamed is not the answer: the model broke off and then said something else."
                f" Run {reply.run} is {reply.status}; what it came to stands at {page}runs/{reply.run}, and"
                f" `folkmoot runs show {reply.run}` shows it",
                code="answer_changed",
                headers=NO_RETRY,
            )
        return reply.text[len(self.text) :]
