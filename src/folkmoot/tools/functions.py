"""A plain Python function as a tool: its name, its schema from the signature, its effect and access."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints, overload

import msgspec

from folkmoot.domain.message import Access, Effect, Risk, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.settings import ToolSource
from folkmoot.ports import Site

T = TypeVar("T")
KEY = "idempotency_key"
"""A parameter of this name is not offered to the model; it gets the key of the call."""
WORK_DIR = "work_dir"
"""Nor is a `Path` of this name; it gets the folder in which the agent's tools work, which is there."""
SITE = "site"
"""Nor is a `Site` of this name; it gets the place of the call."""


class FunctionTool:
    """A function that agents may call. Sync functions run in a thread, so that they block nobody."""

    def __init__(self, function: Callable[..., Any], effect: Effect, access: Access, asks: Risk = "") -> None:
        self.name = function.__name__
        self.function = function
        self.effect = effect
        self.access = access
        self.asks: Risk = asks
        self._is_async = inspect.iscoroutinefunction(function)
        hints = get_type_hints(function, include_extras=True)
        self._wants_key = KEY in inspect.signature(function).parameters
        self._wants_dir = hints.get(WORK_DIR) is Path
        self._wants_site = hints.get(SITE) is Site
        given = {KEY, *((WORK_DIR,) if self._wants_dir else ()), *((SITE,) if self._wants_site else ())}
        self._arguments = _arguments(function, hints, given)

    def under(self, source: ToolSource) -> FunctionTool:
        effect, access = source.effect or self.effect, source.access or self.access
        return FunctionTool(self.function, effect, access, self.asks)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def spec(self, name: str) -> ToolSpec:
        (schema,), components = msgspec.json.schema_components(
            [self._arguments], ref_template="#/$defs/{name}"
        )
        parameters = components.pop(schema["$ref"].rpartition("/")[2])
        parameters.pop("title", None)
        if components:
            parameters["$defs"] = components
        return ToolSpec(
            name=wire_name(name),
            description=inspect.getdoc(self.function) or name,
            parameters=parameters,
            effect=self.effect,
            access=self.access,
            asks=self.asks,
        )

    async def call(self, call: ToolCall, site: Site, work_dir: Path = Path()) -> ToolResult:
        if call.malformed:
            return ToolResult(text="the arguments are not a JSON object", failed=True)
        try:
            arguments = msgspec.structs.asdict(msgspec.convert(call.arguments, self._arguments))
        except msgspec.ValidationError as error:
            return ToolResult(text=str(error), failed=True)
        if self._wants_key:
            arguments[KEY] = site.key
        if self._wants_dir:
            await in_thread(partial(work_dir.mkdir, parents=True, exist_ok=True))
            arguments[WORK_DIR] = work_dir
        if self._wants_site:
            arguments[SITE] = site
        if self._is_async:
            result = await self.function(**arguments)
        else:
            result = await in_thread(partial(self.function, **arguments))
        if isinstance(result, ToolResult):
            return result
        return ToolResult(text=result if isinstance(result, str) else msgspec.json.encode(result).decode())


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *, effect: Effect = "once", access: Access = "exec", asks: Risk = ""
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: Effect = "once",
    access: Access = "exec",
    asks: Risk = "",
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool.

    Say `effect="pure"` if repeating it does no harm, `"keyed"` if it honours `idempotency_key`; `"once"`, the
    default, is never repeated without a person's word. `access` is the most it does: read, egress, write, exec.
    With `asks`, the risk as `"low"`, `"medium"` or `"high"`, a person must approve each call before it is made.
    """
    if function is not None:
        return FunctionTool(function, effect, access, asks)
    return lambda function: FunctionTool(function, effect, access, asks)


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


def _arguments(function: Callable[..., Any], hints: dict[str, Any], given: set[str]) -> type[msgspec.Struct]:
    """The parameters as a struct: what a call is checked against and its schema is made from.

    Those that are `given` by the runtime are no affair of the model's.
    """
    fields: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: a tool takes named parameters only, not *{name}")
        if name not in hints:
            raise TypeError(f"{function.__name__}: parameter {name!r} needs a type; its schema comes from it")
        required = parameter.default is parameter.empty
        fields.append((name, hints[name]) if required else (name, hints[name], parameter.default))
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
