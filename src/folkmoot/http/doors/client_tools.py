"""The tools that a chat client offers, as what an agent is offered. Pure.

What is only offered refuses no request: tools that run at the client's usual provider are left out, and a name that
models cannot call, or that is in use here, is replaced. Calls go back under the name and in the form that the client
knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from folkmoot.domain.message import Origin, ToolSpec
from folkmoot.domain.naming import wire_name

Name = Annotated[str, Meta(min_length=1)]
_ANYTHING = {"type": "object", "properties": {}}
_ONE_TEXT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


class FunctionTool(msgspec.Struct):
    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Grammar(msgspec.Struct):
    syntax: str = ""
    definition: str = ""


class Format(msgspec.Struct):
    """Of the text that a freeform tool takes. OpenAI's two APIs place the grammar differently."""

    type: str
    syntax: str = ""
    definition: str = ""
    grammar: Grammar | None = None


class FreeformTool(msgspec.Struct):
    name: Name
    description: str | None = None
    format: Format | None = None


def function_spec(tool: FunctionTool, namespace: str = "") -> ToolSpec:
    wire = name_for_models(tool.name, namespace)
    origin = Origin(tool.name, namespace) if wire != tool.name else None
    return ToolSpec(wire, tool.description or "", tool.parameters or _ANYTHING, origin=origin)


def freeform_spec(tool: FreeformTool, namespace: str = "") -> ToolSpec:
    about = [tool.description or ""]
    if tool.format and tool.format.type == "grammar":
        grammar = tool.format.grammar or tool.format
        about.append(f"`input` follows this grammar ({grammar.syntax}):\n{grammar.definition}")
    origin = Origin(tool.name, namespace, freeform=True)
    wire = name_for_models(tool.name, namespace)
    return ToolSpec(wire, "\n\n".join(filter(None, about)), _ONE_TEXT, origin=origin)


def name_for_models(name: str, namespace: str = "") -> str:
    return wire_name(f"{namespace}.{name}" if namespace else name)


def with_free_names(tools: Iterable[ToolSpec], taken: Iterable[str]) -> Iterator[ToolSpec]:
    """The same tools, none of them under a name that is `taken`. Of those that the client itself cannot tell apart, the
    first."""
    used = {*taken}
    seen: set[Origin] = set()
    for spec in tools:
        origin = spec.origin or Origin(spec.name)
        if origin in seen:
            continue
        seen.add(origin)
        name = spec.name
        while name in used:
            name = name_for_models(name, "client")
        used.add(name)
        yield spec if name == spec.name else msgspec.structs.replace(spec, name=name, origin=origin)
