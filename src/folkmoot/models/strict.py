"""Arguments that a model cannot write wrongly: which tools a provider can be held to, and which providers.

A strict tool is sent closed: objects have no other properties than those named. What fits the closed schema
fits the declared one, never the other way round. A schema that cannot be closed is sent as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from folkmoot.domain.message import Answer, ToolSpec
from folkmoot.errors import ModelFailed
from folkmoot.ports import Request

PLAIN = frozenset(
    "type properties required additionalProperties items anyOf enum const description title".split()
)
"""Words of JSON Schema that every provider with strict tools understands."""

_SAYS_NOTHING = frozenset(("$schema", "$comment", "default", "examples"))
_REFUSALS = (400, 422)


class Strictness:
    """Which models of a provider refuse strict tools: found out by asking, and kept as long as the process lives."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def attempt(self, request: Request, ask: Callable[[bool], Awaitable[Answer]]) -> Answer:
        """One attempt; `ask` is told whether tools may be strict. A refusal costs nothing, so it is asked again."""
        if request.model in self._refused or not any(tool.strict for tool in request.tools):
            return await ask(False)
        try:
            return await ask(True)
        except ModelFailed as error:
            if error.status not in _REFUSALS:
                raise
        answer = await ask(False)
        self._refused.add(request.model)
        return answer


def closed_arguments(
    tool: ToolSpec, words: frozenset[str] = PLAIN, *, optional: bool = False
) -> dict[str, Any] | None:
    """A strict tool's schema, closed; None if it cannot be, or need not.

    `optional`: the provider lets properties be left out. Optional arguments that are open, such as metadata, are
    not offered: they are the runtime's own, and worth less than a report that fits.
    """
    if not tool.strict:
        return None
    properties, required = tool.parameters["properties"], tool.parameters["required"]
    every = {name: _closed(schema, words, optional) for name, schema in properties.items()}
    kept = {name: schema for name, schema in every.items() if schema is not None}
    if not kept.keys() >= set(required):
        return None
    return {
        "type": "object",
        "properties": kept,
        "required": required if optional else list(kept),
        "additionalProperties": False,
    }


def _closed(schema: Any, words: frozenset[str], optional: bool) -> dict[str, Any] | None:
    """None where it leaves something open, or says it in a word that the provider does not know."""
    if not isinstance(schema, dict):
        return None
    said = {word: value for word, value in schema.items() if word not in _SAYS_NOTHING}
    if not said.keys() <= words or not said.keys() & {"type", "anyOf"}:
        return None
    kinds = said.get("type", ())
    if "object" in ((kinds,) if isinstance(kinds, str) else kinds):
        return _closed_object(said, words, optional)
    if "anyOf" in said:
        said["anyOf"] = [_closed(each, words, optional) for each in said["anyOf"]]
        return None if None in said["anyOf"] else said
    if "items" in said:
        said["items"] = _closed(said["items"], words, optional)
        return None if said["items"] is None else said
    return None if "array" in kinds else said


def _closed_object(said: dict[str, Any], words: frozenset[str], optional: bool) -> dict[str, Any] | None:
    """An optional property is never made a required one: a model would have to invent it."""
    properties, required = said.get("properties"), said.get("required", [])
    if (
        not properties
        or said.get("additionalProperties", False) is not False
        or {"anyOf", "items"} & said.keys()
    ):
        return None
    closed = {name: _closed(schema, words, optional) for name, schema in properties.items()}
    demanded = set(required)
    if None in closed.values() or not (demanded <= closed.keys() and (optional or demanded == closed.keys())):
        return None
    return {**said, "properties": closed, "required": required, "additionalProperties": False}
