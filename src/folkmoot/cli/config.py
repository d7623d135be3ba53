"""`folkmoot config`: which settings hold, and where each comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of

if TYPE_CHECKING:
    from folkmoot.loader.options import Setting

app = typer.Typer(help="Which settings hold, and where each comes from.", no_args_is_help=True)


@app.callback()
def _config() -> None:
    """Which settings hold, and where each comes from."""


@app.command()
def show(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Every option of every agent too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show each setting with its source: --set, environment, an agent's file, folkmoot.yaml or default.

    The first of these that says something holds. Of an agent, only what its file says is shown, unless --all.

    \b
    Examples:
      folkmoot config show
      FOLKMOOT_MAX_TURNS=3 folkmoot config show --json
    """
    from folkmoot.cli.output import write_json, write_table
    from folkmoot.engine.workshop import load_project

    call = call_of(context)
    settings = load_project(call.folder, overrides=call.overrides).settings
    if as_json:
        write_json(settings)
        return
    write_table(
        ("setting", "value", "source"),
        (
            (f"{setting.file} {setting.key}".strip(), _written(setting), (setting.source, "dim"))
            for setting in settings
            if everything or not setting.file or setting.source.startswith(f"{setting.file}:")
        ),
    )


def _written(setting: Setting) -> str:
    from folkmoot.domain.duration import written

    value = setting.value
    if value is None:
        return "-"
    if setting.unit:
        return written(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
