"""The parameters of a tool function: their JSON Schema, and the arguments of a call as the objects that it takes.

msgspec reads the types that it knows. pydantic reads every annotation in which one of its classes appears; it is
imported by then, because the annotation's author did so.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from folkmoot.domain.text import storable

_FIT = "text, numbers, lists, dicts, dates, enums, dataclasses, TypedDicts, msgspec structs, pydantic models"


class UnfitTool(TypeError):
    """A function that cannot be a tool: names it, the parameter, the reason and the remedy."""

    def __init__(self, function: Callable[..., Any], message: str) -> None:
        self.function = function
        super().__init__(f"{getattr(function, '__name__', function)}: {message}")


class InvalidArguments(ValueError):
    """Arguments that do not fit the parameters; the text is for the model that sent them."""


class Parameters:
    """Raises `UnfitTool`, and `NameError` for a type that is not there (yet)."""

    def __init__(self, function: Callable[..., Any], hints: Mapping[str, Any], given: Iterable[str]) -> None:
        """Those that are `given` by the runtime are no affair of the model's."""
        declared = dict(_declared(function, hints, set(given)))
        self._adapters: dict[str, Any] = {
            name: _adapter(function, name, hints[name]) for name in declared if _is_for_pydantic(hints[name])
        }
        fields = [
            _field(name, Any if name in self._adapters else hints[name], parameter)
            for name, parameter in declared.items()
        ]
        try:
            self._struct, self.schema = _compile(fields)
        except TypeError:
            for field in fields:
                _check_field(function, field)
            raise
        for name, adapter in self._adapters.items():
            self._describe(name, adapter)
        for name, parameter in declared.items():
            if parameter.default is not parameter.empty and "default" not in self.schema["properties"][name]:
                with suppress(TypeError, ValueError, OverflowError, RecursionError):
                    default = msgspec.to_builtins(parameter.default, enc_hook=_encode)
                    self.schema["properties"][name]["default"] = default

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with. Raises `InvalidArguments`."""
        try:
            values = msgspec.structs.asdict(msgspec.convert(arguments, self._struct, dec_hook=_decode))
        except Exception as error:  # a model's own code may raise anything; nothing was called yet
            raise InvalidArguments(str(error)) from error
        for name in self._adapters.keys() & arguments.keys():
            try:
                values[name] = self._adapters[name].validate_json(msgspec.json.encode(arguments[name]))
            except Exception as error:
                raise InvalidArguments(_reason(name, error)) from error
        return values

    def _describe(self, name: str, adapter: Any) -> None:
        described = adapter.json_schema(ref_template=f"#/$defs/{name}_{{model}}")
        for model, schema in described.pop("$defs", {}).items():
            self.schema.setdefault("$defs", {})[f"{name}_{model}"] = schema
        self.schema["properties"][name] = described | self.schema["properties"][name]


def as_text(result: Any) -> str:
    """What a tool returned, for the model: text as it is, all else as JSON."""
    if not isinstance(result, str):
        try:
            return msgspec.json.encode(result, enc_hook=_encode).decode()
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass  # the call was made: its result must not be lost
    return storable(str(result))


def _declared(
    function: Callable[..., Any], hints: Mapping[str, Any], given: set[str]
) -> Iterator[tuple[str, inspect.Parameter]]:
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            shown = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
            message = f"a tool takes named parameters only, not {shown}; name what it takes, one by one"
            raise UnfitTool(function, message)
        if name not in hints:
            raise UnfitTool(function, f"parameter {name!r} needs a type; its schema comes from it")
        if type(parameter.default).__module__ == "pydantic.fields":
            message = f"parameter {name!r} has a pydantic Field as its default; write Annotated[…, Field(…)]"
            raise UnfitTool(function, f"{message}, and a plain default after it")
        yield name, parameter


def _field(name: str, annotation: Any, parameter: inspect.Parameter) -> tuple[Any, ...]:
    default = parameter.default
    if default is parameter.empty:
        return (name, annotation)
    try:
        msgspec.json.schema(msgspec.defstruct("Default", [(name, Any, default)]))
    except TypeError:  # mutable, or of a class that msgspec does not know
        return (name, annotation, msgspec.field(default_factory=lambda: default))
    return (name, annotation, default)


def _compile(fields: list[tuple[Any, ...]]) -> tuple[type[msgspec.Struct], dict[str, Any]]:
    struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    (schema,), components = msgspec.json.schema_components(
        [struct], ref_template="#/$defs/{name}", schema_hook=_describe_type
    )
    with suppress(msgspec.ValidationError):
        msgspec.convert({}, struct, dec_hook=_decode)  # not all that can be described can be read
    parameters = components.pop(schema["$ref"].rpartition("/")[2])
    parameters.pop("title", None)
    if components:
        parameters["$defs"] = components
    return struct, parameters


def _check_field(function: Callable[..., Any], field: tuple[Any, ...]) -> None:
    name, annotation = field[:2]
    try:
        _compile([(name, annotation)])
    except TypeError as error:
        shown = annotation.__qualname__ if isinstance(annotation, type) else annotation
        message = f"parameter {name!r} cannot be of the type {shown}: {_why_unfit(str(error))}"
        raise UnfitTool(function, message) from error


def _why_unfit(said: str) -> str:
    """What msgspec says of a type, for somebody who knows nothing of it."""
    if found := re.match("Encoding objects of type (.*) is unsupported", said):
        return f"it has a default that is no JSON ({found[1]}); write it as a default_factory"
    reason = said.partition(" - type")[0].partition("\n")[0]
    if reason.startswith("Generating JSON schema for custom types"):
        reason = "it is not made from JSON"
    return f"{reason}; use {_FIT}, or unions with None"


def _describe_type(kind: type) -> dict[str, Any]:
    if issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _decode(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise TypeError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _encode(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else str(value)


def _is_for_pydantic(annotation: Any) -> bool:
    return "pydantic" in sys.modules and any(map(_is_of_pydantic, _within(annotation, [])))


def _within(annotation: Any, seen: list[Any]) -> Iterator[Any]:
    """A type and all that it is made of: arguments, annotations, fields."""
    if any(annotation is each for each in seen):
        return
    seen.append(annotation)
    yield annotation
    inner = [get_origin(annotation), *get_args(annotation), *getattr(annotation, "__metadata__", ())]
    if isinstance(annotation, type) and "__annotations__" in vars(annotation):
        with suppress(NameError, TypeError):
            inner += get_type_hints(annotation, include_extras=True).values()
    for each in inner:
        yield from _within(each, seen)


def _is_of_pydantic(part: Any) -> bool:
    if hasattr(part, "__pydantic_core_schema__") or hasattr(part, "__get_pydantic_core_schema__"):
        return True
    return (part if isinstance(part, type) else type(part)).__module__.partition(".")[0] == "pydantic"


def _adapter(function: Callable[..., Any], name: str, annotation: Any) -> Any:
    try:
        adapter = sys.modules["pydantic"].TypeAdapter(annotation)
        adapter.json_schema()
    except Exception as error:
        message = f"parameter {name!r} cannot be described: {str(error).partition(chr(10))[0]}; use {_FIT}"
        raise UnfitTool(function, message) from error
    return adapter


def _reason(name: str, error: Exception) -> str:
    errors: Callable[..., list[dict[str, Any]]] | None = getattr(error, "errors", None)
    if errors is None:
        return f"{error} - at `$.{name}`"
    return "; ".join(
        f"{each['msg']} - at `$.{name}{''.join(f'[{k}]' if isinstance(k, int) else f'.{k}' for k in each['loc'])}`"
        for each in errors(include_url=False)
    )
