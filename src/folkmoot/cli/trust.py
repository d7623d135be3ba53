"""`folkmoot trust`: what a project wants beyond asking well-known models, and its user's consent to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, Target, call_of
from folkmoot.errors import ServerFailed, Untrusted

if TYPE_CHECKING:
    from folkmoot.cli.servers import Look
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

    A project may name Python modules to run, tool servers to start, and addresses to send a key to. They are used
    only after you allowed them here; a module or a command that changed asks again. A tool server that you allow
    is started once, and what its tools say of themselves is kept; if that changes one day, they are not used
    until you allowed them again. What you allow is kept for you alone, outside the project.

    \b
    Examples:
      folkmoot trust
      folkmoot trust ~/desks/support --yes
    """
    from folkmoot.cli.output import say, write_json

    place = folder or call_of(context).folder

    def agreed(wanted: str) -> bool:
        if not yes and not is_attended():
            raise Untrusted(f"{wanted}\nallow it with: folkmoot trust {quote(str(place))} --yes")
        return yes or _asked(wanted)

    allowed = _settled(call_of(context), Target(folder=place, agent=""), agreed)
    if allowed is None:
        say("nothing was allowed")
        return 1
    say(f"allowed in {place}" if allowed else f"{place} wants nothing that is not allowed already")
    if as_json:
        write_json([{"id": wish.mark, "status": "allowed", "text": wish.text} for wish in allowed])
    return 0


def ask_for_trust(call: Call, target: Target) -> bool:
    """On a terminal, before a run; True if it may go on."""
    return _settled(call, target, _asked) is not None


def is_attended() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def missing_trust(call: Call, target: Target) -> list[Wish]:
    from folkmoot.tools.trust import TrustStore, wishes

    settings = call.load(target).graph.settings
    return TrustStore(os.environ).missing(target.folder, wishes(target.folder, settings))


def listed(wanted: list[Wish]) -> str:
    return "this project wants to:" + _lines(wanted)


def _settled(call: Call, target: Target, agreed: Callable[[str], bool]) -> list[Wish] | None:
    """What was allowed now; None if the user did not want it. Raises `ServerFailed` for servers that do not start."""
    from folkmoot.cli.output import say
    from folkmoot.tools.trust import TrustStore

    store, folder = TrustStore(os.environ), target.folder
    settings = call.load(target).graph.settings
    missing = missing_trust(call, target)
    if missing and not agreed(listed(missing)):
        return None
    if not any(source.kind == "mcp" for source in settings.tools.values()):
        store.allow(folder, missing)
        return missing

    from folkmoot.cli.servers import look_at_servers

    new, failed = {wish.mark for wish in missing}, []
    for look in look_at_servers(folder, settings):
        if look.failed:
            failed.append(look)
            continue
        if look.mark in new:
            say(_introduced(look))
        elif changed := list(look.wishes(store.listings, folder)):
            if not agreed(f"the tool server {look.name!r} is not what it was:" + _lines(changed)):
                return None
            missing += changed
        store.listings.keep(folder, look.mark, look.offers)
    broken = {look.mark for look in failed}
    store.allow(folder, [wish for wish in missing if wish.mark not in broken])
    if failed:
        raise ServerFailed("\n".join(look.failed for look in failed))
    return missing


def _introduced(look: Look) -> str:
    from folkmoot.cli.shown import in_one_line

    tools = "".join(
        f"\n  - {look.name}.{in_one_line(f'{each.name}: {each.description}')}" for each in look.offers
    )
    return f"the tool server {look.name!r} offers:{tools}"


def _lines(wanted: list[Wish]) -> str:
    from folkmoot.cli.shown import in_one_line

    return "".join(f"\n  - {in_one_line(wish.text)}" for wish in wanted)


def _asked(wanted: str) -> bool:
    from folkmoot.cli.output import say

    say(wanted)
    sys.stderr.write("Allow this? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
