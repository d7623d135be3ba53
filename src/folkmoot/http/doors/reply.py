"""What a client is told of its run, in no wire format yet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.domain.item import Item
from folkmoot.domain.message import Origin
from folkmoot.domain.value import Value
from folkmoot.http.doors.waiting import told
from folkmoot.http.doors.wrong import NO_RETRY, Wrong
from folkmoot.views.accounting import Totals
from folkmoot.views.result import Result

OVER = (*RUN_ENDS, RunParked)
"""After one of these there is something to tell."""
_UNENDED = "interrupted"


class Going(Value):
    """A run that a client waits for."""

    run: str
    entries: int = 0
    """How many the run had before."""
    spent: Totals = Totals()
    """What it had cost before."""
    answered: tuple[str, ...] = ()
    """What of its inbox was answered with this request."""
    still: bool = False
    """Nothing happens in it before somebody else acts."""
    keyed: bool = False
    """Its client may come back for it, under the key of its request."""

    @property
    def name(self) -> str:
        """Of the answer: that of its run, and how far that had come when it was gone on with."""
        return f"{self.run}.{self.entries}" if self.entries else self.run

    def is_over(self, result: Result, entries: int) -> bool:
        """Whether this, of so many entries, tells its client all there is to tell now."""
        if result.status != "waiting":
            return result.status != _UNENDED
        return self.still or (entries > self.entries and self.is_heard(result))

    def is_heard(self, result: Result) -> bool:
        """A run may be taken up, and wait again, between two answers that its client gives at once."""
        return not any(item.id in self.answered for item in result.inbox)


class ClientCall(Value):
    """Of a tool of the client, under the name and in the form that the client knows."""

    id: str
    tool: Origin
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """What the tool is given: one text if it is freeform, otherwise JSON."""
        given = self.arguments.get("input", "") if self.tool.freeform else self.arguments
        return given if isinstance(given, str) else msgspec.json.encode(given).decode()


class Reply(Value):
    """What becomes of a request."""

    run: str
    work_session: str
    status: str
    text: str
    """The report, or what the run waits for."""
    usage: Totals
    """What this request cost: of a run that was gone on with, not what it had cost before."""
    cost_usd: float
    """Of the whole run."""
    waiting: tuple[str, ...] = ()
    """Ids in the inbox."""
    calls: tuple[ClientCall, ...] = ()
    """Of the client's own tools; their results let the run go on."""
    error: str = ""
    """Why there is no report."""
    code: str = ""
    """The same as one word."""

    @property
    def about(self) -> dict[str, object]:
        """What every answer says of Folkmoot's own, beside the fields of its format."""
        return {
            "runId": self.run,
            "workSessionId": self.work_session,
            "status": self.status,
            "waiting": list(self.waiting),
            "costUsd": self.cost_usd,
        }

    @property
    def wrong(self) -> Wrong | None:
        """Whoever sends such a request again runs, and pays for, everything once more."""
        if not self.error:
            return None
        status = 409 if self.status == "cancelled" else 500
        return Wrong(status, f"{self.error} (run {self.run})", code=self.code, headers=NO_RETRY)


def reply_of(result: Result, going: Going, page: str) -> Reply:
    """`page` is the address of this server."""
    waits, report = result.status == "waiting", result.final_report
    calls = [item for item in result.inbox if item.kind == "client_call"] if waits else []
    origins = {spec.name: spec.origin for spec in result.errand.tools if spec.origin}
    well = waits or result.success
    return Reply(
        run=going.run,
        work_session=result.work_session,
        status=result.status,
        text=_waiting(result, page) if waits else report.content if report else "",
        usage=_difference(result.totals, going.spent),
        cost_usd=result.totals.cost_usd,
        waiting=tuple(result.waiting),
        calls=tuple(_call(item, origins) for item in calls),
        error="" if well else result.error or f"it is {result.status}",
        code="" if well else (result.stop_reason or result.status).lower(),
    )


def _call(item: Item, origins: Mapping[str, Origin]) -> ClientCall:
    return ClientCall(item.id, origins.get(item.tool) or Origin(item.tool), item.arguments)


def _waiting(result: Result, page: str) -> str:
    """For whom it waits beside its client; empty if for nobody else."""
    items = [item for item in result.inbox if item.kind != "client_call"]
    paused = [id for id in result.waiting if id.startswith("ws_")]
    return told(result.run_id, items, paused, page) if items or paused else ""


def _difference(now: Totals, before: Totals) -> Totals:
    return Totals(*(getattr(now, name) - getattr(before, name) for name in Totals.__struct_fields__))
