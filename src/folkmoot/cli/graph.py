"""`folkmoot graph`: the drawing of who calls whom."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.call import call_of
from folkmoot.errors import WrongUse


class Form(StrEnum):
    text = "text"
    mermaid = "mermaid"
    svg = "svg"


def graph(
    context: typer.Context,
    form: Annotated[Form, typer.Option("--format", "-f", help="How to draw it.")] = Form.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
    ] = None,
) -> None:
    """Draw which agents work with which, and how.

    \b
    Examples:
      folkmoot graph
      folkmoot graph --format mermaid
      folkmoot graph --format svg -o agents.svg
    """
    from folkmoot.cli.output import write
    from folkmoot.engine.workshop import load_project
    from folkmoot.views import graph as views

    call = call_of(context)
    loaded = load_project(call.folder, overrides=call.overrides)
    draw = {Form.text: views.text, Form.mermaid: views.mermaid, Form.svg: views.svg}[form]
    drawing = draw(loaded.graph)
    if output is None:
        write(drawing.rstrip("\n"))
        return
    try:
        output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"cannot write {str(output)!r}: {error.strerror}") from None
