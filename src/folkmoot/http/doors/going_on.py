"""The run that a conversation goes on from: found again, and answered if it waits for what the client now says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunParked, RunStarted
from folkmoot.domain.item import Item
from folkmoot.domain.item import Reply as Word
from folkmoot.domain.part import Part
from folkmoot.domain.value import Value
from folkmoot.engine.enclosing import fitting
from folkmoot.errors import NotFound, WrongUse
from folkmoot.http.doors.contents import note
from folkmoot.http.doors.conversation import Earlier, Said, Talk
from folkmoot.http.doors.reply import OVER, Going
from folkmoot.http.doors.threads import Answered, Threads, ticket_with
from folkmoot.http.doors.waiting import is_told, mark
from folkmoot.http.house import House
from folkmoot.views.result import Result


async def entries_of(moot: Folkmoot, run: str) -> list[Entry]:
    entries = [entry async for entry in moot.events(run)]
    if not entries or not isinstance(entries[0].event, RunStarted):
        raise NotFound(
            f"there is no run {run!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return entries


class Past(Value):
    """A run up to where a client was told something of it."""

    run: str
    entries: int
    """How many it had when that was asked."""
    drafts: tuple[Draft, ...]

    @property
    def name(self) -> str:
        return Going(self.run, self.entries).name

    @property
    def is_over(self) -> bool:
        """Whether there was something to tell."""
        return len(self.drafts) > self.entries and isinstance(self.drafts[-1].event, OVER)


async def past_of(moot: Folkmoot, name: str) -> Past:
    """By the name of the answer, see `Going.name`. Raises `WrongUse` if there is none."""
    run, _, number = name.partition(".")
    drafts = [entry.draft for entry in await entries_of(moot, run)]
    entries = int(number) if number.isdecimal() and number.isascii() else 0
    ends = (at for at, draft in enumerate(drafts, 1) if at > entries and isinstance(draft.event, OVER))
    return Past(run, entries, tuple(drafts[: next(ends, len(drafts))]))


async def run_before(house: House, threads: Threads, talk: Talk) -> Answered | None:
    """The run that answered the conversation last."""
    if talk.results and (called := await threads.called([result.answers for result in talk.results])):
        return called
    if not talk.after:
        places = (Earlier(talk.thread), *talk.earlier) if talk.results else talk.earlier
        return await threads.find(places)
    past = await past_of(house.moot, talk.after)
    waited = isinstance(past.drafts[-1].event, RunParked)
    return Answered(past.run, past.drafts[0].work_session_id, mark(past.run) if waited else "")


async def gone_on(house: House, before: Answered, talk: Talk, ticket: str = "") -> Going | None:
    """With a run that waits, or whose end the client was not told yet; none if this is about something new. What a
    request with this `ticket` has answered, it answers no second time."""
    if not talk.results and not is_told(before.run, before.answer):
        return None
    items = {item.id: item for item in await house.moot.inbox(before.run)}
    if not _is_meant(items, talk):
        return None
    drafts = [entry.draft for entry in await entries_of(house.moot, before.run)]
    came = _came(drafts, ticket)
    mine = tuple(item.id for item in items.values() if ticket and item.ticket == ticket)
    going = Going(before.run, came, Result(before.run, drafts[:came]).totals, mine)
    if not isinstance(drafts[-1].event, RunParked):
        return going
    open = [item for item in items.values() if item.is_open]
    words = [word for item in open for word in _words(house.moot, item, talk)]
    said = words if talk.results else words[:1] if not mine else []
    for word in said:
        with suppress(WrongUse):  # somebody else was quicker
            concealed = house.moot.secrets.text(word.text)
            await house.moot.reply(replace(word, text=concealed, ticket=ticket))
    if not said and came < len(drafts):
        return going
    answered = (*mine, *(word.id for word in said))
    if open and not answered:
        return replace(going, still=True)
    house.go_on(before.run)
    return replace(going, answered=answered)


def _is_meant(items: Mapping[str, Item], talk: Talk) -> bool:
    """Whether the client speaks of what a run waits for, and not of something else."""
    if talk.results:
        return any(result.answers in items for result in talk.results)
    return {item.kind for item in items.values() if item.is_open} != {"client_call"}


async def let_go(house: House, threads: Threads, talk: Talk) -> None:
    """Cancel what waits for results of the client's tools, if the conversation has gone on without them. A client that
    does not name those calls any more may be another one that asked the same: then their time ends them."""
    runs = [called.run for id in talk.dropped if (called := await threads.called([id]))]
    if talk.after and not talk.results:
        runs.append(talk.after.partition(".")[0])
    for run in dict.fromkeys(runs):
        if any(item.is_open and item.kind == "client_call" for item in await house.moot.inbox(run)):
            with suppress(WrongUse):  # it has ended meanwhile
                await house.moot.cancel(run, "its conversation went on without the results that it waits for")


def _came(drafts: Sequence[Draft], ticket: str) -> int:
    """How many entries the run had when the request with this ticket came first; all, if it comes now."""
    answers = (at for at, draft in enumerate(drafts) if ticket and ticket_with(draft.event) == ticket)
    taken_in = next(answers, len(drafts))
    parked = [at for at, draft in enumerate(drafts[:taken_in], 1) if isinstance(draft.event, RunParked)]
    return parked[-1] if parked and taken_in < len(drafts) else taken_in


def _words(moot: Folkmoot, item: Item, talk: Talk) -> Iterator[Word]:
    """Calls of the client's tools are answered by their results, otherwise a question by the user's words. What needs a
    yes or no is not answered by words."""
    if item.kind == "question" and not talk.results:
        yield item.answer(talk.request)
    for result in talk.results if item.kind == "client_call" else ():
        if result.answers == item.id:
            text, parts = _kept(moot, result)
            word = item.settle("fail", text) if result.failed else item.answer(text)
            yield replace(word, parts=parts)


def _kept(moot: Folkmoot, result: Said) -> tuple[str, tuple[Part, ...]]:
    """A result of a tool as text that says where its files are kept, and the images among them."""
    files = fitting(result.files)
    parts = moot.enclose(Errand(), files).attachments
    notes = [note(f"{part} is artifact {part.artifact}") for part in parts]
    notes += [note(f"{file.name} is too much beside the others") for file in result.files[len(files) :]]
    return "\n".join((result.text, *notes)).strip(), tuple(part for part in parts if part.is_image)
