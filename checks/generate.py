"""Makes the parts of the documents that say what the code says, one function each."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import fields
from typer.main import get_command

from checks.served import SERVED
from checks.structs import Row, all_rows, inner_structs, own_rows
from folkmoot import errors
from folkmoot.domain.agent import Frontmatter
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.duration import UNITS
from folkmoot.domain.settings import Settings
from folkmoot.errors import FolkmootError
from folkmoot.loader import options
from folkmoot.scenarios.scenario import ScenarioFile


def frontmatter() -> str:
    """Every key of an `.ai` file."""
    return _keys(Frontmatter)


def settings() -> str:
    """Every key of `folkmoot.yaml`."""
    return _keys(Settings)


def scenarios() -> str:
    """Every key of a `*.test.yaml` file."""
    return _table(("Key", "Takes", "Meaning"), (_setting(row) for row in all_rows(ScenarioFile)))


def events() -> str:
    """Every event, then the shapes that they hold."""
    parts: list[str] = []
    shapes: dict[str, type[Struct]] = {}
    for name, event in sorted(EVENTS.items()):
        parts.append(_shape(f"## `{name}`, version {event.version}", event))
        shapes |= _shapes_within(event)
    parts.append("## Shapes")
    parts += [_shape(f"### {name}", struct) for name, struct in sorted(shapes.items())]
    return "\n\n".join(parts)


def cli() -> str:
    """Every command, with its arguments and options."""
    app = importlib.import_module("folkmoot.cli.main").app
    return "\n\n".join(commands(get_command(app), "folkmoot"))


def http() -> str:
    """Every operation of the API, by what it is about."""
    parts: dict[str, list[str]] = {}
    document = importlib.import_module("folkmoot.http.openapi").get_openapi_document()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shapes = document["components"]["schemas"]
            part = _operation(f"{method.upper()} {path}", operation, shapes)
            parts.setdefault(operation["tags"][0], []).append(part)
    return "\n\n".join("\n\n".join((f"## {tag}", *parts[tag])) for tag in sorted(parts))


def served() -> str:
    """Every command that the API knows too, with its operations."""
    paths = importlib.import_module("folkmoot.http.openapi").get_openapi_document()["paths"]
    where = {
        operation["operationId"]: f"`{method.upper()} {path}`"
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    rows = ((f"`{name}`", ", ".join(where[id] for id in ids)) for name, ids in SERVED.items())
    return _table(("Command", "Operation"), rows)


def exits() -> str:
    """The exit code of every error that is raised on purpose."""
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FolkmootError)
    ]
    rows = sorted((kind.exit_code, kind.__name__, inspect.cleandoc(kind.__doc__ or "")) for kind in kinds)
    return _table(("Code", "Error", "Means"), ((f"{code}", f"`{name}`", about) for code, name, about in rows))


def variables() -> str:
    """Every environment variable that stands for a key."""
    return _table(
        ("Variable", "Key"), ((f"`{name}`", f"`{key}`") for name, key in options.variables().items())
    )


GENERATORS: dict[str, Callable[[], str]] = {
    "cli": cli,
    "environment": variables,
    "events": events,
    "exits": exits,
    "frontmatter": frontmatter,
    "http": http,
    "scenarios": scenarios,
    "served": served,
    "settings": settings,
}


_EVERYWHERE = ("401", "403", "408", "413", "421", "429", "431", "503")
"""What the guard may say to any request; the page says it once."""


def _operation(title: str, operation: Any, shapes: Any) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    shape = shapes[body["$ref"].rpartition("/")[2]] if body else {"properties": {}}
    needed = shape.get("required", ())
    rows = (
        [
            *(
                _given(each["name"], each["in"], each.get("required"), each)
                for each in operation["parameters"]
            ),
            *(_given(name, "body", name in needed, about) for name, about in shape["properties"].items()),
        ]
        if "parameters" in operation or body
        else []
    )
    statuses = ", ".join(status for status in operation["responses"] if status not in _EVERYWHERE)
    about = " ".join(operation.get("description", "").split())
    said = f"{operation['summary']}. {about}".strip()
    table = _table(("Name", "In", "Meaning"), rows)
    return "\n\n".join(part for part in (f"### `{title}`", said, f"Answers {statuses}.", table) if part)


def _given(name: str, place: str, needed: bool | None, about: Any) -> tuple[str, str, str]:
    return f"`{name}`", place + (", required" if needed else ""), about.get("description", "")


def _keys(struct: type[Struct]) -> str:
    table = _table(("Key", "Takes", "Meaning"), (_setting(row) for row in all_rows(struct)))
    units = ", ".join(f"`{unit}`" for unit in UNITS)
    duration = f"A *duration* is a number and a unit ({units}), a number of milliseconds alone, or `off`."
    return f"{duration}\n\n{table}"


def _setting(row: Row) -> tuple[str, str, str]:
    said = not row.default or "default" in row.meaning.lower()
    return f"`{row.key}`", row.value, row.meaning if said else f"{row.meaning} Default {row.default}.".strip()


def _shape(title: str, struct: type[Struct]) -> str:
    about = inspect.cleandoc(struct.__doc__ or "")
    rows = [(f"`{row.key}`", row.value, row.meaning) for row in own_rows(struct)]
    table = _table(("Field", "Holds", "Meaning"), rows)
    return "\n\n".join(part for part in (title, about, table) if part)


def _shapes_within(struct: type[Struct]) -> dict[str, type[Struct]]:
    found: dict[str, type[Struct]] = {}
    for field in fields(struct):
        for inner in inner_structs(field.type):
            found |= {inner.__name__: inner} | _shapes_within(inner)
    return found


def commands(command: Any, path: str) -> Iterator[str]:
    return (_command(each, place) for place, each in below(command, path))


def below(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, Any]]:
    """A command, then those below it; typer carries its own copy of click, so only behaviour is relied on."""
    if command.hidden:
        return
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True)
        for name in command.list_commands(context):
            yield from below(command.get_command(context, name), f"{path} {name}", context)


def _command(command: Any, path: str) -> str:
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    arguments = [_argument(param) for param in shown if param.param_type_name == "argument"]
    below = ["COMMAND"] if hasattr(command, "list_commands") else []
    usage = " ".join([path, "[OPTIONS]", *arguments, *below])
    about = _prose(inspect.cleandoc(command.help or "").partition("\f")[0])
    table = _table(("Option", "Meaning"), [(_spelling(param), param.help or "") for param in shown])
    return "\n\n".join(part for part in (f"## {path}", about, f"```text\n{usage}\n```", table) if part)


def _prose(help: str) -> str:
    """A paragraph that begins with a backspace is shown as it stands, by typer and here."""
    parts = help.split("\n\n")
    return "\n\n".join(f"```text\n{part[2:]}\n```" if part.startswith("\b\n") else part for part in parts)


def _argument(param: Any) -> str:
    name = (param.metavar or param.name.upper()) + ("..." if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def _spelling(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_argument(param)}`"
    value = "" if param.is_flag else f" {(param.metavar or param.name.upper())}"
    return ", ".join(f"`{option}{value}`" for option in (*param.opts, *param.secondary_opts))


def _table(head: tuple[str, ...], rows: Any) -> str:
    body = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    if not body:
        return ""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])
