"""The reply to a chat client about its run, in no wire format yet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from folkmoot.domain.item import Item
from folkmoot.domain.message import Origin
from folkmoot.domain.value import Value
from folkmoot.http.chat_errors import NO_RETRY, ChatError
from folkmoot.views.costs import Totals
from folkmoot.views.inbox import how_to_answer, what
from folkmoot.views.result import Result


class AwaitedRun(Value):
    """A run that a client waits for."""

    run: str
    entries: int = 0
    """How many the run had before."""
    spent: Totals = Totals()
    """What it had cost before."""
    answered: tuple[str, ...] = ()
    """Ids in its inbox that this request answered."""
    still: bool = False
    """Nothing happens in it before somebody else acts."""
    keyed: bool = False
    """Its client may come back for it, with the idempotency key of its request."""

    @property
    def name(self) -> str:
        """Of the answer: that of its run, and how many entries it had when it was continued."""
        return f"{self.run}.{self.entries}" if self.entries else self.run

    def is_over(self, result: Result, entries: int) -> bool:
        """Whether this result, of so many entries, is what the client waits for."""
        if result.status != "waiting":
            return result.status != "interrupted"
        return self.still or (entries > self.entries and self.has_read_answers(result))

    def has_read_answers(self, result: Result) -> bool:
        """A run may be resumed, and wait again, between two answers that its client gives at once."""
        return not any(item.id in self.answered for item in result.inbox)


class ClientCall(Value):
    """Of a tool of the client, under the client's own name and in its form."""

    id: str
    tool: Origin
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The tool's input: one text if it is freeform, otherwise JSON."""
        given = self.arguments.get("input", "") if self.tool.freeform else self.arguments
        return given if isinstance(given, str) else msgspec.json.encode(given).decode()


class ChatReply(Value):
    run: str
    work_session: str
    status: str
    text: str
    """The report, or what the run waits for."""
    usage: Totals
    """Of this request alone, also if its run was continued."""
    cost_usd: float
    """Of the whole run."""
    waiting: tuple[str, ...] = ()
    """Ids in the inbox."""
    calls: tuple[ClientCall, ...] = ()
    """Of the client's own tools; the run waits for their results."""
    error: str = ""
    """Why there is no report."""
    code: str = ""
    """The same as one word."""

    @property
    def about(self) -> dict[str, object]:
        """The field `folkmoot` of every answer, beside the fields of its format."""
        return {
            "runId": self.run,
            "workSessionId": self.work_session,
            "status": self.status,
            "waiting": list(self.waiting),
            "costUsd": self.cost_usd,
        }

    @property
    def failure(self) -> ChatError | None:
        """A client that sends such a request again runs, and pays for, everything once more."""
        if not self.error:
            return None
        status = 409 if self.status == "cancelled" else 500
        return ChatError(status, f"{self.error} (run {self.run})", code=self.code, headers=NO_RETRY)


def reply_of(result: Result, awaited: AwaitedRun, page: str) -> ChatReply:
    """`page` is the address of this server."""
    waits, report = result.status == "waiting", result.final_report
    calls = [item for item in result.inbox if item.kind == "client_call"] if waits else []
    origins = {spec.name: spec.origin for spec in result.errand.tools if spec.origin}
    well = waits or result.success
    now, before = result.totals, awaited.spent
    return ChatReply(
        run=awaited.run,
        work_session=result.work_session,
        status=result.status,
        text=_waiting_text(result, page) if waits else report.content if report else "",
        usage=Totals(*(getattr(now, name) - getattr(before, name) for name in Totals.__struct_fields__)),
        cost_usd=now.cost_usd,
        waiting=tuple(result.waiting),
        calls=tuple(
            ClientCall(item.id, origins.get(item.tool) or Origin(item.tool), item.arguments) for item in calls
        ),
        error="" if well else result.error or f"it is {result.status}",
        code="" if well else (result.stop_reason or result.status).lower(),
    )


def waiting_mark(run: str) -> str:
    """Names the run in the text of a waiting run: the conversation's next message is known to come after it."""
    return f"Run {run} waits for a person"


def _waiting_text(result: Result, page: str) -> str:
    """For whom the run waits beside its client; empty if for nobody else. Questions come first: to the person at the
    client they are the assistant's own words."""
    items = [item for item in result.inbox if item.kind != "client_call"]
    paused = [id for id in result.waiting if id.startswith("ws_")]
    if not items and not paused:
        return ""
    lines = [line for item in items if item.kind == "question" for line in (item.question, "")]
    lines += [f"_{waiting_mark(result.run_id)}._", "", *_item_lines(items, page)]
    lines += [
        f"Its work session {id} is paused: `folkmoot work resume {id}`, or {page}work/{id}" for id in paused
    ]
    return "\n".join(lines).strip()


def _item_lines(items: Sequence[Item], page: str) -> Iterator[str]:
    for item in items:
        if item.kind == "question":
            yield f"- {item.agent} asks ({item.id}): your next message here is the answer."
        elif item.kind == "approval":
            yield f"- {item.agent} may not go on without a yes or no ({item.id}): `{what(item)}`"
        else:
            yield f"- {item.agent} may or may not have done this ({item.id}): `{what(item)}`"
        commands = " or ".join(f"`{command}`" for command in how_to_answer(item))
        yield f"  Elsewhere: {page}inbox/{item.id}, or: {commands}"
