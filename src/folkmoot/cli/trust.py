"""`folkmoot trust`: what a project wants to do on this machine, and its user's consent to it, item by item."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec.structs import replace

from folkmoot.cli.call import AsJson, GlobalOptions, Target, get_global_options
from folkmoot.cli.output import counted, format_one_line, write_json, write_stderr
from folkmoot.domain.settings import Settings
from folkmoot.errors import ServerFailed, Untrusted, WrongUse
from folkmoot.loader.project_file import storage_of
from folkmoot.tools.consent import ConsentItem, ConsentStore, FolderConsent, replaced_grants
from folkmoot.tools.wanted import storage_item, wanted_items

if TYPE_CHECKING:
    from folkmoot.cli.consent_changes import ServerInspection

Changes = Mapping[str, Sequence[str]]
"""By the id of an item that changed since it was allowed: what is different, in lines."""
Choose = Callable[[str, list["ConsentItem"], Changes], list["ConsentItem"]]
"""Shows items under a heading and returns those that the user allows."""


def trust(  # noqa: PLR0913  # because each is an option of the command
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The project; otherwise the nearest one.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow all of it without asking.")] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="ID", help="Allow this item alone; may be repeated."),
    ] = None,
    revoke: Annotated[
        list[str] | None,
        typer.Option("--revoke", metavar="ID", help="Take back what was allowed: an id, or `all`."),
    ] = None,
    mine: Annotated[
        bool | None,
        typer.Option(
            "--mine/--not-mine", help="Ask for nothing in this folder: you wrote all of it; or ask again."
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write what is allowed here to a file.")
    ] = None,
    import_: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Allow what another user or machine exported."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """A project may run Python modules, start tool servers, let agents run programs, allow calls without approval,
    send a key of your environment to an address, or keep its journal elsewhere. Each is done only after you allowed
    it here; when its value changes, a file that it imports included, it asks again. A tool server that you allow is
    started once, and what its tools say of themselves is kept. What you allow is kept for you alone, outside the
    project, in $FOLKMOOT_STATE.

    \b
    Examples:
      folkmoot trust
      folkmoot trust ~/desks/support --yes
      folkmoot trust --mine
      folkmoot trust --export grants.json
    """
    call = get_global_options(context)
    target = Target(folder=folder or call.folder, agent="")
    if mine is not None or export or import_ or revoke:
        _change_store(target.folder, mine=mine, export=export, import_=import_, revoke=revoke or [])
    if mine is False or export or import_ or revoke:
        return _show_consent(call, target, as_json=as_json)
    if unknown := set(allow or ()) - {item.id for item in list_consent_items(call, target)}:
        names = ", ".join(sorted(unknown))
        raise WrongUse(f"this project wants nothing of the id {names} (see: folkmoot trust --json)")
    granted, left = request_consent(
        call, target, _build_chooser(target.folder, yes=yes or bool(mine), ids=allow or [])
    )

    if granted:
        write_stderr(f"allowed in {target.folder}: {counted(len(granted), 'item')}")
    if mine:
        write_stderr(
            f"nothing is asked in {target.folder} any more; `folkmoot trust --not-mine` turns asking on again"
        )
    elif not granted and not left:
        write_stderr(f"{target.folder} wants nothing that is not allowed already")
    elif left:
        write_stderr("not allowed:" + _describe_items(left))
    if as_json:
        _show_consent(call, target, as_json=True)
    return 1 if left and not granted else 0


def ask_for_trust(call: GlobalOptions, target: Target) -> bool:
    """On a terminal, before a run; True if it may go on."""
    return not request_consent(call, target, _ask_user)[1]


def is_interactive() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def list_consent_items(call: GlobalOptions, target: Target) -> list[ConsentItem]:
    """Everything the project needs consent for, granted or not."""

    storage = storage_item(storage_of(target.folder, os.environ), os.environ)
    return [*wanted_items(target.folder, call.load(target).graph), *([storage] if storage else [])]


def request_consent(
    call: GlobalOptions, target: Target, choose: Choose
) -> tuple[list[ConsentItem], list[ConsentItem]]:
    """What was allowed now, and what is still missing. Raises `ServerFailed` for servers that do not start."""
    from folkmoot.cli.consent_changes import describe_changes

    store, folder = ConsentStore(), target.folder
    wanted = list_consent_items(call, target)
    missing = store.missing(folder, wanted)
    grants = store.of(folder).grants
    before = replaced_grants(grants, missing, wanted)
    granted: list[ConsentItem] = []
    if missing:
        heading = "this project wants to" + (" (* changed since it was allowed)" if before else "")
        changed = {
            item.id: describe_changes(store, folder, item, before[item.id], grants[before[item.id]])
            for item in missing
            if item.id in before
        }
        granted = choose(heading, missing, changed)
    chosen = {item.id for item in granted}
    left = [item for item in missing if item.id not in chosen]
    settings = call.load(target).graph.settings
    refused = {item.name for item in left if item.kind == "server"}
    new = {item.name for item in granted if item.kind == "server"}
    failed = _store_server_tools(folder, settings, refused, new, choose)
    broken = {f"tools.{look.name}" for look in failed}
    sound = [item for item in granted if item.name not in broken]
    store.grant(folder, sound, replaced=[before[item.id] for item in sound if item.id in before])
    if failed:
        raise ServerFailed("\n".join(look.failed for look in failed))
    return granted, left


def _store_server_tools(
    folder: Path, settings: Settings, refused: set[str], new: set[str], choose: Choose
) -> list[ServerInspection]:
    """Keep what each allowed server offers; those that did not start are returned."""
    sources = {
        name: source
        for name, source in settings.tools.items()
        if source.kind == "mcp" and f"tools.{name}" not in refused
    }
    if not sources:
        return []
    from folkmoot.cli.consent_changes import inspect_servers

    listings = ConsentStore().listings
    looks = inspect_servers(folder, sources)
    for look in looks:
        if look.failed:
            continue
        known = listings.of(folder, look.mark)
        if f"tools.{look.name}" in new or known is None:
            write_stderr(_describe_server_tools(look))
        elif not _confirm_changes(
            choose, f"the tool server {look.name!r} is not what it was", look.changed_tools(known)
        ):
            continue
        listings.keep(folder, look.mark, look.offers)
    return [look for look in looks if look.failed]


def _confirm_changes(choose: Choose, heading: str, changes: Iterable[ConsentItem]) -> bool:
    items = list(changes)
    return not items or len(choose(heading, items, {})) == len(items)


def _change_store(
    folder: Path, *, mine: bool | None, export: Path | None, import_: Path | None, revoke: Sequence[str]
) -> None:

    store = ConsentStore()
    consent = store.of(folder)
    if mine is not None:
        consent = replace(consent, mine=mine)
    if import_:
        try:
            given = msgspec.json.decode(import_.read_bytes(), type=FolderConsent)
        except OSError as error:
            raise WrongUse(f"cannot read {import_}: {error.strerror}") from None
        except msgspec.MsgspecError as error:
            raise WrongUse(f"{import_} is no list of grants, as `--export` writes it: {error}") from None
        consent = replace(consent, grants={**consent.grants, **given.grants})
        write_stderr(
            f"allowed in {folder}, as {import_} says:"
            + "".join(f"\n  - {each.text}" for each in given.grants.values())
        )
    if unknown := [id for id in revoke if id != "all" and id not in consent.grants]:
        raise WrongUse(
            f"nothing of the id {', '.join(unknown)} was allowed here (see: folkmoot trust --json)"
        )
    if revoke:
        gone = set(consent.grants) if "all" in revoke else set(revoke)
        consent = replace(consent, grants={id: each for id, each in consent.grants.items() if id not in gone})
    store.write(folder, consent)
    if export:
        export.write_bytes(msgspec.json.format(msgspec.json.encode(replace(consent, mine=False)), indent=1))
        write_stderr(f"{export}: {len(consent.grants)} grants; `--import` takes them elsewhere")


def _show_consent(call: GlobalOptions, target: Target, *, as_json: bool) -> int:

    store = ConsentStore()
    wanted = list_consent_items(call, target)
    lacking = store.missing(target.folder, wanted)
    missing = {item.id for item in lacking}
    changed = replaced_grants(store.of(target.folder).grants, lacking, wanted)

    def status(item: ConsentItem) -> str:
        if item.id not in missing:
            return "allowed"
        return "changed" if item.id in changed else "new"

    if as_json:
        fields = ("id", "kind", "name", "text", "value")
        write_json(
            [{"status": status(item), **{key: getattr(item, key) for key in fields}} for item in wanted]
        )
    elif missing:
        write_stderr("not allowed:" + _describe_items([item for item in wanted if item.id in missing]))
    return 0


def _build_chooser(folder: Path, *, yes: bool, ids: Sequence[str]) -> Choose:
    def choose(heading: str, items: list[ConsentItem], changed: Changes) -> list[ConsentItem]:
        if ids:
            return [item for item in items if item.id in ids]
        if yes:
            return items
        if not is_interactive():
            raise Untrusted(
                f"{heading}:{_describe_items(items, changed)}\n"
                f"allow it with: folkmoot trust {quote(str(folder))} --yes\n"
                "or a single item with `--allow` and its id"
            )
        return _ask_user(heading, items, changed)

    return choose


def _ask_user(heading: str, items: list[ConsentItem], changed: Changes) -> list[ConsentItem]:

    write_stderr(
        f"{heading}:"
        + "".join(f"\n  {n}. {_describe_item(item, changed)}" for n, item in enumerate(items, start=1))
    )
    sys.stderr.write("Allow this? [y/N, or numbers such as 1 3] ")
    sys.stderr.flush()
    typed = sys.stdin.readline().strip().lower()
    if typed in ("y", "yes"):
        return items
    numbers = {int(word) for word in typed.replace(",", " ").split() if word.isascii() and word.isdecimal()}
    return [item for n, item in enumerate(items, start=1) if n in numbers]


def _describe_item(item: ConsentItem, changed: Changes, behind: str = "") -> str:
    """In one line; if it changed, with a mark and what is different below."""

    mark = "* " if item.id in changed else ""
    lines = "".join(f"\n       {line}" for line in changed.get(item.id, ()))
    return f"{mark}{format_one_line(item.text)}{behind}{lines}"


def _describe_server_tools(look: ServerInspection) -> str:

    tools = "".join(
        f"\n  - {look.name}.{format_one_line(f'{each.name}: {each.description}')}" for each in look.offers
    )
    return f"the tool server {look.name!r} offers:{tools}"


def _describe_items(items: Sequence[ConsentItem], changed: Changes = MappingProxyType({})) -> str:
    return "".join(f"\n  - {_describe_item(item, changed, f'  [{item.id}]')}" for item in items)
