"""Keeps agents from talking in circles: nobody writes to itself, no pair too often, no message too far. Pure."""

from __future__ import annotations

from folkmoot.domain.value import Value

PAIR_MESSAGES = 10
PAIR_WINDOW = 60.0
"""Seconds."""
HOPS = 5


class Sent(Value):
    """One message between two agents."""

    sender: str
    receiver: str
    at: float
    """Seconds of a clock that never jumps."""
    hops: int = 1
    """How often the matter was passed on, this time included."""

    @property
    def pair(self) -> frozenset[str]:
        return frozenset((self.sender, self.receiver))


class LoopGuard(Value):
    """What was sent lately; a new guard for each message that passed."""

    sent: tuple[Sent, ...] = ()
    most: int = PAIR_MESSAGES
    window: float = PAIR_WINDOW
    hops: int = HOPS

    def objection(self, message: Sent) -> str:
        """Why a message is not delivered, and which rule says so; empty if it may be."""
        if message.sender == message.receiver:
            return f"self_message: {message.sender} writes to itself"
        if message.hops > self.hops:
            return f"hops: passed on {message.hops} times; the most is {self.hops}"
        lately = [each for each in self.sent if each.pair == message.pair and self._counts(each, message.at)]
        if len(lately) >= self.most:
            again = lately[0].at + self.window - message.at
            return f"pair_window: {self.most} messages within {self.window:g} s; try again in {again:.0f} s"
        return ""

    def passed(self, message: Sent) -> LoopGuard:
        kept = (each for each in self.sent if self._counts(each, message.at))
        return LoopGuard((*kept, message), self.most, self.window, self.hops)

    def _counts(self, earlier: Sent, now: float) -> bool:
        return now - earlier.at < self.window
