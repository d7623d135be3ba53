"""`folkmoot trust`: what a project wants beyond asking well-known models, and its user's consent to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, Target, call_of
from folkmoot.errors import Untrusted

if TYPE_CHECKING:
    from folkmoot.tools.trust import Wish


def trust(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The project; otherwise the nearest one.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow it without asking.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show what a project wants to use, and allow it.

    A project may name Python modules to run, and addresses to send a key to. They are used only after you
    allowed them here; a module that changed asks again. What you allow is kept for you alone, outside the
    project.

    \b
    Examples:
      folkmoot trust
      folkmoot trust ~/desks/support --yes
    """
    from folkmoot.cli.output import say, write_json

    place = folder or call_of(context).folder
    missing = missing_trust(call_of(context), Target(folder=place, agent=""))
    if not missing:
        say(f"{place} wants nothing that is not allowed already")
    elif not yes and not is_attended():
        raise Untrusted(f"{listed(missing)}\nallow it with: folkmoot trust {place} --yes")
    elif not (yes or _asked(missing)):
        say("nothing was allowed")
        return 1
    else:
        allow(place, missing)
        say(f"allowed in {place}")
    if as_json:
        write_json([{"id": wish.mark, "status": "allowed", "text": wish.text} for wish in missing])
    return 0


def ask_for_trust(call: Call, target: Target) -> bool:
    """On a terminal, before a run; True if it may go on."""
    missing = missing_trust(call, target)
    if not missing:
        return True
    if not _asked(missing):
        return False
    allow(target.folder, missing)
    return True


def is_attended() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def missing_trust(call: Call, target: Target) -> list[Wish]:
    from folkmoot.tools.trust import TrustStore, wishes

    settings = call.load(target).graph.settings
    return TrustStore(os.environ).missing(target.folder, wishes(target.folder, settings))


def allow(folder: Path, wanted: list[Wish]) -> None:
    from folkmoot.tools.trust import TrustStore

    TrustStore(os.environ).allow(folder, wanted)


def listed(wanted: list[Wish]) -> str:
    return "this project wants to:" + "".join(f"\n  - {wish.text}" for wish in wanted)


def _asked(wanted: list[Wish]) -> bool:
    from folkmoot.cli.output import say

    say(listed(wanted))
    sys.stderr.write("Allow this? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
