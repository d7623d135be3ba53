"""One operation through every interface that has it: what it did, how it was refused, and whom it was recorded for."""

import asyncio
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from folkmoot import Folkmoot
from folkmoot.cli.commands import option_name
from folkmoot.cli.main import main
from folkmoot.domain.message import ToolCall
from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.pages import rendering
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.operations.actor import account_name
from folkmoot.operations.agent_tools import agent_tool
from folkmoot.operations.operation import Field, OperationType, fields_of
from folkmoot.ports import Query, Site
from tests.desk import SETTINGS, write
from tests.http.page import Browser

AUTHORS = ("createdBy", "createdBySession", "workSessionId", "source", "proposedBy", "author", "by", "voter")
"""Fields that say who did it, and in which work session: a person is not an agent."""
MOMENTS = ("createdAt", "lastActivity", "endedAt", "ts", "id", "updatedAt")


@dataclass(frozen=True)
class Outcome:
    """What can be compared."""

    code: str
    """Of the refusal; empty: it was done."""
    events: tuple[tuple[str, str], ...]
    """The type of each and what it holds, without who and when."""
    actors: frozenset[str]


class Interfaces:
    """Each call is made in a project of its own, which `prepare` has filled."""

    def __init__(
        self,
        folder: Path,
        group: str,
        files: dict[str, str],
        prepare: Callable[[Folkmoot], Any],
        page: Callable[..., str],
    ) -> None:
        self._folder = folder
        self._group = group
        self._files = files
        self._prepare = prepare
        self._page = page
        """The address of the form of an operation, given what is filled in."""
        self.settings = self.script = ""
        """Further settings, and what the scripted model says."""

    async def agree(self, operation: OperationType, values: dict[str, Any], code: str, agent: str) -> None:
        """That all do the same, with this code, and record who did it. `agent` is who calls the tool."""
        outcomes = await self.outcomes(operation, values, agent)
        assert {each.code for each in outcomes.values()} == {code}, outcomes
        assert len({each.events for each in outcomes.values()}) == 1, outcomes
        changes = not code and not operation.reads
        for interface, outcome in outcomes.items():
            actor = agent if interface == "tool" else account_name()
            assert outcome.actors == (frozenset({actor}) if changes else frozenset()), interface

    async def outcomes(
        self, operation: OperationType, values: dict[str, Any], agent: str
    ) -> dict[str, Outcome]:
        """A value that names a record may be a function of what was prepared."""
        ways = {
            "terminal": operation.command and self._terminal,
            "http": operation.http and self._http,
            "page": operation.form and self._form,
            "tool": operation.tool and self._tool,
        }
        found = {}
        for name, way in ways.items():
            if way and _can_say(name, operation, values):
                (folder := self._folder / name).mkdir()
                write(folder, self._files, SETTINGS + self.settings)
                if self.script:
                    (folder / "script.yaml").write_text(self.script)
                async with self._opened(folder) as (project, known):
                    given = {field: _known(value, known) for field, value in values.items()}
                    before = await project.position()
                code = await way(folder, operation, given, agent)
                found[name] = await self._outcome(folder, code, before)
        return found

    @asynccontextmanager
    async def _opened(self, folder: Path):
        async with Folkmoot.open(folder) as project:
            yield project, await self._prepare(project)

    async def _outcome(self, folder: Path, code: str, before: int) -> Outcome:
        async with Folkmoot.open(folder) as project:
            entries = [entry async for entry in project.moot.journal.read(Query(after=before))]
        events = [
            (entry.event.type, json.dumps(_plain(msgspec.to_builtins(entry.event)), sort_keys=True))
            for entry in entries
        ]
        return Outcome(code, tuple(events), frozenset(entry.draft.agent_id for entry in entries))

    async def _terminal(
        self, folder: Path, operation: OperationType, given: dict[str, Any], agent: str
    ) -> str:
        arguments = list(_arguments(operation, given))
        if operation.named is not None:
            arguments += ["--as", account_name()]
        group = [self._group] if self._group else []
        return await _called("--project", str(folder), *group, operation.command, *arguments, "--json")

    async def _http(self, folder: Path, operation: OperationType, given: dict[str, Any], agent: str) -> str:
        assert operation.http
        path = f"/api{operation.http.path}"
        body: dict[str, Any] = {}
        for field in fields_of(operation):
            if field.name == operation.subject:
                path = path.replace("{id}", str(given[field.name]))
            elif f"{{{field.name}}}" in path:
                path = path.replace(f"{{{field.name}}}", given[field.name])
            elif field.name in given and field.spelling.http:
                body[field.json_name] = given[field.name]
        async with Folkmoot.open(folder) as project:
            browser = Browser(ServerState(moot=project, door=ServerOptions()))
            if operation.http.method == "GET":
                query = "&".join(f"{name}={value}" for name, value in body.items())
                shown = await browser._ask("GET", f"{path}?{query}", b"", {"accept": "application/json"})
            else:
                by = {"by": account_name()} if operation.http.by else {}
                content = msgspec.json.encode({**body, **by})
                headers = {"content-type": "application/json", "accept": "application/json"}
                shown = await browser._ask(operation.http.method, path, content, headers)
        return "" if shown.status < 300 else json.loads(shown.html)["code"]

    async def _form(self, folder: Path, operation: OperationType, given: dict[str, Any], agent: str) -> str:
        fields = {
            field.json_name: _filled(field, given[field.name])
            for field in fields_of(operation)
            if field.name in given
        }
        codes: list[str] = []
        async with Folkmoot.open(folder) as project:
            with _overheard(codes):
                await Browser(ServerState(moot=project, door=ServerOptions())).send(
                    self._page(operation, given), **fields
                )
        return codes[0] if codes else ""

    async def _tool(self, folder: Path, operation: OperationType, given: dict[str, Any], agent: str) -> str:
        names = {
            field.name: field.spelling.tool or field.name
            for field in fields_of(operation)
            if field.spelling.tool is not None
        }
        arguments = {names[name]: value for name, value in given.items() if name in names}
        site = Site("run-1", "run-1", "0", 1, 1, agent=agent)
        async with Folkmoot.open(folder) as project:
            tool = agent_tool(operation, lambda: project.moot)
            try:
                result = await tool.call(ToolCall("1", tool.name, arguments), site)
            except FolkmootError as error:
                return error.code
        if result.failed:
            return "steps_open" if "stop_guard" in result.text else "bad_value"
        return ""


def assert_all_tried(operations: Sequence[OperationType], cases: Sequence[tuple[Any, ...]]) -> None:
    tried = {operation: {code for each, _, code in cases if each is operation} for operation, _, _ in cases}

    assert tried.keys() == {each for each in operations if each.command}
    assert all(len(codes) > 1 for codes in tried.values())


def _known(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_known(each, known) for each in value]
    return value(known) if callable(value) else value


def _can_say(interface: str, operation: OperationType, values: dict[str, Any]) -> bool:
    """Whether it has all these fields."""
    by_name = {field.name: field for field in fields_of(operation)}
    for name in values:
        spelling = by_name[name].spelling
        if interface == "terminal" and spelling.terminal is None:
            return False
        if interface == "http" and not spelling.http and name != operation.subject:
            return False
        if interface == "tool" and spelling.tool is None and name != "agent":
            return False
    subject = operation.subject
    return interface not in ("http", "page") or not subject or bool(values.get(subject))


def _arguments(operation: OperationType, given: dict[str, Any]) -> Iterator[str]:
    for field in sorted(fields_of(operation), key=lambda field: field.name != operation.subject):
        if field.name not in given:
            continue
        name, value = option_name(field), given[field.name]
        if not name.startswith("-"):
            yield from value if field.is_list else [value]
        elif field.is_flag:
            yield from [name] if value else []
        else:
            for each in value if field.is_list else [value]:
                yield f"{name}={each}"


def _filled(field: Field, value: Any) -> str:
    if field.is_list:
        return ("," if field.spelling.metavar else "\n").join(value)
    return ("on" if value else "") if field.is_flag else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in (*AUTHORS, *MOMENTS)}
    return [_plain(each) for each in value] if isinstance(value, list) else value


async def _called(*arguments: str) -> str:
    """The code of the refusal of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        done = await asyncio.to_thread(main, arguments)
    return "" if done == 0 else json.loads(out.getvalue())["code"]


@contextmanager
def _overheard(codes: list[str]) -> Iterator[None]:
    """A page shows what was wrong in words; the code is heard where its status is found."""

    real = problems.status_of

    def status_of(error: FolkmootError) -> int:
        codes.append(error.code)
        return real(error)

    rendering.status_of = problems.status_of = status_of
    try:
        yield
    finally:
        rendering.status_of = problems.status_of = real
