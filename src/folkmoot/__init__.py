"""Run teams of agents declared as `.ai` files; every step is recorded before it is acted on.

    from folkmoot import Folkmoot

    async with Folkmoot.open("my-desk") as moot:
        result = await moot.run("front-desk.ai", "I want my money back")
        print(result.final_report.content)

These names are promised; everything else may be imported from its room, and may move.
"""

from folkmoot.app import Folkmoot, Surroundings
from folkmoot.engine.clock import FakeClock
from folkmoot.errors import DeclarationError, FolkmootError, Untrusted, WrongUse
from folkmoot.journal.memory import MemoryJournal
from folkmoot.models.scripted import ScriptedModel
from folkmoot.tools.functions import tool
from folkmoot.views.result import Result

__version__ = "0.1.0"
__all__ = [
    "DeclarationError",
    "FakeClock",
    "Folkmoot",
    "FolkmootError",
    "MemoryJournal",
    "Result",
    "ScriptedModel",
    "Surroundings",
    "Untrusted",
    "WrongUse",
    "tool",
]
