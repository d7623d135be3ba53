"""Lists what a project wants to do on this machine: everything in its files that needs its user's consent."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from folkmoot.domain.agent import Graph
from folkmoot.domain.gate import HUMAN, GateSettings
from folkmoot.domain.naming import VARIABLE
from folkmoot.domain.providers import BUILT_IN, LOOPBACK, REMOTE, address_of, key_variable
from folkmoot.domain.rules import Rule
from folkmoot.domain.settings import Builtins, Provider, Settings, Storage, ToolSource
from folkmoot.domain.sinks import OTLP_HEADERS, SinkSettings
from folkmoot.tools.consent import ConsentItem, by_content, mark_of
from folkmoot.tools.modules import imported_files
from folkmoot.tools.registry import meant

_PROGRAMS = {"shell": "run programs (`shell`)", "python": "run Python code (`python`)"}
_MOST_FILES = 500
"""Of a folder that a command names; a larger one is known by its first files only, and says so."""


def wanted_items(folder: Path, graph: Graph) -> list[ConsentItem]:
    """Without what decides where the journal lies: `storage_item`."""
    settings = graph.settings
    return [
        *(module_item(folder, name, tool) for name, tool in settings.tools.items() if tool.module),
        *(_server(folder, name, tool) for name, tool in settings.tools.items() if tool.kind == "mcp"),
        *_programs(graph),
        *_gate(settings),
        *_trusted_remotes(graph),
        *(
            _address(name, provider)
            for name, provider in settings.providers.items()
            if _needs_consent(provider)
        ),
        *_variables(settings),
        *(_sink(name, sink) for name, sink in settings.sinks.items()),
        *_hosts(settings.builtins),
        *_work_dir(folder, settings),
    ]


def module_item(folder: Path, name: str, source: ToolSource) -> ConsentItem:
    module = source.module or ""
    files = imported_files(folder, module)
    also = f", which imports {', '.join(files)}" if files else ""
    value = "\n".join(by_content(folder, [module, *files]))
    return ConsentItem("module", f"tools.{name}", f"run the Python module {module}{also}", value)


def storage_item(storage: Storage, env: Mapping[str, str]) -> ConsentItem | None:
    """None where the journal is a file of the project, or where the user's own environment says where it is."""
    if storage.url is None or "FOLKMOOT_STORAGE_URL" in env:
        return None
    text = f"keep its journal, with everything that is asked and answered, at {storage.shown}"
    return ConsentItem("storage", "storage.url", text, f"{storage.url} {storage.project}")


def _server(folder: Path, name: str, source: ToolSource) -> ConsentItem:
    told = sorted(
        {*source.env, *(each for text in source.headers.values() for each in VARIABLE.findall(text))}
    )
    given = f" with {' '.join(f'${variable}' for variable in told)}" if told else ""
    if source.url:
        return ConsentItem(
            "server", f"tools.{name}", f"ask the tool server {name!r} at {source.url}{given}", mark_of(source)
        )
    files = sorted(_named_files(folder, source))
    where = f" in {source.cwd}" if source.cwd else ""
    uses = (
        f", which is {', '.join(files[:5])}{' …' if len(files) > 5 else ''} of this project" if files else ""
    )
    text = f"start the tool server {name!r}: {shlex.join(source.command)}{where}{given}{uses}"
    return ConsentItem(
        "server", f"tools.{name}", text, "\n".join([mark_of(source), *by_content(folder, files)])
    )


def _named_files(folder: Path, source: ToolSource) -> set[str]:
    """Every file of the project that a command names, with all that Python files among them import."""
    root = folder.resolve()
    start = root / source.cwd if source.cwd else root
    named = [word for argument in source.command for word in (argument, argument.partition("=")[2]) if word]
    named += [word.replace(".", "/") for word in named] + [f"{word.replace('.', '/')}.py" for word in named]
    found: set[Path] = set()
    for word in named:
        path = (start / word).resolve()
        if "\0" in word or path == root or not path.is_relative_to(root):
            continue
        if path.is_file():
            found.add(path)
        elif path.is_dir():
            found |= {*sorted(each for each in path.rglob("*") if each.is_file())[:_MOST_FILES]}
    files = {path.relative_to(root).as_posix() for path in found}
    return files | {each for file in files if file.endswith(".py") for each in imported_files(folder, file)}


def rule_item(rule: Rule) -> ConsentItem:
    """A rule by what it says, not by its place: one that moves asks for nothing."""
    return _loosened("rules", f"{_RULED[rule.decision]} what fits the rule {_plain(rule)}", rule)


def _programs(graph: Graph) -> Iterator[ConsentItem]:
    for agent in graph.agents.values():
        named = {each for name in agent.tools for each in meant(name, _PROGRAMS)}
        for tool in sorted(named):
            text = f"let the agent {agent.file} {_PROGRAMS[tool]}"
            yield ConsentItem("program", f"{agent.file} {tool}", text, tool)


def _gate(settings: Settings) -> Iterator[ConsentItem]:
    """Everything that makes the gate let more through."""
    for rule in settings.rules:
        if rule.decision == "allow" or (rule.decision == "ask" and rule.risk == "low"):
            yield rule_item(rule)
    usual = GateSettings()
    for field in GateSettings.__struct_fields__:
        value = getattr(settings.gate, field)
        if value != getattr(usual, field) and field not in _TIGHTENING:
            yield _loosened(f"gate.{field}", f"set the gate's `{field}` to {_plain(value)}", value)
    if settings.orchestration.auto_approve:
        yield _loosened("orchestration.auto_approve", "let agents call agents without approval", True)
    if settings.approvals.approvers != HUMAN:
        who = settings.approvals.approvers
        yield _loosened("approvals.approvers", f"let {', '.join(who)} approve calls, in this order", who)
    for name, source in settings.tools.items():
        for key, harmless in _HARMLESS.items():
            if getattr(source, key, None) == harmless:
                said = f"{key}: {_plain(harmless)}"
                yield _loosened(f"tools.{name}.{key}", f"take the tools of {name!r} to be `{said}`", harmless)


def _trusted_remotes(graph: Graph) -> Iterator[ConsentItem]:
    for agent in graph.agents.values():
        if agent.remote and not agent.remote.untrusted:
            text = f"trust what the remote agent {agent.file} answers"
            yield _loosened(f"{agent.file} remote.untrusted", text, False)


_RULED = {"allow": "call without approval", "ask": "ask at low risk only about"}
_TIGHTENING = frozenset({"ask", "secret"})
_HARMLESS: dict[str, object] = {"access": "read", "effect": "pure", "untrusted": False}


def _loosened(name: str, text: str, value: object) -> ConsentItem:
    return ConsentItem("gate", name, text, _plain(value))


def _plain(value: object) -> str:
    """As JSON; of a rule or another struct only what was said."""
    built = msgspec.to_builtins(value)
    if isinstance(value, Rule):
        built = {
            key: each
            for key, each in built.items()
            if each not in ({}, None, "") and (key, each) != ("agent", "*")
        }
    return msgspec.json.encode(built, order="deterministic").decode()


def _needs_consent(provider: Provider) -> bool:
    """Free are a vendor's own key for the vendor's own host, and an address on this machine that gets no key."""
    address, key = address_of(provider), key_variable(provider)
    if not address or (not key and urlsplit(address).hostname in LOOPBACK):
        return False
    return (address, key) not in {(address_of(other), key_variable(other)) for other in BUILT_IN.values()}


def _address(name: str, provider: Provider) -> ConsentItem:
    key = f" with the key in ${key_variable(provider)}" if key_variable(provider) else ""
    of = f"provider {name!r}" if provider.kind != "a2a" else f"the remote agent {name.removeprefix(REMOTE)!r}"
    text = f"send requests of {of} to {address_of(provider)}{key}"
    return ConsentItem(
        "address", f"providers.{name}", text, f"{address_of(provider)} {key_variable(provider)}"
    )


def _variables(settings: Settings) -> Iterator[ConsentItem]:
    """Those of this machine that programs and tools get."""
    for variable in sorted({*settings.builtins.shell.env, *settings.builtins.python.env}):
        yield ConsentItem(
            "variable", variable, f"give ${variable} to the programs that agents run", "programs"
        )
    for variable in sorted(settings.secrets):
        text = f"let agents put the value of ${variable} into the arguments of tools"
        yield ConsentItem("variable", variable, text, "tools")


def _sink(name: str, sink: SinkSettings) -> ConsentItem:
    to = f"the file {sink.file}"
    if sink.kind != "ndjson":
        to = f"the address in ${sink.address_env}" if sink.address_env else f"{sink.url}"
    key = f" signed with ${sink.secret_env}" if sink.secret_env else ""
    told = sorted({*sink.headers_env.values(), *([OTLP_HEADERS] if sink.kind == "otel" else [])})
    key += " with " + " ".join(f"${variable}" for variable in told) if told else ""
    what = "all that is written and said here" if sink.content else "what happens here"
    value = msgspec.json.encode((sink.kind, to, sink.secret_env, told, sink.content)).decode()
    return ConsentItem("sink", f"sinks.{name}", f"send {what} on to {to}{key}, as the sink {name!r}", value)


def _hosts(builtins: Builtins) -> Iterator[ConsentItem]:
    for host in builtins.web.allow:
        yield ConsentItem("host", "builtins.web.allow", f"let agents fetch from {host}, public or not", host)


def _work_dir(folder: Path, settings: Settings) -> Iterator[ConsentItem]:
    work_dir = settings.orchestration.sub_agent_work_dir or ""
    if not (folder.resolve() / work_dir).is_relative_to(folder.resolve()):
        name = "orchestration.sub_agent_work_dir"
        yield ConsentItem("folder", name, f"let agents that are called work in {work_dir}", work_dir)
