"""`folkmoot run`: the tree on stderr while it runs, the final report alone on stdout."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, Quiet, Target, Wait, call_of
from folkmoot.cli.complete import agent_files
from folkmoot.domain.errand import Errand
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.cli.perform import Begin
    from folkmoot.domain.part import File
    from folkmoot.orchestration.inbox import Answerer
    from folkmoot.orchestration.invocation import HearSpan
    from folkmoot.views.result import Result


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
    """Run an agent and print its final report.

    The report stands alone on stdout, the progress on stderr. Ctrl-C cancels the run, a second one leaves at
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
    from folkmoot.cli.ending import finish
    from folkmoot.cli.perform import perform
    from folkmoot.domain.trace import PARENT, STATE, told

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
    from folkmoot.cli.records import has_run
    from folkmoot.domain.agent import find_agent
    from folkmoot.engine.admission import admit, check_request
    from folkmoot.models.choose import ProviderModels

    if not has_run(target.folder):
        graph = call.load(target).graph
        agent = find_agent(graph, target.agent)
        check_request(agent, request)
        admit(graph, agent, ProviderModels(graph.settings.providers, os.environ, target.folder).missing_key)


def _named(folder: Path, work_session: str) -> str:
    """The id that is meant; people know its beginning, or that it is the last."""
    from folkmoot.cli.call import finished

    if not work_session:
        return ""
    from folkmoot.cli.working import find_id

    return finished(find_id(folder, work_session))


def _attached(paths: list[Path] | None) -> list[File]:
    """Before a journal is made for nothing."""
    if not paths:
        return []
    from folkmoot.engine.admission import read_files

    return read_files(paths)


def _beginning(
    agent: str, request: str, errand: Errand, attached: list[File], *, quiet: bool, wait: bool
) -> Begin:
    """Warnings about agents that this run cannot reach are left to `check`."""
    from folkmoot.cli.output import STYLES, say
    from folkmoot.engine.admission import reachable

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
    from folkmoot.cli.call import finished
    from folkmoot.cli.output import say, write

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
