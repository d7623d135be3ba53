"""What an operation is: its input is its fields, and what the interfaces need to know stands on the class.

The interfaces are generated: commands by `folkmoot.cli.commands`, endpoints by `folkmoot.http.operations`, forms
by `folkmoot.http.pages.rendering`, tools of agents by `folkmoot.operations.agent_tools`. Each spells a field by its
name unless a `Spelling` says otherwise.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT, Meta

from folkmoot.domain.message import ToolResult
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.operations.actor import Actor
from folkmoot.operations.project import OpenProject

Out = TypeVar("Out")
Row = TypeVar("Row")
Op = TypeVar("Op", bound="Operation[Any]")
Text = Annotated[str, Meta(pattern=r"\S")]
"""Says something."""
Texts = Annotated[tuple[Text, ...], Meta(max_length=1000)]
WorkSessionId = Annotated[str, Meta(pattern="^(ws_[A-Za-z0-9_-]+)?$")]
"""Or empty."""


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How the interfaces spell a field, where its name alone does not say it. None: they do not have it."""

    terminal: str | None = ""
    """`--option`, or the metavar of an argument."""
    metavar: str = ""
    """Of an option that takes the name of something; such names hold no blanks."""
    http: bool = True
    tool: str | None = ""
    tool_type: Any = None
    """What a model may write, if that is more than what is taken: the rest is refused by the operation."""
    tool_default: Any = NODEFAULT
    agent_help: str = ""
    """What agents read about it."""
    help: str = ""
    """What it means, where several operations have it."""


@dataclass(frozen=True, kw_only=True)
class Http:
    method: str
    path: str
    """Below `/api`; `{id}` is the subject, other names are fields."""
    links: Mapping[str, str | Mapping[str, str]] | None = None
    """By the id of another endpoint: which part of this answer is its `id`, or which are its parameters."""
    problems: tuple[int, ...] = ()
    name: str = ""
    """Its id, where that is not the name of the operation."""
    status: int = 200
    pages: str = "after"
    """By which a list comes in pages: `after` the id of a row, or `before` a position; empty: it comes as a whole."""
    by: bool = True
    """Whether the body says who does it."""
    row_id: str = "id"
    """The field of a row that is its id."""
    answer: Any = None
    """The type of the answer, where it is neither the output nor a document with `id` and `status`."""


@dataclass(frozen=True)
class AgentTool:
    name: str
    description: str
    """What agents read about it."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Operation(
    msgspec.Struct, Generic[Out], frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The first line of a docstring is the summary, the string beneath a field says what it means."""

    command: ClassVar[str] = ""
    """Its name within its group; empty: the terminal does not have it."""
    examples: ClassVar[tuple[str, ...]] = ()
    http: ClassVar[Http | None] = None
    tool: ClassVar[AgentTool | None] = None
    form: ClassVar[bool] = False
    """Whether the page has a form for it."""
    subject: ClassVar[str] = ""
    """The field that names what it is done to."""
    named: ClassVar[str | None] = None
    """At the terminal people may say who they are; this is who they are otherwise. Empty, or None if they may not:
    whoever runs the command."""
    reads: ClassVar[bool] = False
    """It changes nothing."""
    reads_files: ClassVar[bool | None] = None
    """Whether the files of the project matter to it; otherwise it can be done whatever state they are in. None: to
    change something, or where an agent is named."""
    needs_runs: ClassVar[bool | None] = None
    """Whether it is refused where nothing has run yet. None: if it has a subject."""
    of_files: ClassVar[bool] = False
    """It looks at the files of the project alone."""
    creates: ClassVar[bool] = False

    async def run(self, project: OpenProject, actor: Actor) -> Out:
        """Raises `WrongUse`, with the same code whatever the interface."""
        raise NotImplementedError

    def repeats(self, output: Out) -> bool:
        """Whether what was created under this key before is what is wanted now."""
        return True

    def document(self, output: Out) -> Any:
        """The output as JSON."""
        return output

    async def result(self, output: Out, project: OpenProject, actor: Actor) -> ToolResult:
        """The output as an agent reads it."""
        raise NotImplementedError

    def terminal_document(self, output: Out) -> Any:
        """The output as `--json` prints it, where that is not the answer over HTTP."""
        return self.document(output)

    def exit_code(self, output: Out) -> int:
        """Of its command."""
        return 0


class RowPage(msgspec.Struct, Generic[Row]):
    """One page of a list that is read in pages."""

    rows: list[Row]
    further: str = ""
    """Where the next begins; empty: there is none."""


OperationType = type[Operation[Any]]


@dataclass(frozen=True)
class Field:
    """A field of an operation, as the generators see it."""

    name: str
    type: Any
    """With constraints."""
    default: Any
    help: str
    """What it means."""
    spelling: Spelling
    json_name: str

    @property
    def required(self) -> bool:
        return self.default is NODEFAULT

    @property
    def is_list(self) -> bool:
        return get_origin(strip_constraints(self.type)) is tuple

    @property
    def is_flag(self) -> bool:
        return self.default is False


@cache
def fields_of(operation: OperationType) -> tuple[Field, ...]:
    hints, lines = get_type_hints(operation, include_extras=True), _lines(operation)
    return tuple(
        Field(
            field.name,
            hints[field.name],
            field.default if field.default_factory is NODEFAULT else field.default_factory(),
            lines.get(field.name, "") or _spelling(hints[field.name]).help,
            _spelling(hints[field.name]),
            field.encode_name,
        )
        for field in msgspec.structs.fields(operation)
    )


def strip_constraints(kind: Any) -> Any:
    """Without constraints."""
    if hasattr(kind, "__metadata__"):
        return strip_constraints(get_args(kind)[0])
    return (
        tuple.__class_getitem__((strip_constraints(get_args(kind)[0]), ...))
        if get_origin(kind) is tuple
        else kind
    )


def output_of(operation: OperationType) -> Any:
    """The type of what comes of it."""
    bases = (each for base in operation.__mro__ for each in getattr(base, "__orig_bases__", ()))
    return next(get_args(base)[0] for base in bases if get_origin(base) is Operation)


def id_of(operation: OperationType) -> str:
    """`blockTask`."""
    if operation.http and operation.http.name:
        return operation.http.name
    return operation.__name__[0].lower() + operation.__name__[1:]


def summary_of(operation: OperationType) -> tuple[str, str]:
    """The first line of its docstring without its stop, and the rest."""
    first, _, rest = (inspect.getdoc(operation) or "").partition("\n")
    return first.removesuffix("."), rest.strip()


def read_operation(
    operation: type[Op], values: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> Op:
    """Raises `WrongUse` for a value that does not fit, under the name that the interface has for it."""
    given: dict[str, Any] = {}
    for field in fields_of(operation):
        value = values.get(field.name, "" if field.required else field.default)
        if value == "" and field.default is None:
            continue
        try:
            given[field.name] = msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError as error:
            name = (names or {}).get(field.name, field.name)
            raise WrongUse(f"`{name}`: {_explain(field, value, str(error))}", code=BAD_VALUE) from error
    return operation(**given)


def _explain(field: Field, value: Any, words: str) -> str:
    known = [choice for choice in choices_of(field.type) if choice]
    if known:
        number = " or a number" if "int" in str(field.type) else ""
        return f"{value!r} is not one of {', '.join(known)}{number}"
    return words.partition(" - at ")[0].replace(
        "Expected `str` matching regex '\\\\S'", "it is empty; say something"
    )


def choices_of(kind: Any) -> Iterator[str]:
    """The words of a literal, at any depth of a type."""
    for each in get_args(kind):
        if isinstance(each, str):
            yield each
        else:
            yield from choices_of(each)


def _spelling(hint: Any) -> Spelling:
    found = (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Spelling))
    return next(found, Spelling())


def _lines(operation: OperationType) -> dict[str, str]:
    """The string beneath each field; Python throws it away, so it is read from the source."""
    found: dict[str, str] = {}
    for base in reversed(operation.__mro__):
        found |= _lines_in(base.__module__).get(base.__name__, {})
    return found


@cache
def _lines_in(module: str) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(sys.modules[module])) if module.startswith("folkmoot.") else None
    classes = [node for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef)]
    return {each.name: dict(_of_class(each)) for each in classes}


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, beneath in pairwise(node.body):
        match field, beneath:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(line))):
                yield name, " ".join(line.split())
