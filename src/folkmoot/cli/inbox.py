"""`folkmoot inbox` and `folkmoot approvals`: what runs wait for someone to say, and how to say it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from msgspec.structs import replace

from folkmoot.cli.call import Call, finished
from folkmoot.cli.commands import TerminalOptions, perform_operation
from folkmoot.cli.output import moment, say, write, write_json, write_table
from folkmoot.cli.run import called, go_on
from folkmoot.operations.inbox import (
    APPROVALS,
    INBOX,
    AnswerQuestion,
    ApproveCall,
    DenyCall,
    RecordedReply,
    ReplyToItem,
    RevokeApproval,
    SettleCall,
    ShowItem,
)
from folkmoot.operations.operation import Operation
from folkmoot.views.inbox import what

Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run at once, in this process.")]
_HEAD = ("id", "kind", "status", "risk", "since", "agent", "run", "what")


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(operation, ReplyToItem):
        _tell(output)
    elif isinstance(operation, ShowItem):
        for key, value in operation.document(output).items():
            if value not in (None, "", []):
                said = ", ".join(value) if isinstance(value, list) else value
                write(f"{key:10} {said}".replace("\n", "\n" + " " * 11))
    elif output:
        rows = (
            (i.id, i.kind, i.status, i.risk, moment(i.at), f"{i.agent} ({i.span})", i.run, what(i))
            for i in output
        )
        write_table(_HEAD, rows)
    else:
        say("nothing waits for anybody")


def _tell(reply: RecordedReply) -> None:
    run = reply.run_id
    if reply.held_by:
        say(f"recorded; {called(reply.held_by)} goes on with run {run}")
    elif reply.by_workers:
        say(f"recorded; a worker goes on with run {run}; without one: folkmoot runs resume {run}")
    else:
        say(f"recorded; to go on: folkmoot runs resume {run}")


def _resume(resume: Resume = False) -> dict[str, Any]:
    return {}


def _scope(
    for_run: Annotated[
        bool, typer.Option("--for-run", help="Equal calls of this run need no further word.")
    ] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Nor do equal calls of later runs: adds a rule to folkmoot.yaml.")
    ] = False,
    resume: Resume = False,
) -> dict[str, Any]:
    return {"scope": "always" if always else "run" if for_run else "once"}


def _reply(
    call: Call, wanted: ReplyToItem, as_json: bool, *, resume: bool, always: bool = False, **_: object
) -> int:
    """And go on with the run in this process, unless another has it."""
    reply: RecordedReply = finished(perform_operation(call, replace(wanted, wake=not resume)))
    if always:
        say("folkmoot.yaml has a rule for this call now; take the rule out to be asked again")
    if resume and not reply.held_by:
        return go_on(call, reply.run_id, as_json=as_json, quiet=False, wait=False)
    write_json(reply) if as_json else _tell(reply)
    return 0


_AND_RESUME = TerminalOptions(_resume, _reply, when=("resume",))
TERMINAL_OPTIONS = {
    **dict.fromkeys((AnswerQuestion, SettleCall, DenyCall, RevokeApproval), _AND_RESUME),
    ApproveCall: TerminalOptions(_scope, _reply, when=("resume", "always")),
}
__all__ = ["APPROVALS", "INBOX"]
