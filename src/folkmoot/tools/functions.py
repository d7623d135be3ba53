"""A plain Python function as a tool: its name, its schema from the signature, its effect and access."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints, overload

from folkmoot.domain.message import Access, Effect, Risk, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.settings import ToolSource
from folkmoot.ports import Site
from folkmoot.tools.parameters import InvalidArguments, Parameters, UnfitTool, as_text

T = TypeVar("T")
KEY = "idempotency_key"
"""A parameter of this name is not offered to the model; it gets the key of the call."""
WORK_DIR = "work_dir"
"""Nor is a `Path` of this name; it gets the folder in which the agent's tools work, which is there."""
SITE = "site"
"""Nor is a `Site` of this name; it gets the place of the call."""


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
