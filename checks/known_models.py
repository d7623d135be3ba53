"""Makes `src/folkmoot/models/known.json` from the package `genai-prices`, which only this script needs.

    uv run --with genai-prices python -m checks.known_models

A model without a context window worth the name or without a price per token is left out. A price that rises with
the length of a request is taken at its base, and the context window is cut where it rises: so the bill is right
without tiers. Whoever wants the whole window says so in `folkmoot.yaml`, with the price that then holds.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from checks.files import ROOT

PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openrouter": "openrouter",
    "google": "google",
    "mistral": "mistral",
    "groq": "groq",
    "cohere": "cohere",
    "bedrock": "aws",
}
"""Our name of each, and that of the package."""
TARGET = ROOT / "src" / "folkmoot" / "models" / "known.json"
LEAST_WINDOW = 1000
FOREIGN = re.compile(r"google/claude.*")
"""What the package lists with a provider, and the address that we ask does not have."""
_NAME = re.compile(r"[~\w.:/-]+")


def main() -> int:
    providers = import_module("genai_prices.data").providers
    today = datetime.now(UTC)  # noqa: TID251  # because prices change on a day, and no run is replayed here
    theirs = {provider.id: provider for provider in providers}
    rows = {name: list(rows_of(name, theirs[id], today)) for name, id in PROVIDERS.items()}
    written = ",\n".join(f"{json.dumps(name)}: [\n{lines(rows[name])}\n]" for name in PROVIDERS)
    TARGET.write_text(f"{{\n{written}\n}}\n")
    print(f"{sum(map(len, rows.values()))} models, {TARGET.stat().st_size:,} bytes")
    return 0


def lines(rows: list[list[Any]]) -> str:
    """One model a line, so that a new price is one changed line."""
    return ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)


def rows_of(name: str, provider: Any, today: datetime) -> Iterator[list[Any]]:
    for model in provider.models:
        prices = model.get_prices(today)
        window, cost = model.context_window, [price_of(prices, kind) for kind in KINDS]
        if window and window > LEAST_WINDOW and cost[0] is not None and cost[1] is not None:
            window = min(window, *(start_of_tier(prices, kind, window) for kind in KINDS))
            while cost[-1] is None:
                cost.pop()
            names = sorted(f"{name}/{each}" for each in names_of(model))
            if not all(map(FOREIGN.fullmatch, names)):
                yield [names, window, *cost]


KINDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


def price_of(prices: Any, kind: str) -> float | None:
    price = getattr(prices, kind)
    return None if price is None else float(getattr(price, "base", price))


def start_of_tier(prices: Any, kind: str, window: int) -> int:
    tiers = getattr(getattr(prices, kind), "tiers", ())
    return min((int(tier.start) for tier in tiers), default=window)


def names_of(model: Any) -> set[str]:
    """Its id, and every name or beginning of a name under which the package finds it."""
    clauses = getattr(model.match, "or_", [model.match])
    names = {model.id, *(getattr(clause, "equals", None) or "" for clause in clauses)}
    names |= {(getattr(clause, "starts_with", None) or "").rstrip("-@.") for clause in clauses}
    return {name for name in names if _NAME.fullmatch(name)}


if __name__ == "__main__":
    sys.exit(main())
