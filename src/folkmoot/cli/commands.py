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
class Sugar:
    """Options that only the terminal has: `read` takes them, and gives fields of the operation."""

    read: Callable[..., Values]
    instead: Callable[..., Any] | None = None
    """What is done when one of them is given: more than the operation, such as to stay and follow."""


def group(operations: str, terminal: str, help: str) -> typer.Typer:
    """The commands of a module of operations. `terminal` is the module that shows what comes of them; both are imported
    when one of the commands is used."""

    class Lazy(TyperGroup):
        @cached_property
        def _made(self) -> dict[str, Any]:
            shown = import_module(f"folkmoot.cli.{terminal}")
            app = typer.Typer(rich_markup_mode=None)
            for operation in import_module(f"folkmoot.operations.{operations}").OPERATIONS:
                if operation.command:
                    sugar = shown.SUGAR.get(operation)
                    app.command(operation.command)(command(operation, shown.present, sugar))
            return dict(typer.main.get_group(app).commands)

        @property  # type: ignore[override]
        def commands(self) -> dict[str, Any]:
            return self._own | self._made

        @commands.setter
        def commands(self, own: dict[str, Any]) -> None:
            """Those that are more than an operation."""
            self._own = own

    return typer.Typer(cls=Lazy, help=help, no_args_is_help=True)


def command(operation: OperationType, present: Present, sugar: Sugar | None = None) -> Callable[..., None]:
    from folkmoot.operations.operation import fields_of, read

    offered = [field for field in fields_of(operation) if field.spelling.terminal is not None]
    offered.sort(key=lambda field: field.name != operation.subject)
    own = list(inspect.signature(sugar.read, eval_str=True).parameters.values()) if sugar else []

    def call(of_program: typer.Context, as_json: bool, said_by: str = "", **given: Any) -> None:
        values = {field.name: _value(field, given.pop(field.name)) for field in offered}
        if sugar:
            values |= sugar.read(**given)
        wanted = read(operation, values, {field.name: spelled(field) for field in offered})
        if sugar and sugar.instead and any(given.values()):
            finished(sugar.instead(call_of(of_program), wanted, as_json, **given))
            return
        from folkmoot.cli.output import write_json

        output = finished(_performed(call_of(of_program), wanted, said_by))
        write_json(wanted.document(output)) if as_json else present(wanted, output)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("of_program", keyword, annotation=typer.Context),
        *(_parameter(field) for field in offered),
        *(each.replace(kind=keyword) for each in own),
        *(
            [inspect.Parameter("said_by", keyword, annotation=_As, default=operation.named)]
            if operation.named is not None
            else ()
        ),
        inspect.Parameter("as_json", keyword, annotation=AsJson, default=False),
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__doc__ = _help(operation, sugar)
    return call


def spelled(field: Field) -> str:
    return field.spelling.terminal or f"--{field.name.replace('_', '-')}"


def _parameter(field: Field) -> inspect.Parameter:
    kind: Any = bool if field.is_flag else list[str] if field.is_list else str
    line, name = field.line, spelled(field)
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


def _help(operation: OperationType, sugar: Sugar | None) -> str:
    """Its docstring, what its further options do, and examples as they stand."""
    about = [inspect.getdoc(operation) or ""]
    if sugar and sugar.read.__doc__:
        about.append(inspect.cleandoc(sugar.read.__doc__))
    examples = "\n".join(f"  {each}" for each in operation.examples)
    return "\n\n".join([*about, f"\b\nExamples:\n{examples}"])


async def _performed(call: Call, operation: Operation[Any], said_by: str) -> Any:
    import secrets

    from folkmoot.cli.moot import project_for
    from folkmoot.operations.actor import by_account, by_name

    chance = secrets.token_hex(16)
    async with project_for(call, operation) as project:
        actor = by_account("terminal", chance)
        if said_by or operation.named:
            actor = by_name(storable(said_by), project.graph, "terminal", chance)
        return await operation.run(project, actor)
