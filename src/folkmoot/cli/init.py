"""`folkmoot init`: a small project that runs at once, offline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.call import AsJson
from folkmoot.errors import OperationFailed, WrongUse

_NAMES = {"gitignore": ".gitignore"}
"""Under its own name, git would obey the scaffold's file in our own repository."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where; made if it does not exist.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Make a project that runs at once, offline, on a scripted model.

    It has a front desk with an advisor and a router, a desk behind it, and an editor who answers last.
    Nothing that exists is overwritten.

    \b
    Examples:
      folkmoot init
      folkmoot init desk && cd desk && folkmoot run front-desk.ai "I was charged twice."
    """
    from folkmoot.cli.output import say, write_json

    files = scaffold()
    taken = {name for name in files if (folder / name).exists()}
    if taken - {".gitignore"}:
        raise WrongUse(f"{folder} has {', '.join(sorted(taken))} already; name another folder for it")
    files = {name: text for name, text in files.items() if name not in taken}
    _write(folder, files)
    if as_json:
        write_json({"folder": str(folder), "files": sorted(files)})
        return
    say(f"made {', '.join(sorted(files))}")
    enter = "" if folder == Path() else f"\n  cd {folder}"
    say(
        f"next:{enter}\n  folkmoot check\n  folkmoot test\n"
        '  folkmoot run front-desk.ai "I was charged twice for order 1042."\n'
        "  folkmoot runs show last"
    )


def scaffold() -> Mapping[str, str]:
    """The files of the project by name."""
    source = Path(__file__).parent / "scaffold"
    return {_NAMES.get(path.name, path.name): path.read_text("utf-8") for path in sorted(source.iterdir())}


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise OperationFailed(f"cannot write {error.filename}: {error.strerror}") from None
