"""Commands made from operations: their arguments, options, help and exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.domain.text import storable

if TYPE_CHECKING:
    from folkmoot.cli.call import Call
    from folkmoot.operations.operation import Field, Operation, OperationType

Values = dict[str, Any]
_As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are; no agent's name.")]
Present = Callable[["Operation[Any]", Any], None]
"""Shows the output of an operation to people."""


@dataclass(frozen=True)
class TerminalOptions:
    """Options that only the terminal has: `read` takes them, and gives fields of the operation."""

    read: Callable[..., Values]
    instead: Callable[..., Any] | None = None
    """What is done when one of them is given: more than the operation, such as to stay and follow."""


def make_group(operations: str, terminal: str, help: str) -> typer.Typer:
    """The commands of a module of operations. `terminal` is the module that shows what comes of them; both are imported
    when one of the commands is used."""

    class Lazy(TyperGroup):
        @cached_property
        def _generated(self) -> dict[str, Any]:
            shown = import_module(f"folkmoot.cli.{terminal}")
            app = typer.Typer(rich_markup_mode=None)
            for operation in import_module(f"folkmoot.operations.{operations}").OPERATIONS:
                if operation.command:
                    options = shown.TERMINAL_OPTIONS.get(operation)
                    app.command(operation.command)(make_command(operation, shown.present, options))
            return dict(typer.main.get_group(app).commands)

        @property  # type: ignore[override]
        def commands(self) -> dict[str, Any]:
            return self._own | self._generated

        @commands.setter
        def commands(self, own: dict[str, Any]) -> None:
            """Those that are more than an operation."""
            self._own = own

    return typer.Typer(cls=Lazy, help=help, no_args_is_help=True)


def make_command(
    operation: OperationType, present: Present, options: TerminalOptions | None = None
) -> Callable[..., None]:
    from folkmoot.operations.operation import fields_of, read_operation

    offered = [field for field in fields_of(operation) if field.spelling.terminal is not None]
    offered.sort(key=lambda field: field.name != operation.subject)
    own = list(inspect.signature(options.read, eval_str=True).parameters.values()) if options else []

    def call(typer_context: typer.Context, as_json: bool, person: str = "", **given: Any) -> None:
        values = {field.name: _value(field, given.pop(field.name)) for field in offered}
        if options:
            values |= options.read(**given)
        wanted = read_operation(operation, values, {field.name: option_name(field) for field in offered})
        if options and options.instead and any(given.values()):
            finished(options.instead(call_of(typer_context), wanted, as_json, **given))
            return
        from folkmoot.cli.output import write_json

        output = finished(_perform(call_of(typer_context), wanted, person))
        write_json(wanted.document(output)) if as_json else present(wanted, output)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("typer_context", keyword, annotation=typer.Context),
        *(_parameter(field) for field in offered),
        *(each.replace(kind=keyword) for each in own),
        *(
            [inspect.Parameter("person", keyword, annotation=_As, default=operation.named)]
            if operation.named is not None
            else ()
        ),
        inspect.Parameter("as_json", keyword, annotation=AsJson, default=False),
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__doc__ = _help(operation, options)
    return call


def option_name(field: Field) -> str:
    return field.spelling.terminal or f"--{field.name.replace('_', '-')}"


def _parameter(field: Field) -> inspect.Parameter:
    kind: Any = bool if field.is_flag else list[str] if field.is_list else str
    line, name = field.help, option_name(field)
    if field.is_list:
        line = f"{line.removesuffix('.')}; may be repeated."
    shown = field.spelling.metavar or None
    if name.startswith("-"):
        about: Any = typer.Option(name, metavar=shown, help=line, show_default=not field.required)
    else:
        about = typer.Argument(metavar=name, help=line, show_default=False)
    default: Any = inspect.Parameter.empty
    if not field.required:
        kind, default = (
            (kind | None, None) if field.is_list else (kind, "" if field.default is None else field.default)
        )
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about]
    )


def _value(field: Field, given: Any) -> Any:
    if field.is_list:
        return tuple(map(storable, given or ()))
    return storable(given) if isinstance(given, str) else given


def _help(operation: OperationType, options: TerminalOptions | None) -> str:
    """Its docstring, what its further options do, and examples as they stand."""
    about = [inspect.getdoc(operation) or ""]
    if options and options.read.__doc__:
        about.append(inspect.cleandoc(options.read.__doc__))
    examples = "\n".join(f"  {each}" for each in operation.examples)
    return "\n\n".join([*about, f"\b\nExamples:\n{examples}"])


async def _perform(call: Call, operation: Operation[Any], person: str) -> Any:
    import secrets

    from folkmoot.cli.moot import project_for
    from folkmoot.operations.actor import by_account, by_name

    chance = secrets.token_hex(16)
    async with project_for(call, operation) as project:
        actor = by_account("terminal", chance)
        if person or operation.named:
            actor = by_name(storable(person), project.graph, "terminal", chance)
        return await operation.run(project, actor)
