"""What must be installed before a provider can be asked through pydantic-ai, and the command that does it."""

from __future__ import annotations

import re
from importlib.util import find_spec

from folkmoot.domain.settings import Provider

_LIBRARIES = {
    "google": "google.genai",
    "google-cloud": "google.genai",
    "mistral": "mistralai",
    "cohere": "cohere",
    "bedrock": "boto3",
}
_EXTRA = re.compile(r"pydantic-ai-slim\[(\w+)\]")


def missing_library(provider: Provider) -> str:
    """What installs it, as far as that can be told without importing it; empty if nothing is missing."""
    vendor = provider.provider or ""
    wanted = ("pydantic_ai", _LIBRARIES.get(vendor, "pydantic_ai"))
    if provider.kind != "pydantic-ai" or all(map(_is_there, wanted)):
        return ""
    return installing(vendor.removesuffix("-cloud"))


def installing(vendor: str, error: ImportError | None = None) -> str:
    """The command; pydantic-ai names in its error the extra that a library belongs to."""
    named = _EXTRA.search(str(error))
    return f"pip install 'folkmoot[providers]' 'pydantic-ai-slim[{named[1] if named else vendor}]'"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # of the package that it is in
        return False
