"""The tools with which agents do operations: a function for each, of which models see the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import NODEFAULT, Meta

from folkmoot.coordination.tasks import StopGuard
from folkmoot.domain.message import ToolResult
from folkmoot.operations import decisions, memory, plan_steps, tasks
from folkmoot.operations.actor import by_call
from folkmoot.operations.operation import Field, OperationType, fields_of, read_operation, strip_constraints
from folkmoot.operations.project import OpenProject
from folkmoot.ports import Site
from folkmoot.tools.functions import SITE, FunctionTool
from folkmoot.tools.parameters import as_text


def coordination_tools(project: Callable[[], OpenProject]) -> dict[str, FunctionTool]:
    """What changes a record is `keyed`: a call that is made again after a crash is known by its place.

    They touch nothing but the project's own records, so `read` is the most they do to the world.
    """
    groups = (tasks, decisions, plan_steps, memory)
    made = [agent_tool(each, project) for group in groups for each in group.OPERATIONS if each.tool]
    return {tool.name: tool for tool in made}


def agent_tool(operation: OperationType, project: Callable[[], OpenProject]) -> FunctionTool:
    assert operation.tool
    offered = {_name(field): field for field in fields_of(operation) if field.spelling.tool is not None}

    async def call(**arguments: Any) -> ToolResult:
        actor = by_call(arguments.pop(SITE))
        values = {offered[name].name: value for name, value in arguments.items()}
        if any(field.name == "agent" for field in fields_of(operation)):
            values["agent"] = actor.id
        wanted = read_operation(operation, values, {field.name: name for name, field in offered.items()})
        try:
            return await wanted.result(await wanted.run(project(), actor), project(), actor)
        except StopGuard as guard:
            return ToolResult(as_text(guard.document), failed=True, plain=True)

    kinds = {name: _type(field) for name, field in offered.items()}
    parameters = [_parameter(name, kinds[name], field) for name, field in offered.items()]
    site = inspect.Parameter(SITE, inspect.Parameter.KEYWORD_ONLY, annotation=Site)
    call.__name__ = call.__qualname__ = operation.tool.name
    call.__doc__ = operation.tool.description
    call.__annotations__ = {**kinds, SITE: Site, "return": ToolResult}
    call.__signature__ = inspect.Signature([*parameters, site])  # type: ignore[attr-defined]
    return FunctionTool(call, "pure" if operation.reads else "keyed", "read")


def _name(field: Field) -> str:
    return field.spelling.tool or field.name


def _parameter(name: str, kind: Any, field: Field) -> inspect.Parameter:
    default = field.default if field.spelling.tool_default is NODEFAULT else field.spelling.tool_default
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=kind,
        default=inspect.Parameter.empty if default is NODEFAULT else default,
    )


def _type(field: Field) -> Any:
    """Without constraints: the operation refuses what breaks them, with its code."""
    kind = field.spelling.tool_type
    if kind is None:
        kind = strip_constraints(field.type)
    return Annotated[kind, Meta(description=field.spelling.agent_help)] if field.spelling.agent_help else kind
