"""`folkmoot inbox` and `folkmoot approvals`: what runs wait for someone to say, and how to say it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from msgspec.structs import replace

from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions, perform_operation
from folkmoot.cli.output import format_local_time, write, write_json, write_stderr, write_table
from folkmoot.cli.run import describe_owner, resume_run
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
        _write_reply(output)
    elif isinstance(operation, ShowItem):
        for key, value in operation.document(output).items():
            if value not in (None, "", []):
                said = ", ".join(value) if isinstance(value, list) else value
                write(f"{key:10} {said}".replace("\n", "\n" + " " * 11))
    elif output:
        rows = (
            (i.id, i.kind, i.status, i.risk, format_local_time(i.at), f"{i.agent} ({i.span})", i.run, what(i))
            for i in output
        )
        write_table(_HEAD, rows)
    else:
        write_stderr("nothing waits for anybody")


def _write_reply(reply: RecordedReply) -> None:
    run = reply.run_id
    if reply.held_by:
        write_stderr(f"recorded; {describe_owner(reply.held_by)} goes on with run {run}")
    elif reply.by_workers:
        write_stderr(f"recorded; a worker goes on with run {run}; without one: folkmoot runs resume {run}")
    else:
        write_stderr(f"recorded; to go on: folkmoot runs resume {run}")


def _read_resume_option(resume: Resume = False) -> dict[str, Any]:
    return {}


def _read_scope_options(
    for_run: Annotated[
        bool, typer.Option("--for-run", help="Equal calls of this run need no further word.")
    ] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Nor do equal calls of later runs: adds a rule to folkmoot.yaml.")
    ] = False,
    resume: Resume = False,
) -> dict[str, Any]:
    return {"scope": "always" if always else "run" if for_run else "once"}


def _reply_and_resume(
    call: GlobalOptions,
    wanted: ReplyToItem,
    as_json: bool,
    *,
    resume: bool,
    always: bool = False,
    **_: object,
) -> int:
    """And go on with the run in this process, unless another has it."""
    reply: RecordedReply = run_async(perform_operation(call, replace(wanted, wake=not resume)))
    if always:
        write_stderr("folkmoot.yaml has a rule for this call now; take the rule out to be asked again")
    if resume and not reply.held_by:
        return resume_run(call, reply.run_id, as_json=as_json, quiet=False, wait=False)
    write_json(reply) if as_json else _write_reply(reply)
    return 0


_AND_RESUME = TerminalOptions(_read_resume_option, _reply_and_resume, when=("resume",))
TERMINAL_OPTIONS = {
    **dict.fromkeys((AnswerQuestion, SettleCall, DenyCall, RevokeApproval), _AND_RESUME),
    ApproveCall: TerminalOptions(_read_scope_options, _reply_and_resume, when=("resume", "always")),
}
__all__ = ["APPROVALS", "INBOX"]
