"""Run teams of agents declared as `.ai` files; every step is recorded before it is acted on.

    from folkmoot import Folkmoot

    async with Folkmoot.open("my-desk") as moot:
        result = await moot.run("front-desk.ai", "I want my money back")
        print(result.final_report.content)

The names of `__all__` are promised, and loaded when they are first used. Everything else may be imported from its
room, and may move.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.engine.clock import FakeClock
    from folkmoot.engine.history import Fork
    from folkmoot.engine.workshop import Surroundings
    from folkmoot.errors import DeclarationError, FolkmootError, Untrusted, WrongUse
    from folkmoot.journal.sqlite import MemoryJournal
    from folkmoot.models.scripted import ScriptedModel
    from folkmoot.tools.registry import tool
    from folkmoot.views.result import Result

__version__ = "0.1.0"
__all__ = [
    "DeclarationError",
    "FakeClock",
    "Folkmoot",
    "FolkmootError",
    "Fork",
    "MemoryJournal",
    "Result",
    "ScriptedModel",
    "Surroundings",
    "Untrusted",
    "WrongUse",
    "tool",
]
_ROOMS = {
    "DeclarationError": "errors",
    "FakeClock": "engine.clock",
    "Folkmoot": "app",
    "FolkmootError": "errors",
    "Fork": "engine.history",
    "MemoryJournal": "journal.sqlite",
    "Result": "views.result",
    "ScriptedModel": "models.scripted",
    "Surroundings": "engine.workshop",
    "Untrusted": "errors",
    "WrongUse": "errors",
    "tool": "tools.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'folkmoot' has no attribute {name!r}")
    return getattr(import_module(f"folkmoot.{_ROOMS[name]}"), name)
