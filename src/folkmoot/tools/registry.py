"""What a tool is, a plain Python function as one, and all tools of a project by the names that agent files use."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_type_hints, overload

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFailed, ToolFinished
from folkmoot.domain.message import Access, Effect, Risk, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import GROUPS, wire_name
from folkmoot.domain.settings import ToolSource
from folkmoot.errors import DeclarationError, Problem
from folkmoot.ports import Site
from folkmoot.tools.parameters import InvalidArguments, Parameters, UnfitTool, as_text

T = TypeVar("T")
KEY = "idempotency_key"
"""A parameter of this name is not offered to the model; it gets the key of the call."""
WORK_DIR = "work_dir"
"""Nor is a `Path` of this name; it gets the folder in which the agent's tools work, which is there."""
SITE = "site"
"""Nor is a `Site` of this name; it gets the place of the call."""
PACKAGE = "folkmoot_project_"
"""How the package begins that the modules of a project belong to; a number follows."""
_OWN_NAME = re.compile(rb"%b\d+(\.|__)" % PACKAGE.encode())


class Refused(Exception):
    """A tool did not do it. The model reads why, and what to do instead; this name is recorded with it."""


class FunctionTool:
    """A function that agents may call. Sync functions run in a thread, so that they block nobody."""

    def __init__(  # because each is declared on its own
        self,
        function: Callable[..., Any],
        effect: Effect,
        access: Access,
        asks: Risk = "",
        *,
        untrusted: bool | None = None,
    ) -> None:
        self.name = function.__name__
        self.function = function
        self.effect = effect
        self.access = access
        self.asks: Risk = asks
        self.untrusted = untrusted
        self._is_async = inspect.iscoroutinefunction(function)

    def under(self, source: ToolSource) -> FunctionTool:
        under = copy(self)
        under.effect, under.access = source.effect or self.effect, source.access or self.access
        under.untrusted = self.untrusted if source.untrusted is None else source.untrusted
        return under

    def prepare(self) -> None:
        """Raises `UnfitTool`, instead of doing so when the tool is offered or called."""
        try:
            _ = self._parameters
        except NameError as error:
            message = f"{error}, which a type of its signature needs when it runs, not only for type checking"
            raise UnfitTool(self.function, message) from error

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _given(self) -> set[str]:
        """The parameters that the runtime gives."""
        names = inspect.signature(self.function).parameters
        by_type = {WORK_DIR: Path, SITE: Site}
        return {KEY} & names.keys() | {
            name for name, kind in by_type.items() if self._hints.get(name) is kind
        }

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self.function, self._hints, self._given)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def spec(self, name: str) -> ToolSpec:
        return ToolSpec(
            name=wire_name(name),
            description=inspect.getdoc(self.function) or name,
            parameters=self._parameters.schema,
            effect=self.effect,
            access=self.access,
            asks=self.asks,
            untrusted=self._fetches if self.untrusted is None else self.untrusted,
        )

    @property
    def _fetches(self) -> bool:
        """It goes to another address and changes nothing there, so that it can only bring something back."""
        return (self.effect, self.access) == ("pure", "egress")

    async def call(self, call: ToolCall, site: Site, work_dir: Path = Path()) -> ToolResult:
        if call.malformed:
            return ToolResult(text="the arguments are not a JSON object", failed=True)
        try:
            arguments = self._parameters.read(call.arguments)
        except InvalidArguments as error:
            return ToolResult(text=str(error), failed=True)
        if KEY in self._given:
            arguments[KEY] = site.key
        if WORK_DIR in self._given:
            await in_thread(partial(work_dir.mkdir, parents=True, exist_ok=True))
            arguments[WORK_DIR] = work_dir
        if SITE in self._given:
            arguments[SITE] = site
        if self._is_async:
            result = await self.function(**arguments)
        else:
            result = await in_thread(partial(self.function, **arguments))
            if inspect.isawaitable(result):
                result = await result
        return result if isinstance(result, ToolResult) else ToolResult(text=as_text(result))


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *, effect: Effect = "once", access: Access = "exec", asks: Risk = "", untrusted: bool | None = None
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Effect = "once",
    access: Access = "exec",
    asks: Risk = "",
    untrusted: bool | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool.

    Say `effect="pure"` if repeating it does no harm, `"keyed"` if it honours `idempotency_key`; `"once"`, the
    default, is never repeated without a person's word. `access` is the most it does: read, egress, write, exec.
    With `asks`, the risk as `"low"`, `"medium"` or `"high"`, a person must approve each call before it is made.
    `untrusted=True` says that strangers can write what it returns: mails, tickets, pages. After such a result every
    call of the session that does more than read requires approval. Left out, it holds for a tool that is `"pure"` and
    `"egress"`: it fetches something.
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        made = FunctionTool(function, effect, access, asks, untrusted=untrusted)
        with suppress(NameError):  # a type may be declared further down; whoever offers the tool sees to it
            _ = made._parameters
        return made

    return make if function is None else make(function)


async def in_thread(work: Callable[[], T]) -> T:
    """In a daemon thread: a call that hangs must not keep the process alive when its run has ended."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error else done.set_result(result)

    def perform() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=copy_context().run, args=(perform,), daemon=True).start()
    return await done


class Tool(Protocol):
    @property
    def name(self) -> str:
        """Its own name, without that of its source."""

    def spec(self, name: str) -> ToolSpec:
        """As it is offered under this name of agent files."""

    def under(self, source: ToolSource) -> Tool:
        """The same with what the settings say of the effect and access of its source's tools."""

    async def call(self, call: ToolCall, site: Site, work_dir: Path) -> ToolResult:
        """Do it. Whatever goes wrong is a result that says so to the model."""


class Registry:
    """`look` is one tool; `psp` stands for all tools of the source `psp`, `psp.refund` for one of them."""

    def __init__(self, tools: Iterable[Tool] = (), folder: Path = Path()) -> None:
        self._folder = folder
        self._tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self._on_wire: dict[str, Tool] = {wire_name(name): tool for name, tool in self._tools.items()}
        self._specs: dict[str, ToolSpec] = {}

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def add(self, name: str, tool: Tool) -> None:
        self._tools[name] = tool
        self._on_wire[wire_name(name)] = tool

    def add_source(self, name: str, source: ToolSource, tools: Iterable[Tool]) -> None:
        """What the settings say of a source's effect and access holds for all its tools."""
        for tool in tools:
            known = f"{name}.{tool.name}"
            if wire_name(known) in self._on_wire:
                message = f"two tools are called {wire_name(known)!r} by the model, one of them {known!r}"
                raise DeclarationError(
                    [Problem(file="folkmoot.yaml", message=f"{message}; take one of their sources out")]
                )
            self.add(known, tool.under(source))

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(self._spec(known) for name in names for known in meant(name, self._tools))

    def declared(self) -> dict[str, ToolSpec]:
        """Every tool by its name: what a run is pinned to beside its files."""
        return {name: self._spec(name) for name in self._tools}

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        folder = self._folder / site.work_dir if site.work_dir else self._folder
        if self._leads_out(site.work_dir):
            return ToolResult(f"the working folder {site.work_dir!r} leads out of the project", failed=True)
        return await self._on_wire[call.tool].call(call, site, folder)

    def _leads_out(self, work_dir: str) -> bool:
        """By a link, which a project from elsewhere may bring with it; an absolute folder was trusted by its name."""
        if not work_dir or Path(work_dir).is_absolute():
            return False
        return not (self._folder / work_dir).resolve().is_relative_to(self._folder.resolve())

    def _spec(self, name: str) -> ToolSpec:
        """As a run is pinned to it: what is written and read back is the same to the last token of its size."""
        if name not in self._specs:
            written = msgspec.json.encode(self._tools[name].spec(name))
            self._specs[name] = msgspec.json.decode(without_own_name(written), type=ToolSpec)
        return self._specs[name]


def meant(name: str, known: Iterable[str]) -> list[str]:
    """The tools that a name of an agent file stands for."""
    names = tuple(known)
    if name in GROUPS:
        return [each for each in GROUPS[name] if each in names]
    return [name] if name in names else [each for each in names if each.startswith(f"{name}.")]


class RecordedTools:
    """Tools that give what they gave, from a journal: nothing is really called."""

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        drafts: Sequence[Draft],
        whole: Mapping[str, bytes],
        turn: Callable[[int], Awaitable[None]],
        too_long: int,
    ) -> None:
        """`whole` are the results by artifact that models read only a part of; a result of `too_long` bytes
        stands for one that did not fit into the context, and of which nothing else is known. `turn` returns when it is
        the turn of an entry of the record."""
        self._specs = specs
        self._whole = whole
        self._turn = turn
        self._too_long = too_long
        self._results = {
            (draft.span, draft.event.turn, draft.event.call): (place, draft.event)
            for place, draft in enumerate(drafts)
            if isinstance(draft.event, ToolFinished | ToolFailed)
        }

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(self._specs[known] for name in names for known in meant(name, self._specs))

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        place, event = self._results.get((site.span, site.turn, site.call), (-1, None))
        await self._turn(place)
        match event:
            case ToolFinished():
                whole = self._whole.get(event.artifact)
                text = event.text if whole is None else whole.decode()
                return ToolResult(
                    text=text,
                    parts=event.parts,
                    sources=event.sources,
                    records=event.records,
                    recorded=whole is None,
                )
            case ToolFailed(overflow=True):
                return ToolResult(text="x" * self._too_long, sources=event.sources)
            case ToolFailed():
                return ToolResult(
                    text=event.text, failed=True, sources=event.sources, code=event.code, recorded=True
                )
            case None:
                return ToolResult(text=f"the record holds no result of {site.key}", failed=True)


def without_own_name(written: bytes) -> bytes:
    """What was generated from modules of a project, without the name that their package happens to have here."""
    return _OWN_NAME.sub(b"", written)
