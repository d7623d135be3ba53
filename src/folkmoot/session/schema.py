"""Whether a value fits a JSON Schema. The validator is imported when the first schema is met."""

from __future__ import annotations

from typing import Any


def violations(value: Any, schema: dict[str, Any]) -> list[str]:
    """Everything that is wrong, each with its place; for schemas of our own."""
    import jsonschema

    found = jsonschema.Draft202012Validator(schema).iter_errors(value)
    return sorted(f"{error.json_path}: {error.message}" for error in found)


def violation(value: Any, schema: dict[str, Any]) -> str:
    """What is wrong and where, or nothing. References to other addresses are never fetched."""
    import jsonschema
    import referencing

    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    try:
        worst = jsonschema.exceptions.best_match(validator.iter_errors(value))
    except referencing.exceptions.Unresolvable as error:
        return f"the schema refers to {error.ref!r}, which is not a part of it"
    except RecursionError:
        return "the schema refers to itself without end"
    return f"{worst.json_path}: {worst.message}" if worst else ""
