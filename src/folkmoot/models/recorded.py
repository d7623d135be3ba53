"""A model that answers from a journal: what was answered, and what failed, at the same place as then.

An answer is found by who asks: session, turn and attempt. Nothing is counted here, so in whatever order parallel
agents ask, none gets what another was told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmFailed, LlmResponse
from folkmoot.domain.message import Answer, Usage
from folkmoot.errors import ModelFailed
from folkmoot.ports import Hear, Request

Turn = Callable[[int], Awaitable[None]]
"""Return when it is the turn of this entry of the record; whoever replays a run decides when that is."""


async def at_once(entry: int) -> None:
    """For whoever does not care in which order the answers come."""


class RecordedModel:
    """Speaks for every provider: it also chooses itself."""

    def __init__(
        self, drafts: Sequence[Draft], turn: Turn = at_once, overhear: Callable[[Request], None] | None = None
    ) -> None:
        self._answers = {
            (draft.session_id, draft.event.turn, draft.event.attempt): (place, draft.event)
            for place, draft in enumerate(drafts)
            if isinstance(draft.event, LlmResponse | LlmFailed)
        }
        self._turn = turn
        self._overhear = overhear

    def choose(self, choice: ModelChoice) -> RecordedModel:
        return self

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        asked = (request.session, request.turn, request.attempt)
        place, event = self._answers.get(asked, (-1, None))
        if self._overhear:
            self._overhear(request)
        await self._turn(place)
        match event:
            case LlmResponse():
                # What the runtime guessed then, it shall guess again.
                usage = Usage() if event.guessed else event.usage
                return Answer(event.message, usage, event.stop, event.cost_usd)
            case LlmFailed():
                raise ModelFailed(
                    event.error,
                    retryable=event.retryable,
                    retry_after=event.retry_after,
                    status=event.status,
                    kind=event.kind or "unknown",
                    reset_after=event.reset_after,
                )
            case None:
                where = f"{request.session}, turn {request.turn}, attempt {request.attempt}"
                raise ModelFailed(f"the record holds no answer to {where}", retryable=False)
