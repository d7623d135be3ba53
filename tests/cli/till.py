"""A project with a tool that asks before it pays."""

from tests.cli.conftest import SETTINGS, Program

TOOLS = SETTINGS + "tools: {t: {kind: python, module: t.py}}\n"
SOURCE = '''
from pathlib import Path
from folkmoot import tool


@tool(effect="once", access="write", asks="medium")
async def pay(to: str) -> str:
    """Pay somebody."""
    with Path("paid.txt").open("a") as file:
        file.write(to + "\\n")
    return f"paid {to}"


@tool(effect="pure", access="read")
async def look() -> str:
    """Look."""
    return "seen"
'''


def opened(
    folkmoot: Program, agents: dict[str, str], script: dict[str, object], settings: str = TOOLS
) -> Program:
    folkmoot.write(agents, script, settings)
    (folkmoot.folder / "t.py").write_text(SOURCE)
    folkmoot("trust", "--yes")
    return folkmoot


def paid(till: Program) -> list[str]:
    """Who was really paid."""
    file = till.folder / "paid.txt"
    return file.read_text().splitlines() if file.exists() else []
