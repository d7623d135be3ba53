"""Whether a value fits a JSON Schema. The validator is imported when the first schema is met."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import msgspec

from folkmoot.domain import regex
from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec

_SHOWN = 500
"""Characters of what is wrong with a call: the wrong value may be a whole file."""
_PLAIN_OBJECT = {"type", "properties", "required", "additionalProperties", "description"}
_PLAIN_VALUE = {"type", "description", "default", "title"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def violations(value: Any, schema: dict[str, Any]) -> list[str]:
    """Everything that is wrong, each with its place; for schemas of our own."""
    import jsonschema

    found = jsonschema.Draft202012Validator(schema).iter_errors(value)
    return sorted(f"{error.json_path}: {error.message}" for error in found)


def misfit(arguments: dict[str, Any], spec: ToolSpec) -> str:
    """What is wrong with the arguments of a call, or nothing; also for a schema that is none: whoever made the tool
    checks them too, in a dialect that may not be ours."""
    if _fits_plainly(arguments, spec.parameters):
        return ""
    validator = _sound_validator(msgspec.json.encode(spec.parameters))
    wrong = _violation(arguments, validator) if validator else ""
    return wrong if len(wrong) <= _SHOWN else f"{wrong[:_SHOWN]} …"


def violation(value: Any, schema: dict[str, Any]) -> str:
    """What is wrong and where, or nothing. References to other addresses are never fetched."""
    return _violation(value, _validator(msgspec.json.encode(schema)))


def unfit_input(agent: Agent, request: str) -> str:
    """Why an agent does not take a request, or nothing."""
    if agent.input.format != "json":
        return ""
    try:
        value = msgspec.json.decode(request)
    except msgspec.DecodeError as error:
        return f"{agent.file} takes JSON, and the request is none: {error}"
    wrong = violation(value, agent.input.schema) if agent.input.schema else ""
    return wrong and f"the request does not fit the input schema of {agent.file}: {wrong}"


def _fits_plainly(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether they surely fit, without the validator, which takes twenty times as long: for schemas of nothing but
    plain values, as most are."""
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    if schema.get("type") != "object" or not schema.keys() <= _PLAIN_OBJECT or more not in (True, False):
        return False
    if any(name not in arguments for name in schema.get("required", ())):
        return False
    for name, value in arguments.items():
        rule = properties.get(name)
        if rule is None:
            if not more:
                return False
        elif not rule.keys() <= _PLAIN_VALUE or type(value) not in _TYPES.get(str(rule.get("type")), ()):
            return False
    return True


@lru_cache(maxsize=1024)
def _sound_validator(schema: bytes) -> Any | None:
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(msgspec.json.decode(schema))
    except jsonschema.exceptions.SchemaError:
        return None
    return _validator(schema)


@lru_cache(maxsize=1024)
def _validator(schema: bytes) -> Any:
    """Made once for each schema: making one costs more than using it."""
    import referencing

    return _bounded(b'"patternProperties"' in schema)(
        msgspec.json.decode(schema), registry=referencing.Registry()
    )


@cache
def _bounded(named: bool) -> Any:
    """The validator, with patterns that are decided in bounded time: a model writes the text, a server the pattern.
    What cannot be decided fits. `named`: some of them are for names."""
    import jsonschema

    usual = jsonschema.Draft202012Validator

    def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(value, "string") and regex.search(wanted, value) is False:
            yield jsonschema.ValidationError(f"{value!r} does not match {wanted!r}")

    def properties(validator: Any, wanted: dict[str, Any], value: Any, schema: Any) -> Iterator[Any]:
        for each, rule in wanted.items() if validator.is_type(value, "object") else ():
            for name in value:
                if regex.search(each, name):
                    yield from validator.descend(value[name], rule, path=name, schema_path=each)

    def additional(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        """The usual one puts all patterns for names together, and looks for them in its own way."""
        patterns = schema.get("patternProperties", {})
        if patterns and validator.is_type(value, "object"):
            fitting = {name for name in value for each in patterns if regex.search(each, name) is not False}
            value = {name: each for name, each in value.items() if name not in fitting}
            schema = {key: rule for key, rule in schema.items() if key != "patternProperties"}
        yield from usual.VALIDATORS["additionalProperties"](validator, wanted, value, schema)

    bounded = {"pattern": pattern, "patternProperties": properties}
    if named:
        bounded |= {"additionalProperties": additional, "unevaluatedProperties": lambda *_: iter(())}
    extend: Any = jsonschema.validators.extend
    return extend(usual, bounded)


def _violation(value: Any, validator: Any) -> str:
    import jsonschema
    import referencing

    try:
        worst = jsonschema.exceptions.best_match(validator.iter_errors(value))
    except referencing.exceptions.Unresolvable as error:
        return f"the schema refers to {error.ref!r}, which is not a part of it"
    except RecursionError:
        return "the schema refers to itself without end"
    return f"{worst.json_path}: {worst.message}" if worst else ""
