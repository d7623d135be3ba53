"""Whoever starts, answers and stops runs: through the front desk, as people do."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from chaos.project import result_of, root_of
from chaos.witness import Reporter, Seen
from folkmoot import Folkmoot, Result, WrongUse
from folkmoot.domain.inbox import Item, Reply


class Person:
    """Whoever answers: there and then, meanwhile, or when the run has parked; as the dice say."""

    def __init__(self, moot: Folkmoot, seen: Sequence[Seen], seed: str) -> None:
        self._moot = moot
        self._seen = seen
        """The truth about calls in doubt."""
        self._dice = random.Random(seed)

    async def see_through(self, run: str, *, begun: bool) -> None:
        way = self._dice.choice(["there", "meanwhile", "parked"])
        answer = self._asked if way == "there" else None
        while True:
            if begun:
                going = self._moot.resume(run, answer=answer)
            else:
                going = self._moot.run(root_of(run), "hello", answer=answer)
            result = await (self._answered(run, going) if way == "meanwhile" else going)
            if result.status != "waiting":
                return
            begun = True
            await self._reply_to(result.inbox)

    async def stop(self, run: str, reporter: Reporter) -> None:
        """Now or in a later life; when the stop is acknowledged, the witness is told."""
        await asyncio.sleep(self._dice.random() * 0.06)
        with suppress(WrongUse):  # it has not begun yet, or is over
            await self._moot.cancel(run)
            await reporter.report("stop", key=run)

    async def _answered(self, run: str, going: Awaitable[Result]) -> Result:
        answering = asyncio.ensure_future(self._answer_for_ever(run))
        try:
            return await going
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)

    async def _answer_for_ever(self, run: str) -> None:
        while True:
            await asyncio.sleep(self._dice.random() * 0.02)
            await self._reply_to([item for item in await self._moot.inbox(run) if item.is_open])

    async def _reply_to(self, items: Sequence[Item]) -> None:
        for item in items:
            with suppress(WrongUse):  # somebody was quicker
                await self._moot.reply(reply_to(item, self._seen))

    async def _asked(self, item: Item) -> Reply:
        return reply_to(item, self._seen)


def reply_to(item: Item, seen: Sequence[Seen]) -> Reply:
    """What a person says who always says the same, and who knows whether a call in doubt was made."""
    if item.kind == "question":
        return item.answer("five")
    if item.kind == "approval":
        return item.deny("not bob") if item.arguments["to"] == "bob" else item.approve()
    key = f"{item.run}/{item.span}/turn:{item.turn}/call:{item.call}"
    if any(one.what == "tool" and one.key == key for one in seen):
        return item.settle("done", result_of(item.tool, item.arguments))
    return item.settle("retry")
