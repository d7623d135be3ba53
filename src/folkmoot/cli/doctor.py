"""`folkmoot doctor`: what is missing on this machine or in this project."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot import __version__
from folkmoot.cli.call import AsJson, GlobalOptions, Target, get_global_options
from folkmoot.cli.check import check_project
from folkmoot.cli.local_models import Finding, find_model_servers, render_provider_settings
from folkmoot.cli.output import STYLES, console, counted, write, write_json, write_table
from folkmoot.cli.project import has_run, open_existing_journal
from folkmoot.cli.trust import list_consent_items
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.providers import BUILT_IN, OWN_CREDENTIALS, key_variable
from folkmoot.domain.settings import Storage
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import DeclarationError, FolkmootError, ModelFailed
from folkmoot.journal.database import FOLDER
from folkmoot.loader.project_file import storage_of
from folkmoot.models.choose import ProviderModels, missing_library
from folkmoot.ports import RunQuery
from folkmoot.tools.consent import ConsentStore, mark_of
from folkmoot.tools.wanted import wanted_items

if TYPE_CHECKING:
    from folkmoot.engine.procrastinate import QueueStatus


def doctor(
    context: typer.Context,
    as_json: AsJson = False,
    look_at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Look for a model server here, and not at the usual ports.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """It looks at Python, SQLite, the terminal, the project, keys, trust, tool servers, remote agents, the journal and
    git. Keys are never printed, only whether they are set. The exit code is 1 if something is broken. Model servers
    (Ollama, LM Studio, llama.cpp, vLLM and others) are asked for their models on the usual ports of this machine,
    without a key; for those that the project does not use, it prints what to write into folkmoot.yaml.

    \b
    Examples:
      folkmoot doctor
      folkmoot doctor --look-at 127.0.0.1:9000
      folkmoot --project desks/support doctor --json
    """
    found = examine_installation(get_global_options(context), look_at or ())
    if as_json:
        write_json(found)
    else:
        write_table(
            ("what", "status", "finding"),
            (
                (finding.id, (finding.status, STYLES.get(finding.status, "")), finding.text)
                for finding in found
            ),
        )
        if lines := render_provider_settings(found):
            write("\nTo use these models, write into folkmoot.yaml:\n")
            for line in lines:
                write(line)
    return 1 if any(finding.status == "failed" for finding in found) else 0


_LEAST_SQLITE = (3, 24)
"""Older ones lack what the journal's statements need."""


def examine_installation(call: GlobalOptions, look_at: Sequence[str] = ()) -> list[Finding]:
    return [
        Finding("folkmoot", "ok", __version__),
        Finding("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        _examine_sqlite(),
        _examine_terminal(),
        *_examine_project(call),
        *find_model_servers(look_at, _list_provider_urls(call)),
    ]


def _examine_sqlite() -> Finding:
    enough = sqlite3.sqlite_version_info >= _LEAST_SQLITE
    return Finding("sqlite", "ok" if enough else "failed", sqlite3.sqlite_version)


def _examine_terminal() -> Finding:
    target = console(stderr=True)
    if not target.is_terminal:
        return Finding("terminal", "ok", "stderr is no terminal: progress comes line by line")
    colours = "no colours" if target.no_color else f"{target.color_system or 'no'} colours"
    return Finding("terminal", "ok", f"{target.width}×{target.height}, {target.encoding}, {colours}")


def _examine_project(call: GlobalOptions) -> Iterator[Finding]:
    folder = call.folder
    try:
        loaded = check_project(call, Target(folder=folder, agent=""))
    except DeclarationError as error:
        errors = sum(problem.severity == "error" for problem in error.problems)
        first = next(problem for problem in error.problems if problem.severity == "error")
        text = f"{counted(errors, 'problem')} in {folder}; `folkmoot check` lists them, the first is: {first}"
        yield Finding("project", "failed", text)
    except FolkmootError as error:
        yield Finding("project", "failed", str(error))
        return
    else:
        yield Finding("project", "ok", f"{folder}, {counted(len(loaded.graph.agents), 'agent')}")
        yield from _examine_keys(loaded.graph)
        yield _examine_trust(call)
        yield from _examine_servers(folder, loaded.graph)
        yield from examine_remotes(folder, loaded.graph)
    yield from _examine_journal(folder)
    yield from _examine_git(folder)


def _list_provider_urls(call: GlobalOptions) -> set[str | None]:
    """The addresses of the providers that the project has; none if it is unsound, which is told elsewhere."""
    with suppress(FolkmootError):
        graph = call.load(Target(folder=call.folder, agent="")).graph
        names = {choice.provider for agent in graph.agents.values() for choice in agent.models}
        built_in = [BUILT_IN[name] for name in names if name in BUILT_IN]
        return {provider.base_url for provider in (*graph.settings.providers.values(), *built_in)}
    return set()


def _examine_keys(graph: Graph) -> Iterator[Finding]:
    used = {choice.provider for agent in graph.agents.values() for choice in agent.models}
    for name in sorted(used):
        provider = {**BUILT_IN, **graph.settings.providers}.get(name)
        variable = key_variable(provider) if provider else ""
        if provider and provider.provider in OWN_CREDENTIALS and not variable:
            yield Finding(f"key of {name}", "ok", "left to its own library")
        elif not variable:
            yield Finding(f"key of {name}", "ok", "none needed")
        elif os.environ.get(variable, "").strip():
            yield Finding(f"key of {name}", "ok", f"{variable} is set")
        else:
            yield Finding(f"key of {name}", "warning", f"{variable} is not set: its models will not answer")
        if provider and (command := missing_library(provider)):
            yield Finding(f"library of {name}", "warning", f"not installed: {command}")


def _examine_trust(call: GlobalOptions) -> Finding:
    store = ConsentStore()
    if store.of(call.folder).mine:
        text = "this folder is yours: nothing is asked here (`folkmoot trust --not-mine` turns asking on)"
        return Finding("trust", "ok", text)
    missing = store.missing(call.folder, list_consent_items(call, Target(folder=call.folder, agent="")))
    if not missing:
        return Finding("trust", "ok", "nothing to allow")
    wants = "; ".join(item.text for item in missing)
    return Finding("trust", "warning", f"the project wants to {wants}: see `folkmoot trust`")


def _examine_servers(folder: Path, graph: Graph) -> Iterator[Finding]:
    """Nothing is started: only whether it could be, and what was trusted of it."""
    listings = ConsentStore().listings
    for name, source in graph.settings.tools.items():
        if source.kind != "mcp":
            continue
        offers = listings.of(folder, mark_of(source))
        if source.command and not shutil.which(source.command[0], path=os.environ.get("PATH", os.defpath)):
            text = f"there is no program {source.command[0]!r}: install it, or correct `tools.{name}.command`"
            yield Finding(f"server {name}", "failed", text)
        elif offers is None:
            yield Finding(f"server {name}", "warning", "its tools were never looked at: see `folkmoot trust`")
        else:
            yield Finding(f"server {name}", "ok", f"{counted(len(offers), 'trusted tool')}")


def _examine_journal(folder: Path) -> Iterator[Finding]:
    try:
        storage = storage_of(folder, os.environ)
        if storage.url is None:
            yield _examine_local_journal(folder)
        else:
            yield from _examine_shared_journal(folder, storage)
    except FolkmootError as error:
        yield Finding("journal", "failed", str(error))


def _examine_local_journal(folder: Path) -> Finding:
    if not has_run(folder):
        writable = os.access(folder, os.W_OK)
        text = "nothing has run yet" if writable else f"{folder} is not writable: nothing can run"
        return Finding("journal", "ok" if writable else "failed", text)
    runs = asyncio.run(_count_runs(folder))
    if not os.access(folder / FOLDER, os.W_OK):
        return Finding("journal", "failed", f"{folder / FOLDER} is not writable: nothing can run")
    return Finding("journal", "ok", f"{counted(runs, 'run')}, readable and writable")


def _examine_shared_journal(folder: Path, storage: Storage) -> Iterator[Finding]:
    runs = asyncio.run(_count_runs(folder))  # first: it says what is missing to read it at all
    yield Finding("journal", "ok", f"{counted(runs, 'run')} in {storage.shown}, project {storage.project!r}")
    yield from examine_shared(storage)


async def _count_runs(folder: Path) -> int:
    async with open_existing_journal(folder) as journal:
        return await journal.count_runs(RunQuery())


def _examine_git(folder: Path) -> Iterator[Finding]:
    """Only where git is used: the journal holds requests and answers, and belongs to nobody's history."""
    if not shutil.which("git") or not (folder / FOLDER).exists():
        return
    asked = subprocess.run(
        [
            "git",
            "-C",
            str(folder),
            "-c",
            "core.fsmonitor=false",
            "check-ignore",
            "-q",
            f"{FOLDER}/folkmoot.db",
        ],
        capture_output=True,
    )
    if asked.returncode == 0:
        yield Finding("git", "ok", f"{FOLDER} is ignored")
    elif asked.returncode == 1:
        yield Finding("git", "warning", f"{FOLDER} is not ignored: add it to .gitignore")


_PATIENCE = 5.0
"""Seconds."""


def examine_remotes(folder: Path, graph: Graph) -> Iterator[Finding]:
    """Nobody is asked whose address was not trusted."""
    remote = [agent for agent in graph.agents.values() if agent.remote]
    if remote and not ConsentStore().missing(folder, wanted_items(folder, graph)):
        yield from asyncio.run(_examine_remote_agents(folder, graph, remote))


async def _examine_remote_agents(folder: Path, graph: Graph, remote: list[Agent]) -> list[Finding]:
    models = ProviderModels(graph.settings.providers, os.environ, folder)
    try:
        return list(await asyncio.gather(*(_examine_remote_agent(models, agent) for agent in remote)))
    finally:
        await models.aclose()


async def _examine_remote_agent(models: ProviderModels, agent: Agent) -> Finding:
    what = f"remote agent {agent.file}"
    try:
        async with asyncio.timeout(_PATIENCE):
            return Finding(what, "ok", await models.remote_card(agent.models[0]))
    except ModelFailed as error:
        return Finding(what, "warning", str(error))
    except TimeoutError:
        return Finding(what, "warning", f"no answer within {_PATIENCE:g} s")


_APART = 2.0
"""Seconds that clocks may differ before it is worth a word."""
_SHOWN = 3


def examine_shared(storage: Storage) -> list[Finding]:
    from folkmoot.engine.procrastinate import read_queue_status

    return list(_describe_survey(asyncio.run(read_queue_status(storage, SystemClock()))))


def _describe_survey(found: QueueStatus) -> Iterator[Finding]:
    yield Finding("server", "ok", f"PostgreSQL {found.server}")
    queue = f"Procrastinate {found.queue}" if found.queue else "no worker has been there yet"
    yield Finding("schemas", "ok", f"journal {found.journal or 'not made yet'}, {queue}")
    if found.off:
        text = f"{' and '.join(found.off)} of the server is off: a power cut can lose what was acknowledged"
        yield Finding("durability", "warning", text)
    else:
        yield Finding("durability", "ok", "fsync, full_page_writes and synchronous_commit are on")
    yield _examine_clock(found.ahead)
    yield _examine_workers(found)
    if found.forsaken:
        named = ", ".join(found.forsaken[:_SHOWN]) + (" …" if len(found.forsaken) > _SHOWN else "")
        text = (
            f"{counted(len(found.forsaken), 'run')} without an owner or a job: {named}; a worker finds them"
        )
        yield Finding("forsaken runs", "warning", text)


def _examine_clock(ahead: float) -> Finding:
    side = "ahead of" if ahead > 0 else "behind"
    if abs(ahead) < _APART:
        return Finding("clocks", "ok", f"this host is {abs(ahead) * 1000:.0f} ms {side} the server")
    text = (
        f"this host is {abs(ahead):.1f} s {side} the server: leases hold, but times in the journal are wrong"
    )
    return Finding("clocks", "warning", text)


def _examine_workers(found: QueueStatus) -> Finding:
    waiting = f"{counted(found.queued, 'run')} queued"
    if found.workers:
        return Finding("workers", "ok", f"{counted(found.workers, 'worker')} alive, {waiting}")
    if found.queued:
        return Finding("workers", "warning", f"none is alive, {waiting}: start one with `folkmoot worker`")
    return Finding("workers", "ok", "none is alive, and no run waits for one")
