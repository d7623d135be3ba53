"""`folkmoot run`, `runs resume` and `runs fork`: the tree on stderr while it runs, the final report alone on stdout."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import (
    AsJson,
    GlobalOptions,
    Quiet,
    Target,
    Wait,
    get_global_options,
    read_text,
    run_async,
)
from folkmoot.cli.commands import complete_agent_file, complete_run_name
from folkmoot.cli.failure import write_result
from folkmoot.cli.output import STYLES, write, write_stderr
from folkmoot.cli.project import has_run, open_existing_journal, open_readonly_project
from folkmoot.domain.agent import find_agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.trace import PARENT, STATE, told
from folkmoot.engine.admission import check_request, check_runnable, find_reachable_agents, read_files
from folkmoot.engine.claims import host_of
from folkmoot.engine.history import Fork
from folkmoot.errors import Held, OperationFailed, WrongUse
from folkmoot.models.choose import ProviderModels
from folkmoot.operations.runs import RunRecord, read_record

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.cli.perform import Begin
    from folkmoot.domain.part import File
    from folkmoot.orchestration.inbox import ItemHandler
    from folkmoot.orchestration.invocation import SpanTokenListener
    from folkmoot.views.result import Result

RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the beginning of one, or `last`.",
        autocompletion=complete_run_name,
        show_default=False,
    ),
]


def run(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", help="The agent's file, or its id.", autocompletion=complete_agent_file
        ),
    ],
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What it is asked; absent or `-`: what comes on stdin."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            help="Leave it to a worker and print its id; with --wait or --json, follow it to its end.",
        ),
    ] = False,
    work_session: Annotated[
        str, typer.Option(metavar="WS", help="The work session that it belongs to; otherwise one of its own.")
    ] = "",
    label: Annotated[str, typer.Option(metavar="TEXT", help="What that work session is called.")] = "",
    attach: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="An image, a PDF or a text that goes with the request; may be given several times.",
        ),
    ] = None,
) -> int:
    """The report stands alone on stdout, the progress on stderr. Ctrl-C cancels the run, a second one leaves at
    once. The exit code is 0 if all is well, 1 if the run failed, 2 for wrong use, 3 if a tool server did not
    start, 4 if a file or setting is wrong, 5 if an answer broke its schema, 6 if it waits for a person, 130
    if it was cancelled. A run that is left to a worker with --queue is not cancelled by Ctrl-C, only left.
    Where TRACEPARENT is set, the run belongs into that trace.

    \b
    Examples:
      folkmoot run front-desk.ai "I was charged twice."
      git diff | folkmoot run review.ai > review.md
      folkmoot run front-desk.ai "Where is my order?" --json --set maxTurns=3
      folkmoot run front-desk.ai "I was charged twice." --queue
      folkmoot run coder.ai "Write it." --work-session last --label "The new parser"
      folkmoot run clerk.ai "Is this bill right?" --attach bill.pdf --attach parcel.jpg
    """
    from folkmoot.cli.perform import run_in_terminal

    call = get_global_options(context)
    target = call.target(agent)
    request = _read_request(text, agent)
    began = time.monotonic()
    _check_run_request(call, target, request)
    attached = _read_attachments(attach)
    trace = told({name: os.environ.get(name.upper(), "") for name in (PARENT, STATE)})
    errand = Errand(_find_work_session(target.folder, work_session), label=label, **trace)
    if queue and not wait and not as_json:
        return _submit_to_workers(call, target, request, errand, attached)
    start = _build_queued_start if queue else _build_local_start
    begin = start(target.agent, request, errand, attached, quiet=quiet, wait=wait)
    result = run_in_terminal(call, target, begin, quiet=quiet)
    return write_result(result, as_json=as_json, quiet=quiet, took=time.monotonic() - began)


def _check_run_request(call: GlobalOptions, target: Target, request: str) -> None:
    """Before a journal is made for nothing; where there is one, the run itself finds out."""
    if not has_run(target.folder):
        graph = call.load(target).graph
        agent = find_agent(graph, target.agent)
        check_request(agent, request)
        check_runnable(
            graph, agent, ProviderModels(graph.settings.providers, os.environ, target.folder).missing_key
        )


def _find_work_session(folder: Path, work_session: str) -> str:
    """The id that is meant; people know its beginning, or that it is the last."""
    if not work_session:
        return ""
    if not has_run(folder):
        raise WORK_SESSION.missing(work_session)

    async def find() -> str:
        async with open_readonly_project(folder) as project:
            return (await project.host.find_work(work_session)).id

    return run_async(find())


def _read_attachments(paths: list[Path] | None) -> list[File]:
    """Before a journal is made for nothing."""
    return read_files(paths) if paths else []


def _build_local_start(
    agent: str, request: str, errand: Errand, attached: list[File], *, quiet: bool, wait: bool
) -> Begin:
    """Warnings about agents that this run cannot reach are left to `check`."""

    def begin(
        moot: Folkmoot, hear: SpanTokenListener | None, answer: ItemHandler | None
    ) -> Awaitable[Result]:
        beside = moot.graph.agents.keys() - {
            reached.file for reached in find_reachable_agents(moot.graph, moot.agent(agent))
        }
        for warning in moot.warnings:
            if not quiet and warning.file not in beside:
                write_stderr(str(warning), STYLES["warning"])
        whole = moot.enclose(errand, attached)
        return moot.run(agent, request, hear=hear, answer=answer, wait=wait, errand=whole)

    return begin


def _build_queued_start(
    agent: str, request: str, errand: Errand, attached: list[File], *, quiet: bool, wait: bool
) -> Begin:
    async def begin(moot: Folkmoot, hear: SpanTokenListener | None, answer: ItemHandler | None) -> Result:
        run_id = await moot.submit(agent, request, moot.enclose(errand, attached))
        return await moot.followed(run_id, wait=wait)

    return begin


def _submit_to_workers(
    call: GlobalOptions, target: Target, request: str, errand: Errand, attached: list[File]
) -> int:
    from folkmoot.app import Folkmoot

    async def submitted() -> str:
        only = target.agent if target.alone else None
        async with Folkmoot.open(target.folder, overrides=call.overrides, only=only) as moot:
            return await moot.submit(target.agent, request, moot.enclose(errand, attached))

    run_id = run_async(submitted())
    write(run_id)
    write_stderr(f"left to the workers; folkmoot runs show {run_id}", "dim")
    return 0


def _read_request(text: str | None, agent: str) -> str:
    """Bytes that are no text come as surrogates in arguments; both ways they are refused."""
    if text is None and sys.stdin.isatty():
        raise WrongUse(f'there is nothing to ask; write: folkmoot run {shlex.quote(agent)} "…"')
    try:
        if text in (None, "-"):
            return sys.stdin.buffer.read().decode().removesuffix("\n")
        return text.encode(errors="surrogateescape").decode()
    except UnicodeDecodeError as error:
        raise WrongUse(f"the request is not UTF-8 text: {error}") from None


def resume(
    context: typer.Context,
    run: RunName,
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
    current: Annotated[
        bool,
        typer.Option(
            "--with-current-files", help="From here on use the files as they are now; that is recorded."
        ),
    ] = False,
) -> int:
    """Go on with a run that was interrupted or waited for someone, in this process.

    Nothing that is recorded is done or paid for again. A run that is over is only printed. It goes on with the
    files that it was started with, unless you say otherwise.

    \b
    Examples:
      folkmoot runs resume last
      folkmoot runs resume last --with-current-files
    """
    return resume_run(
        get_global_options(context), run, as_json=as_json, quiet=quiet, wait=wait, current=current
    )


def resume_run(
    call: GlobalOptions, run: str, *, as_json: bool, quiet: bool, wait: bool, current: bool = False
) -> int:
    from folkmoot.cli.perform import run_in_terminal

    record = run_async(_find_run_record(call, run))
    result, run_id = record.result, record.row.run_id
    if record.owner:
        raise OperationFailed(
            f"run {run_id} is in the hands of {describe_owner(record.owner)}; wait for it, or stop it with:"
            f" folkmoot runs cancel {run_id}"
        )
    if result.status in ("interrupted", "queued", "waiting"):
        try:
            result = run_in_terminal(
                call,
                Target(folder=call.folder, agent=record.row.agent),
                lambda moot, hear, answer: moot.resume(
                    run_id, hear=hear, answer=answer, wait=wait, with_current_files=current
                ),
                quiet=quiet,
                run_id=run_id,
                pinned="" if current else run_id,
            )
        except Held as held:
            raise OperationFailed(
                f"run {run_id} is in the hands of {describe_owner(held.owner)} by now"
            ) from None
    return write_result(result, as_json=as_json, quiet=quiet)


async def _find_run_record(call: GlobalOptions, run: str) -> RunRecord:
    async with open_existing_journal(call.folder) as journal:
        return await read_record(journal, run)


def fork(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    run: RunName,
    at: Annotated[int, typer.Option(metavar="SEQ", help="The last entry that is taken over (its `runSeq`).")],
    prompt: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=FILE", help="Another prompt for an agent, from FILE; may be repeated."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=MODEL", help="Another model for an agent; may be repeated."),
    ] = None,
    answer: Annotated[
        str, typer.Option(metavar="TEXT", help="What the model says instead; SEQ is an answer or a request.")
    ] = "",
    request: Annotated[str, typer.Option(metavar="TEXT", help="Another request; only with --at 1.")] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
) -> int:
    """Start a new run that begins as another one did, and goes on from some entry with real models.

    Nothing that was taken over is done or paid for again. From there on, each call of a tool that does something
    (`keyed` or `once`) waits for your word, because the other run may have done the same. `folkmoot log export RUN`
    shows the entries with their `runSeq`.

    \b
    Examples:
      folkmoot runs fork last --at 12 --prompt billing.ai=shorter.md
      folkmoot runs fork last --at 12 --model billing.ai=openai/gpt-5-mini
      folkmoot runs fork last --at 10 --answer "I cannot decide this."
      folkmoot runs fork last --at 1 --request "Where is my order?"
    """
    from folkmoot.cli.perform import run_in_terminal

    call, files = get_global_options(context), _parse_pairs("--prompt", prompt)
    prompts = {name: read_text(Path(file), "the prompt").strip() for name, file in files.items()}
    wanted = Fork(
        at=at, prompts=prompts, models=_parse_pairs("--model", model), answer=answer, request=request
    )
    row = run_async(_find_run_record(call, run)).row
    result = run_in_terminal(
        call,
        Target(folder=call.folder, agent=row.agent),
        lambda moot, hear, said: moot.fork(row.run_id, wanted, hear=hear, answer=said, wait=wait),
        quiet=quiet,
        pinned=row.run_id,
    )
    return write_result(result, as_json=as_json, quiet=quiet)


def _parse_pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in given or []:
        agent, equals, value = each.partition("=")
        if not agent or not equals or not value:
            raise WrongUse(f"{option} takes AGENT=…, such as billing.ai=…, not {each!r}")
        pairs[agent] = value
    return pairs


def describe_owner(owner: str) -> str:
    """An owner as people know it: `host/pid/…` is a process."""
    return f"process {owner.split('/')[1]} on {host_of(owner)}"
