"""Where a value comes from: flag, environment, the agent's file, `folkmoot.yaml`, default, in this order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, inspect
from msgspec.structs import replace

from folkmoot.domain.agent import Tuning
from folkmoot.domain.settings import Options, Settings
from folkmoot.domain.text import storable
from folkmoot.domain.value import Value
from folkmoot.loader.agent_file import AgentDraft
from folkmoot.loader.document import Node, Scalar, find, meaning, place_of
from folkmoot.loader.findings import Findings, Location, near, short
from folkmoot.loader.walk import WRONG, definition, walk

FLAG, ENVIRONMENT, DEFAULT = "--set", "environment", "default"
_VARIABLE = "FOLKMOOT_"


class Setting(Value):
    """One value that holds, and who said so."""

    key: str
    value: Any
    source: str
    """`--set`, `environment FOLKMOOT_…`, `file:line` or `default`."""
    file: str = ""
    """The agent it holds for; empty: the project."""
    unit: str = ""
    """`s` if the value is a duration: it is in seconds."""


class FoundSetting(NamedTuple):
    value: Any
    source: str
    node: Node | None = None


class ProjectSettings(NamedTuple):
    """What is the same for all agents: `folkmoot.yaml`, and what flags and environment put above it."""

    settings: Settings
    node: Node
    above: Mapping[str, FoundSetting]
    readable: bool = True
    """False: what `folkmoot.yaml` says is unknown, so that nothing can be missed in it."""

    def at(self, *keys: str | int) -> Location:
        """Where a key of `folkmoot.yaml` stands, or the nearest thing around it."""
        return place_of(self.node, keys)


def variables() -> dict[str, str]:
    """Which key an environment variable sets."""
    return {_VARIABLE + "_".join(path).upper(): key for key, (path, _) in _settable().items()}


def above_files(
    env: Mapping[str, str], flags: Mapping[str, str], findings: Findings
) -> dict[str, FoundSetting]:
    """What flags and environment say, by key (`maxTurns`, `budget.usd`)."""
    found: dict[str, FoundSetting] = {}
    keys = variables()
    for variable in sorted(name for name in env if name.startswith(_VARIABLE)):
        source = f"{ENVIRONMENT} {variable}"
        if key := keys.get(variable):
            found |= _read(key, variable, env[variable], Location(ENVIRONMENT), source, findings)
        elif hint := near(variable.removeprefix(_VARIABLE), [name.removeprefix(_VARIABLE) for name in keys]):
            meant = hint.replace("'", f"'{_VARIABLE}", 1)
            findings.warning(Location(ENVIRONMENT), f"{short(variable)} has no effect{meant}")
    for key, text in flags.items():
        if key.startswith("storage."):
            message = f"`{key}` must hold for all commands alike; set it in folkmoot.yaml"
            findings.error(Location(FLAG), message)
        elif key in _settable():
            found |= _read(key, key, text, Location(FLAG), FLAG, findings)
        else:
            remedy = near(key, _settable()) or f"; there are {', '.join(sorted(_settable()))}"
            findings.error(Location(FLAG), f"there is no setting {short(key)}{remedy}")
    return found


def settings_with(settings: Settings, above: Mapping[str, FoundSetting]) -> Settings:
    for key, found in above.items():
        path, _ = _settable()[key]
        if path[0] not in _options():
            settings = _changed(settings, path, found.value)
    return settings


def ask(name: str, project: ProjectSettings, draft: AgentDraft | None) -> FoundSetting:
    """The value of one option for one agent, or for agents that say nothing themselves."""
    key = _options()[name].encode_name
    if key in project.above:
        return project.above[key]
    asked: list[tuple[Options, Node | None]] = [
        (project.settings.agents.defaults, find(project.node, ("agents", "defaults", key)))
    ]
    if draft:
        asked.insert(0, (draft.declared, find(draft.root, (key,))))
    for options, node in asked:
        if (value := getattr(options, name)) is not UNSET and node:
            return FoundSetting(value, f"{node.place.file}:{node.place.line}", node)
    return _default(name, project)


def tuning(project: ProjectSettings, draft: AgentDraft) -> Tuning:
    return Tuning(**{name: ask(name, project, draft).value for name in Tuning.__struct_fields__})


def report(project: ProjectSettings, draft: AgentDraft | None) -> Iterator[Setting]:
    """Every option with its source, for `config show`."""
    for name, field in _options().items():
        found = ask(name, project, draft)
        value = msgspec.to_builtins(found.value)
        yield Setting(field.encode_name, value, found.source, draft.file if draft else "", _unit(field.type))


def report_settings(project: ProjectSettings) -> Iterator[Setting]:
    """Every setting of the project with its source, options included; no password."""
    storage = project.settings.storage
    shown = replace(project.settings, storage=replace(storage, url=storage.shown or None))
    yield from _flat(shown, (), project, "")
    yield from report(project, None)


def _flat(value: Any, path: tuple[str, ...], project: ProjectSettings, unit: str) -> Iterator[Setting]:
    if isinstance(value, msgspec.Struct):
        for field in definition(type(value)).fields:
            if not (isinstance(value, Options) and field.name in _options()):
                below = (*path, field.encode_name)
                yield from _flat(getattr(value, field.name), below, project, _unit(field.type))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, (*path, key), project, "")
    else:
        key = ".".join(path)
        node, above = find(project.node, path), find(project.node, path[:-1])
        if node is None and value and isinstance(above, Scalar) and above.value is not None:
            node = above  # a plain value in the place of the mapping that would hold `path`
        source = f"{node.place.file}:{node.place.line}" if node else DEFAULT
        source = project.above[key].source if key in project.above else source
        yield Setting(key, msgspec.to_builtins(value), source, unit=unit)


def _unit(type: inspect.Type) -> str:
    types = type.types if isinstance(type, inspect.UnionType) else (type,)
    extras = [each.extra or {} for each in types if isinstance(each, inspect.Metadata)]
    return "s" if any(extra.get("written") == "duration" for extra in extras) else ""


@cache
def _options() -> dict[str, inspect.Field]:
    return {field.name: field for field in definition(Options).fields}


@cache
def _settable() -> dict[str, tuple[tuple[str, ...], inspect.Type]]:
    """What a flag or a variable can set, by key: every option, every single value of `folkmoot.yaml`."""
    options = {field.encode_name: ((field.name,), field.type) for field in _options().values()}
    return options | dict(_single_values(definition(Settings), (), ()))


def _single_values(
    struct: inspect.StructType, keys: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[str, tuple[tuple[str, ...], inspect.Type]]]:
    for field in struct.fields:
        below = (*keys, field.encode_name), (*names, field.name)
        if issubclass(struct.cls, Options) and field.name in _options():
            continue  # its key alone sets it
        if isinstance(field.type, inspect.StructType):
            yield from _single_values(field.type, *below)
        elif not isinstance(field.type, inspect.DictType):
            yield ".".join(below[0]), (below[1], field.type)


def _read(
    key: str, called: str, text: str, place: Location, source: str, findings: Findings
) -> dict[str, FoundSetting]:
    """By the same rules as in a file; nothing after saying what is wrong, or if there is no text."""
    try:
        if storable(text) != text:
            raise ValueError("the text holds a character that cannot be stored")
        node = Scalar(place, text, meaning(text))
    except ValueError as error:
        findings.error(place, f"`{called}`: {error}")
        return {}
    value = walk(node, _settable()[key][1], called, findings) if text else WRONG
    return {} if value is WRONG else {key: FoundSetting(value, source, node)}


def _changed(struct: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    return replace(struct, **{name: _changed(getattr(struct, name), tuple(rest), value) if rest else value})


def _default(name: str, project: ProjectSettings) -> FoundSetting:
    if name != "models":
        return FoundSetting(getattr(Tuning(), name), DEFAULT)
    if node := find(project.node, ("models", "default")):
        return FoundSetting(("default",), f"{node.place.file}:{node.place.line}", node)
    return FoundSetting((), DEFAULT)
