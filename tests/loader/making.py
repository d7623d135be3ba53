"""Projects in a folder, written in a line and loaded in the next."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from folkmoot.domain.agent import KnownModel
from folkmoot.domain.budget import Price
from folkmoot.errors import DeclarationError, Problem
from folkmoot.loader.load import Loaded, load

KNOWN = {"openai/gpt-5-mini": KnownModel(context_window=400_000, price=Price(input=0.25, output=2.0))}
SETTINGS = "models: {default: openai/gpt-5-mini}\n"

Files = Mapping[str, str | bytes]


def write(folder: Path, files: Files) -> Path:
    """Frontmatter alone gets its two lines and a prompt; without `folkmoot.yaml`, there is one with a model."""
    for name, content in {"folkmoot.yaml": SETTINGS, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif name.endswith(".ai") and not content.startswith(("---", "#!")):
            path.write_text(f"---\n{content}\n---\nYou are {name}.\n")
        else:
            path.write_text(content)
    return folder


def loaded(folder: Path, files: Files, **more: Any) -> Loaded:
    return load(write(folder, files), **{"known": KNOWN, **more})


def problems(folder: Path, files: Files, **more: Any) -> list[Problem]:
    """All that is wrong with it; fails if nothing is."""
    with pytest.raises(DeclarationError) as raised:
        loaded(folder, files, **more)
    return list(raised.value.problems)


def errors(folder: Path, files: Files, **more: Any) -> list[str]:
    return [str(problem) for problem in problems(folder, files, **more) if problem.severity == "error"]


def error(folder: Path, files: Files, **more: Any) -> str:
    """The one thing that is wrong."""
    [only] = errors(folder, files, **more)
    return only


def warnings(folder: Path, files: Files, **more: Any) -> list[str]:
    return [str(problem) for problem in loaded(folder, files, **more).warnings]
