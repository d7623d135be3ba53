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

from folkmoot.cli.call import AsJson, Call, Quiet, Target, Wait, call_of, finished, read_text
from folkmoot.cli.commands import agent_files, run_names
from folkmoot.cli.failure import finish
from folkmoot.cli.output import STYLES, say, write
from folkmoot.cli.project import has_run, opened, reading
from folkmoot.domain.agent import find_agent
from folkmoot.domain.errand import Errand
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.trace import PARENT, STATE, told
from folkmoot.engine.admission import admit, check_request, reachable, read_files
from folkmoot.engine.claims import host_of
from folkmoot.engine.history import Fork
from folkmoot.errors import Held, OperationFailed, WrongUse
from folkmoot.models.choose import ProviderModels
from folkmoot.operations.runs import RunRecord, read_record

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.cli.perform import Begin
    from folkmoot.domain.part import File
    from folkmoot.orchestration.inbox import Answerer
    from folkmoot.orchestration.invocation import HearSpan
    from folkmoot.views.result import Result

RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the beginning of one, or `last`.",
        autocompletion=run_names,
        show_default=False,
    ),
]


def run(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(metavar="AGENT", help="The agent's file, or its id.", autocompletion=agent_files),
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
    from folkmoot.cli.perform import perform

    call = call_of(context)
    target = call.target(agent)
    request = _request(text, agent)
    began = time.monotonic()
    _refuse_early(call, target, request)
    attached = _attached(attach)
    trace = told({name: os.environ.get(name.upper(), "") for name in (PARENT, STATE)})
    errand = Errand(_named(target.folder, work_session), label=label, **trace)
    if queue and not wait and not as_json:
        return _leave_to_workers(call, target, request, errand, attached)
    start = _following if queue else _beginning
    begin = start(target.agent, request, errand, attached, quiet=quiet, wait=wait)
    result = perform(call, target, begin, quiet=quiet)
    return finish(result, as_json=as_json, quiet=quiet, took=time.monotonic() - began)


def _refuse_early(call: Call, target: Target, request: str) -> None:
    """Before a journal is made for nothing; where there is one, the run itself finds out."""
    if not has_run(target.folder):
        graph = call.load(target).graph
        agent = find_agent(graph, target.agent)
        check_request(agent, request)
        admit(graph, agent, ProviderModels(graph.settings.providers, os.environ, target.folder).missing_key)


def _named(folder: Path, work_session: str) -> str:
    """The id that is meant; people know its beginning, or that it is the last."""
    if not work_session:
        return ""
    if not has_run(folder):
        raise WORK_SESSION.missing(work_session)

    async def find() -> str:
        async with reading(folder) as project:
            return (await project.host.find_work(work_session)).id

    return finished(find())


def _attached(paths: list[Path] | None) -> list[File]:
    """Before a journal is made for nothing."""
    return read_files(paths) if paths else []


def _beginning(
    agent: str, request: str, errand: Errand, attached: list[File], *, quiet: bool, wait: bool
) -> Begin:
    """Warnings about agents that this run cannot reach are left to `check`."""

    def begin(moot: Folkmoot, hear: HearSpan | None, answer: Answerer | None) -> Awaitable[Result]:
        beside = moot.graph.agents.keys() - {
            reached.file for reached in reachable(moot.graph, moot.agent(agent))
        }
        for warning in moot.warnings:
            if not quiet and warning.file not in beside:
                say(str(warning), STYLES["warning"])
        whole = moot.enclose(errand, attached)
        return moot.run(agent, request, hear=hear, answer=answer, wait=wait, errand=whole)

    return begin


def _following(
    agent: str, request: str, errand: Errand, attached: list[File], *, quiet: bool, wait: bool
) -> Begin:
    async def begin(moot: Folkmoot, hear: HearSpan | None, answer: Answerer | None) -> Result:
        run_id = await moot.submit(agent, request, moot.enclose(errand, attached))
        return await moot.followed(run_id, wait=wait)

    return begin


def _leave_to_workers(call: Call, target: Target, request: str, errand: Errand, attached: list[File]) -> int:
    from folkmoot.app import Folkmoot

    async def submitted() -> str:
        only = target.agent if target.alone else None
        async with Folkmoot.open(target.folder, overrides=call.overrides, only=only) as moot:
            return await moot.submit(target.agent, request, moot.enclose(errand, attached))

    run_id = finished(submitted())
    write(run_id)
    say(f"left to the workers; folkmoot runs show {run_id}", "dim")
    return 0


def _request(text: str | None, agent: str) -> str:
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
    return go_on(call_of(context), run, as_json=as_json, quiet=quiet, wait=wait, current=current)


def go_on(call: Call, run: str, *, as_json: bool, quiet: bool, wait: bool, current: bool = False) -> int:
    from folkmoot.cli.perform import perform

    record = finished(_record(call, run))
    result, run_id = record.result, record.row.run_id
    if record.owner:
        raise OperationFailed(
            f"run {run_id} is in the hands of {called(record.owner)}; wait for it, or stop it with:"
            f" folkmoot runs cancel {run_id}"
        )
    if result.status in ("interrupted", "queued", "waiting"):
        try:
            result = perform(
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
            raise OperationFailed(f"run {run_id} is in the hands of {called(held.owner)} by now") from None
    return finish(result, as_json=as_json, quiet=quiet)


async def _record(call: Call, run: str) -> RunRecord:
    async with opened(call.folder) as journal:
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
    from folkmoot.cli.perform import perform

    call, files = call_of(context), _pairs("--prompt", prompt)
    prompts = {name: read_text(Path(file), "the prompt").strip() for name, file in files.items()}
    wanted = Fork(at=at, prompts=prompts, models=_pairs("--model", model), answer=answer, request=request)
    row = finished(_record(call, run)).row
    result = perform(
        call,
        Target(folder=call.folder, agent=row.agent),
        lambda moot, hear, said: moot.fork(row.run_id, wanted, hear=hear, answer=said, wait=wait),
        quiet=quiet,
        pinned=row.run_id,
    )
    return finish(result, as_json=as_json, quiet=quiet)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in given or []:
        agent, equals, value = each.partition("=")
        if not agent or not equals or not value:
            raise WrongUse(f"{option} takes AGENT=…, such as billing.ai=…, not {each!r}")
        pairs[agent] = value
    return pairs


def called(owner: str) -> str:
    """An owner as people know it: `host/pid/…` is a process."""
    return f"process {owner.split('/')[1]} on {host_of(owner)}"
