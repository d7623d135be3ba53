"""Reads a project from its folder, with everything that is known about models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from folkmoot.engine.workshop import as_tools
from folkmoot.tools.functions import FunctionTool
from folkmoot.tools.registry import Registry

if TYPE_CHECKING:
    from folkmoot.loader.load import Loaded


def load_project(
    folder: Path | str,
    *,
    tools: Iterable[FunctionTool | Callable[..., object]] = (),
    overrides: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    only: str | None = None,
) -> Loaded:
    """Read and check a project; nothing is opened or run. Raises `DeclarationError` with all problems.

    `only` is an agent file: then it and what it refers to are read, not the whole folder.
    """
    from folkmoot.loader.load import load  # noqa: PLC0415  # resuming a run needs no loader
    from folkmoot.models.choose import known_models  # noqa: PLC0415

    return load(
        Path(folder),
        known=known_models(),
        tools=Registry(as_tools(tools)).names,
        env=os.environ if env is None else env,
        flags=overrides or {},
        entry=only,
    )
