"""Commands to a run: what each does to a run, and how one sees that it was done; and the inboxes that replies are for.

`LocalEngine.send` brings a command to its run: it is applied by the process that holds the run, recorded in a run that
nobody holds, or left in the run's inbox as a post. Kinds and bodies of posts are stored: those of 0.1.0 are read too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS, CancelRequested
from folkmoot.domain.inbox import APPROVED, Item, Reply, decided, too_late
from folkmoot.domain.inbox_events import GateChanged
from folkmoot.domain.naming import ALIASES, wire_name
from folkmoot.domain.spans import run_of
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSessionPaused, WorkSessionResumed
from folkmoot.engine.activation import Activation, cancel_orphan
from folkmoot.engine.claims import find_holder
from folkmoot.engine.history import last_entry, read_history, read_pinned_graph
from folkmoot.errors import NotFound, WrongUse
from folkmoot.orchestration.history import FollowUpSessions, RunHistory
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.questions import close_follow_up_session
from folkmoot.ports import ItemQuery, Journal, Post
from folkmoot.views.result import Result
from folkmoot.views.sessions import live_children

ANSWER = "answer"
"""The kind of a post that holds a reply."""


async def read_inbox(journal: Journal, query: ItemQuery = ItemQuery()) -> list[Item]:
    """Items of a run, or of all, the oldest first; an answer that nobody took in yet counts."""
    return await _with_replies(journal, await journal.items(query))


async def _with_replies(journal: Journal, items: Sequence[Item]) -> list[Item]:
    waiting = {item.run for item in items if item.is_open or item.status in APPROVED}
    known = {item.id: item for item in items}
    for post in await journal.posts([*waiting]) if waiting else ():
        reply = read_reply(post)
        if reply and (item := known.get(reply.id)):
            with suppress(WrongUse):
                decided(item, reply)
                said = {"by": reply.by, "text": reply.text, "ticket": reply.ticket}
                known[item.id] = replace(item, status=reply.word, **said)
    return list(known.values())


async def find_item(journal: Journal, id: str) -> Item:
    for item in await _with_replies(journal, await journal.items(ItemQuery(id=id)) if id else ()):
        return item
    raise NotFound(
        f"nothing waits under the id {id!r}; `folkmoot inbox list` shows what does", code="item_not_found"
    )


def read_reply(post: Post) -> Reply | None:
    """None for other posts, and for what is no reply."""
    if post.kind != ANSWER:
        return None
    try:
        return msgspec.json.decode(post.body, type=Reply)
    except msgspec.DecodeError:
        return None


class _Command(Value):
    kind: ClassVar[str]
    """Of the post that holds it."""
    recorded: ClassVar[bool] = True
    """Whether it is recorded in a run that nobody holds; otherwise it is left for whoever holds the run next."""

    def check(self, run: str, past: RunHistory) -> None:
        """Raises `WrongUse` if the run cannot take it. `past` is empty for what is not recorded."""

    def record(self, log: RunLog) -> None:
        """In a run that nobody holds, after `check`."""

    async def is_done(self, journal: Journal, run: str) -> bool:
        """Whether whoever holds the run has taken it in, or cannot any more."""
        return True


class CancelRun(_Command):
    kind = "cancel"
    reason: str

    def check(self, run: str, past: RunHistory) -> None:
        _require_open(run, past)

    async def apply(self, activation: Activation, journal: Journal) -> None:
        activation.stop(self.reason)

    def record(self, log: RunLog) -> None:
        cancel_orphan(log, self.reason)

    async def is_done(self, journal: Journal, run: str) -> bool:
        return (await read_history(journal, run)).has(*RUN_ENDS, CancelRequested)


class CloseSession(_Command):
    """Close a finished session that was kept open for follow-up questions."""

    kind = "destroy"
    session: str
    reason: str

    def check(self, run: str, past: RunHistory) -> None:
        if not is_kept_open(past, self.session):
            raise NotFound(
                f"there is no kept session {self.session!r}; `folkmoot sessions list --live` shows those that are",
                code="session_not_found",
            )

    async def apply(self, activation: Activation, journal: Journal) -> None:
        self.close(activation.run.log, activation.run.chats)

    def record(self, log: RunLog) -> None:
        chats = FollowUpSessions()
        for draft in log.drafts:
            chats.fold(draft.span, draft.event)
        log.watch(chats)
        self.close(log, chats)

    def close(self, log: RunLog, chats: FollowUpSessions) -> None:
        self.check("", log.drafts)
        chat = chats.get(self.session)
        assert chat is not None, "the registry and the view fold the same events"
        close_follow_up_session(log, chats, chat, self.reason, by="user")

    async def is_done(self, journal: Journal, run: str) -> bool:
        return not is_kept_open(await read_history(journal, run), self.session)


class ChangeGate(_Command):
    """Take tools from one session of a run, or give them back."""

    kind = "gate"
    change: GateChanged

    def check(self, run: str, past: RunHistory) -> None:
        _require_open(run, past)
        self._place(past)

    async def apply(self, activation: Activation, journal: Journal) -> None:
        run = activation.run
        run.inbox.tell(self._place(run.log.drafts), self.change)

    def record(self, log: RunLog) -> None:
        log.note(self._place(log.drafts), self.change)

    async def is_done(self, journal: Journal, run: str) -> bool:
        past = await read_history(journal, run)
        told = any(draft.event == self.change for draft in past if draft.session_id == self.change.session)
        return told or self.change.session in past.ended_sessions

    def _place(self, past: RunHistory) -> Place:
        """Where the session stands. Raises `WrongUse` for one that has ended or never was."""
        session = self.change.session
        if session in past.ended_sessions:
            raise WrongUse(f"session {session!r} has ended; there is nothing to gate in it any more")
        for begun in past.open_sessions:
            if begun.session_id == session:
                return Place.of(begun)
        raise NotFound(
            f"there is no session {session!r}; `folkmoot sessions list` shows those that are",
            code="session_not_found",
        )


class AnswerItem(_Command):
    """A reply to an item of a run's inbox. The first one counts."""

    kind = ANSWER
    recorded = False
    reply: Reply
    item: Item | None = None
    """As it was found; only to check whether it takes the reply."""

    def check(self, run: str, past: RunHistory) -> None:
        decided(self.item, self.reply)

    async def apply(self, activation: Activation, journal: Journal) -> None:
        activation.run.inbox.take(self.reply)

    async def is_done(self, journal: Journal, run: str) -> bool:
        """When it is left. A revocation only when it was read, or nobody holds the run: whoever does next reads what
        was left before anything else."""
        id, revokes = self.reply.id, self.reply.word == "revoke"
        replies = [read_reply(post) for post in await journal.posts([run])]
        left = [each for each in replies if each and each.id == id and (each.word == "revoke") == revokes]
        if self.reply in left and left[0] != self.reply:
            raise WrongUse(f"{id} is decided already: {left[0].word} by {left[0].by}")
        if revokes and left and await find_holder(journal, run):
            return False
        if revokes and (item := await find_item(journal, id)).status not in ("revoke", "revoked"):
            raise too_late(item)
        return True


class CheckPause(_Command):
    """Look whether the work session of the run is paused, or goes on."""

    kind = "work_session"
    recorded = False
    work_session: str

    async def apply(self, activation: Activation, journal: Journal) -> None:
        if await is_paused(journal, self.work_session):
            activation.rest(self.work_session)


Command = CancelRun | CloseSession | ChangeGate | AnswerItem | CheckPause


def post_body(command: Command) -> str:
    match command:
        case CancelRun(text) | CheckPause(text):
            return text
        case CloseSession(session, reason):
            return f"{session} {reason}"
        case ChangeGate(stored) | AnswerItem(stored):
            return msgspec.json.encode(stored).decode()


def read_post(post: Post) -> Command | None:
    """None for what is no command."""
    match post.kind:
        case CancelRun.kind:
            return CancelRun(post.body)
        case CheckPause.kind:
            return CheckPause(post.body)
        case CloseSession.kind:
            session, _, reason = post.body.partition(" ")
            return CloseSession(session, reason)
        case ChangeGate.kind:
            return ChangeGate(msgspec.json.decode(post.body, type=GateChanged))
    return AnswerItem(reply) if (reply := read_reply(post)) else None


def is_kept_open(past: Sequence[Draft], session: str) -> bool:
    return any(child.id == session for child in live_children(past))


async def is_paused(journal: Journal, work_session: str) -> bool:
    last = await last_entry(journal, work_session, WorkSessionPaused.type, WorkSessionResumed.type)
    return last is not None and isinstance(last.event, WorkSessionPaused)


async def resolve_tool_names(journal: Journal, change: GateChanged) -> GateChanged:
    """With tools of ours by their own names, unless the run has tools of its project by the names that were given."""
    if ALIASES.keys().isdisjoint((*change.gated, *change.freed)):
        return change
    graph = await read_pinned_graph(journal, run_of(change.session))
    gated, freed = (
        tuple(wire_name(graph.tool_name(name)) for name in names) for names in (change.gated, change.freed)
    )
    return replace(change, gated=gated, freed=freed)


def _require_open(run: str, past: RunHistory) -> None:
    if past.is_over:
        raise WrongUse(f"run {run!r} is over already: {Result(run, past).status}")


def allow_call_always(folder: Path, item: Item, by: str) -> None:
    """From the next run on, this very call needs no approval: a rule in the settings, which this user allows."""
    from folkmoot.loader.project_file import allow_always  # noqa: PLC0415
    from folkmoot.tools.consent import ConsentStore  # noqa: PLC0415
    from folkmoot.tools.wanted import rule_item  # noqa: PLC0415

    ConsentStore().grant(folder, [rule_item(allow_always(folder, item, by))])
