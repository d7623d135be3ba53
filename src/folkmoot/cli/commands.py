"""Commands, each imported when it is used: those made from operations, and those that are more than an operation."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace
from typer.core import TyperGroup

from folkmoot.cli.call import AsJson, get_global_options, nearest_project, run_async
from folkmoot.domain.text import storable
from folkmoot.errors import FolkmootError

if TYPE_CHECKING:
    from folkmoot.cli.call import GlobalOptions
    from folkmoot.operations.operation import Field, Operation, OperationType

Values = dict[str, Any]
_As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are; no agent's name.")]
Present = Callable[["Operation[Any]", Any], None]
"""Shows the output of an operation to people."""


def complete_agent_file(incomplete: str) -> list[str]:
    """What the shell offers when TAB is pressed; a project that cannot be read offers nothing."""
    folder = nearest_project(Path.cwd()) or Path.cwd()
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.ai"))
    return sorted(file for file in found if file.startswith(incomplete) and not file.startswith("."))


def complete_run_name(incomplete: str) -> list[str]:
    from folkmoot.cli.project import open_existing_journal
    from folkmoot.ports import RunQuery

    async def begin_so() -> list[str]:
        async with open_existing_journal(nearest_project(Path.cwd()) or Path.cwd()) as journal:
            return [run.run for run in await journal.runs(RunQuery(prefix=incomplete))]

    try:
        runs = run_async(begin_so())
    except FolkmootError:
        return []
    return [*(["last"] if "last".startswith(incomplete) else []), *runs]


_COMPLETED = {"RUN": complete_run_name, "AGENT": complete_agent_file}
"""What the shell offers, by the metavar of an argument or an option."""


@dataclass(frozen=True)
class TerminalOptions:
    """Options that only the terminal has: `read` takes them, and gives fields of the operation."""

    read: Callable[..., Values]
    instead: Callable[..., int | None] | None = None
    """What is done when a flag of `when` is given: more than the operation, such as to stay and follow. It gives the
    exit code."""
    when: tuple[str, ...] = ("live",)


class Commands(Mapping[str, Any]):
    """By name; what each is made of is imported when it is asked for."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        """Of each, `module.attribute` below `folkmoot.cli` and its summary. The attribute is a function or operation;
        of a group, a tuple of them."""
        self.places = places

    def __getitem__(self, name: str) -> Any:
        return _load_command(name, *self.places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class LazyGroup(TyperGroup):
    commands: Commands  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands]


@cache
def _load_command(name: str, place: str, summary: str) -> Any:
    module, _, attribute = place.partition(".")
    shown = import_module(f"folkmoot.cli.{module}")
    found = getattr(shown, attribute)
    app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=summary)
    for each in found if isinstance(found, tuple) else (found,):
        if not isinstance(each, type):
            own = (each.__doc__ or "") if isinstance(found, tuple) else f"{summary}\n\n{inspect.getdoc(each)}"
            app.command(each.__name__.strip("_"), help=inspect.cleandoc(own))(each)
        elif each.command:  # type: ignore[attr-defined]
            options = shown.TERMINAL_OPTIONS.get(each)
            app.command(each.command)(make_command(each, shown.present, options))  # type: ignore[attr-defined]
    made = typer.main.get_group(app) if isinstance(found, tuple) else typer.main.get_command(app)
    made.name = name
    return made


def make_command(
    operation: OperationType, present: Present, options: TerminalOptions | None = None
) -> Callable[..., int]:
    from folkmoot.operations.operation import fields_of, read_operation

    offered = [field for field in fields_of(operation) if field.spelling.terminal is not None]
    offered.sort(key=lambda field: field.name != operation.subject)
    own = list(inspect.signature(options.read, eval_str=True).parameters.values()) if options else []

    def call(typer_context: typer.Context, as_json: bool, person: str = "", **given: Any) -> int:
        values = {field.name: _to_field_value(field, given.pop(field.name)) for field in offered}
        if options:
            values |= options.read(**given)
        wanted = read_operation(operation, values, {field.name: option_name(field) for field in offered})
        if options and options.instead and any(given.get(flag) for flag in options.when):
            return options.instead(get_global_options(typer_context), wanted, as_json, **given) or 0
        from folkmoot.cli.output import write_json

        output = run_async(perform_operation(get_global_options(typer_context), wanted, person))
        if as_json:
            write_json(wanted.terminal_document(output))
        else:
            present(wanted, output)
        return wanted.exit_code(output)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("typer_context", keyword, annotation=typer.Context),
        *(_build_parameter(field) for field in offered),
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
    call.__doc__ = _build_help(operation, options)
    return call


def option_name(field: Field) -> str:
    return field.spelling.terminal or f"--{field.name.replace('_', '-')}"


def _build_parameter(field: Field) -> inspect.Parameter:
    kind: Any = bool if field.is_flag else list[str] if field.is_list else str
    line, name = field.help, option_name(field)
    if field.is_list and name.startswith("-"):
        line = f"{line.removesuffix('.')}; may be repeated."
    shown = field.spelling.metavar or None
    default: Any = inspect.Parameter.empty
    if not field.required:
        kind, default = (
            (kind | None, None) if field.is_list else (kind, "" if field.default is None else field.default)
        )
        default = default if isinstance(default, bool | None) else str(default)
    if name.startswith("-"):
        complete = _COMPLETED.get(shown or "")
        about: Any = typer.Option(
            name, metavar=shown, help=line, show_default=not field.required, autocompletion=complete
        )
    else:
        complete = _COMPLETED.get(name)
        about = typer.Argument(metavar=name, help=line, show_default=bool(default), autocompletion=complete)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about]
    )


def _to_field_value(field: Field, given: Any) -> Any:
    if field.is_list:
        return tuple(map(storable, given or ()))
    return storable(given) if isinstance(given, str) else given


def _build_help(operation: OperationType, options: TerminalOptions | None) -> str:
    """Its docstring, what its further options do, and examples as they stand."""
    about = [inspect.getdoc(operation) or ""]
    if options and options.read.__doc__:
        about.append(inspect.cleandoc(options.read.__doc__))
    examples = "\n".join(f"  {each}" for each in operation.examples)
    return "\n\n".join([*about, f"\b\nExamples:\n{examples}"])


async def perform_operation(call: GlobalOptions, operation: Operation[Any], person: str = "") -> Any:
    from folkmoot.cli.project import open_for_operation
    from folkmoot.operations.actor import by_account, by_name

    seed = secrets.token_hex(16)
    target = None
    if operation.of_files and (agent := getattr(operation, "agent", "")):
        target = call.target(agent)
        operation = replace(operation, agent=target.agent)
    async with open_for_operation(call, operation, target) as project:
        actor = by_account("terminal", seed)
        if person or operation.named:
            actor = by_name(storable(person), project.graph, "terminal", seed)
        return await operation.run(project, actor)
