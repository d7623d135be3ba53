"""Values of environment variables that appear nowhere: in no event, artifact, error or terminal. Pure.

Where one would stand, its name stands: `{{secret:NAME}}`. So a call that is recorded can be made again, and a tool gets
the value when it is called. What is split or encoded, as base64 for instance, is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from folkmoot.domain.entry import Event
from folkmoot.domain.naming import VARIABLE
from folkmoot.domain.providers import BUILT_IN
from folkmoot.domain.settings import Settings, ToolSource

SHORTEST = 8
"""Characters; something shorter is no secret, and would hide half of every text."""
_NAMED = re.compile(r"\{\{secret:([A-Za-z_][A-Za-z0-9_]*)\}\}")
E = TypeVar("E", bound=Event)


class Secrets:
    def __init__(self, values: Mapping[str, str], usable: Iterable[str] = ()) -> None:
        """`usable` are the names that an argument of a tool may use."""
        hidden = {name: value for name, value in values.items() if len(value) >= SHORTEST}
        self._usable = {name: values[name] for name in usable if name in values}
        self._names = {form: name for name, value in hidden.items() for form in _forms(value)}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if hidden else None

    @property
    def any(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        return self._pattern.sub(self._name, text) if self._pattern else text

    def in_pieces(self) -> Callable[[str], str]:
        """The same for a text that comes piece by piece: what may be the beginning of a value is held back until more
        has come. What is held back in the end is not given."""
        pattern, held = self._pattern, ""
        if not pattern:
            return lambda piece: piece

        def passed(piece: str) -> str:
            nonlocal held
            text, shown = held + piece, []
            at, doubtful = 0, self._doubtful(text, 0)
            while (found := pattern.search(text, at)) and found.start() < doubtful:
                shown += [text[at : found.start()], self._name(found)]
                at = found.end()
                doubtful = self._doubtful(text, at)
            held = text[doubtful:]
            return "".join((*shown, text[at:doubtful]))

        return passed

    def _doubtful(self, text: str, at: int) -> int:
        """From where on, not before `at`, a text may end with the beginning of a value."""
        first = max(at, len(text) - max(map(len, self._names)) + 1)
        ends = range(first, len(text))
        return next((n for n in ends if any(form.startswith(text[n:]) for form in self._names)), len(text))

    def event(self, event: E) -> E:
        """The same event if it holds none of the values, as nearly all do."""
        if not self._pattern or not self._pattern.search(msgspec.json.encode(event).decode()):
            return event
        plain = msgspec.to_builtins(event, str_keys=True)
        return msgspec.convert(_mapped(self.text, plain), type(event), str_keys=True)

    def content(self, content: bytes) -> bytes:
        """What is no text holds none."""
        if not self._pattern:
            return content
        text = content.decode("utf-8", "surrogateescape")
        return self.text(text).encode("utf-8", "surrogateescape")

    def resolved(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with values instead of names. Raises KeyError with a name that may not be used."""
        if not self._usable:
            return arguments
        mapped: dict[str, Any] = _mapped(self._resolve, arguments)
        return mapped

    def _resolve(self, text: str) -> str:
        return _NAMED.sub(lambda found: self._usable[found[1]], text)

    def _name(self, found: re.Match[str]) -> str:
        return f"{{{{secret:{self._names[found[0]]}}}}}"


def secrets_of(settings: Settings, env: Mapping[str, str]) -> Secrets:
    """The variables that hold keys of providers, that tools and sinks get, and that `secrets` lists."""
    keys = {provider.api_key_env for provider in (*BUILT_IN.values(), *settings.providers.values())}
    given = {name for source in settings.tools.values() for name in (*source.env, *_in_headers(source))}
    sinks = {name for sink in settings.sinks.values() for name in (sink.url_env, sink.secret_env)}
    programs = {*settings.builtins.shell.env, *settings.builtins.python.env}
    wanted = {*filter(None, keys | sinks), *given, *programs, *settings.secrets}
    return Secrets({name: env[name] for name in sorted(wanted) if name in env}, settings.secrets)


def _in_headers(source: ToolSource) -> list[str]:
    return [name for text in source.headers.values() for name in VARIABLE.findall(text)]


NO_SECRETS = Secrets({})


def _forms(value: str) -> tuple[str, str, str]:
    """As it is, and as it stands in JSON, also in JSON within JSON."""
    once = msgspec.json.encode(value).decode()[1:-1]
    return value, once, msgspec.json.encode(once).decode()[1:-1]


def _mapped(change: Callable[[str], str], value: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): _mapped(change, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(change, inner) for inner in value]
    return value
