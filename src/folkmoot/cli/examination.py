"""What `folkmoot doctor` looks at, one function each."""

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

from folkmoot import __version__
from folkmoot.cli.amounts import counted
from folkmoot.cli.call import Call, Target
from folkmoot.cli.check import checked
from folkmoot.cli.finding import Finding
from folkmoot.cli.local_models import findings
from folkmoot.cli.output import console
from folkmoot.cli.records import has_run, opened
from folkmoot.cli.remotes import examine_remotes
from folkmoot.cli.trust import wanted_by
from folkmoot.domain.agent import Graph
from folkmoot.domain.providers import BUILT_IN, OWN_CREDENTIALS, key_variable
from folkmoot.domain.settings import Storage
from folkmoot.errors import DeclarationError, FolkmootError
from folkmoot.journal.database import FOLDER
from folkmoot.loader.project_file import storage_of
from folkmoot.models.choose import missing_library
from folkmoot.ports import RunQuery
from folkmoot.tools.consent import ConsentStore, mark_of

_LEAST_SQLITE = (3, 24)
"""Older ones lack what the journal's statements need."""


def examine(call: Call, look_at: Sequence[str] = ()) -> list[Finding]:
    return [
        Finding("folkmoot", "ok", __version__),
        Finding("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        _sqlite(),
        _terminal(),
        *_project(call),
        *findings(look_at, _used(call)),
    ]


def _sqlite() -> Finding:
    enough = sqlite3.sqlite_version_info >= _LEAST_SQLITE
    return Finding("sqlite", "ok" if enough else "failed", sqlite3.sqlite_version)


def _terminal() -> Finding:
    target = console(stderr=True)
    if not target.is_terminal:
        return Finding("terminal", "ok", "stderr is no terminal: progress comes line by line")
    colours = "no colours" if target.no_color else f"{target.color_system or 'no'} colours"
    return Finding("terminal", "ok", f"{target.width}×{target.height}, {target.encoding}, {colours}")


def _project(call: Call) -> Iterator[Finding]:
    folder = call.folder
    try:
        loaded = checked(call, Target(folder=folder, agent=""))
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
        yield from _keys(loaded.graph)
        yield _trust(call)
        yield from _servers(folder, loaded.graph)
        yield from examine_remotes(folder, loaded.graph)
    yield from _journal(folder)
    yield from _git(folder)


def _used(call: Call) -> set[str | None]:
    """The addresses of the providers that the project has; none if it is unsound, which is told elsewhere."""
    with suppress(FolkmootError):
        graph = call.load(Target(folder=call.folder, agent="")).graph
        names = {choice.provider for agent in graph.agents.values() for choice in agent.models}
        built_in = [BUILT_IN[name] for name in names if name in BUILT_IN]
        return {provider.base_url for provider in (*graph.settings.providers.values(), *built_in)}
    return set()


def _keys(graph: Graph) -> Iterator[Finding]:
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


def _trust(call: Call) -> Finding:
    store = ConsentStore()
    if store.of(call.folder).mine:
        text = "this folder is yours: nothing is asked here (`folkmoot trust --not-mine` turns asking on)"
        return Finding("trust", "ok", text)
    missing = store.missing(call.folder, wanted_by(call, Target(folder=call.folder, agent="")))
    if not missing:
        return Finding("trust", "ok", "nothing to allow")
    wants = "; ".join(item.text for item in missing)
    return Finding("trust", "warning", f"the project wants to {wants}: see `folkmoot trust`")


def _servers(folder: Path, graph: Graph) -> Iterator[Finding]:
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


def _journal(folder: Path) -> Iterator[Finding]:
    try:
        storage = storage_of(folder, os.environ)
        if storage.url is None:
            yield _local_journal(folder)
        else:
            yield from _shared_journal(folder, storage)
    except FolkmootError as error:
        yield Finding("journal", "failed", str(error))


def _local_journal(folder: Path) -> Finding:
    if not has_run(folder):
        writable = os.access(folder, os.W_OK)
        text = "nothing has run yet" if writable else f"{folder} is not writable: nothing can run"
        return Finding("journal", "ok" if writable else "failed", text)
    runs = asyncio.run(_read_journal(folder))
    if not os.access(folder / FOLDER, os.W_OK):
        return Finding("journal", "failed", f"{folder / FOLDER} is not writable: nothing can run")
    return Finding("journal", "ok", f"{counted(runs, 'run')}, readable and writable")


def _shared_journal(folder: Path, storage: Storage) -> Iterator[Finding]:
    runs = asyncio.run(_read_journal(folder))  # first: it says what is missing to read it at all
    from folkmoot.cli.shared import examine_shared

    yield Finding("journal", "ok", f"{counted(runs, 'run')} in {storage.shown}, project {storage.project!r}")
    yield from examine_shared(storage)


async def _read_journal(folder: Path) -> int:
    async with opened(folder) as journal:
        return await journal.count_runs(RunQuery())


def _git(folder: Path) -> Iterator[Finding]:
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
