"""Which models an agent may use, with what must be known before one is asked: its window and its price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from folkmoot.domain.agent import KnownModel, ModelChoice
from folkmoot.domain.budget import FREE, Price
from folkmoot.domain.providers import BUILT_IN, address_of, vendor_of
from folkmoot.domain.settings import Free, ModelAlias, Provider, Settings
from folkmoot.loader.agent_file import AgentDraft
from folkmoot.loader.document import keys, place_of
from folkmoot.loader.findings import Findings, Location, near, short
from folkmoot.loader.options import FoundSetting, ProjectSettings

SCRIPTED = KnownModel(context_window=128_000, price=FREE)
"""What holds for a scripted model, unless its declaration says otherwise."""


class Shelf(NamedTuple):
    """Everything that is known about models."""

    providers: Mapping[str, Provider | None]
    known: Mapping[str, KnownModel]
    aliases: Mapping[str, ModelChoice | None]
    """None, here and above: declared, but wrong; that was reported and is not repeated."""


def shelf(project: ProjectSettings, known: Mapping[str, KnownModel], findings: Findings) -> Shelf:
    """Every alias is judged, also one that no agent uses yet."""
    wrong = dict.fromkeys(keys(project.node, ("providers",)))
    plain = Shelf(BUILT_IN | wrong | project.settings.providers, known, {})
    aliases: dict[str, ModelChoice | None] = dict.fromkeys(keys(project.node, ("models",)))
    for name, alias in project.settings.models.items():
        aliases[name] = _choice(alias, project.at("models", name), plain, findings)
    return plain._replace(aliases=aliases)


def choices(
    found: FoundSetting, draft: AgentDraft, shelf: Shelf, findings: Findings
) -> tuple[ModelChoice, ...]:
    """What an agent's `models` stand for, in order; what is wrong with one is reported where it is named."""
    if not found.value:
        findings.error(
            draft.root.place,
            "the agent names no model; add `models: [provider/model]` here, or a default for all agents to "
            "folkmoot.yaml: `models: {default: provider/model}`",
            "model_missing",
        )
    chosen: dict[ModelChoice, None] = {}
    for number, name in enumerate(found.value):
        place = place_of(found.node, (number,)) if found.node else draft.root.place
        choice = (
            shelf.aliases[name]
            if name in shelf.aliases
            else _choice(ModelAlias(name), place, shelf, findings)
        )
        if choice:
            chosen[choice] = None
    return tuple(chosen)


def choice_named(name: str, settings: Settings, known: Mapping[str, KnownModel], asked: str) -> ModelChoice:
    """What a name stands for in a project. Raises `DeclarationError`; `asked` says where it was named."""
    findings = Findings()
    shelf = Shelf(BUILT_IN | settings.providers, known, dict.fromkeys(settings.models))
    choice = _choice(settings.models.get(name) or ModelAlias(name), Location(asked), shelf, findings)
    findings.settle()
    assert choice is not None, "what is wrong was found"
    return choice


def _choice(alias: ModelAlias, place: Location, shelf: Shelf, findings: Findings) -> ModelChoice | None:
    name, slash, model = alias.ref.partition("/")
    if not (slash and name and model):
        hint = (
            near(alias.ref, shelf.aliases)
            or "; write provider/model, or declare it under `models` in folkmoot.yaml"
        )
        message = f"{short(alias.ref)} is neither an alias nor of the form provider/model{hint}"
        findings.error(place, message, "bad_model_name")
    elif name not in shelf.providers:
        hint = near(name, shelf.providers) or f"; there are {', '.join(sorted(shelf.providers))}"
        remedy = f"declare it in folkmoot.yaml: `providers: {{{name}: {{kind: …}}}}`"
        message = f"there is no provider {short(name)} (in {short(alias.ref)}){hint}; or {remedy}"
        findings.error(place, message, "provider_not_found")
    elif provider := shelf.providers[name]:
        known = _known(provider, name, model, shelf)
        windows = alias.context_window, provider.context_window, known.context_window if known else None
        window = next(filter(None, windows), None)
        price = _first(alias.price, provider.price, known.price if known else None)
        if window is not None and price is not None:
            return ModelChoice(provider=name, model=model, context_window=window, price=price)
        _report_unknown(alias.ref, window, price, place, findings)
    return None


def _known(provider: Provider, name: str, model: str, shelf: Shelf) -> KnownModel | None:
    """A provider of another name at the vendor's own address has the vendor's models."""
    if provider.kind == "scripted":
        return SCRIPTED
    vendor = vendor_of(provider)
    own = BUILT_IN.get(vendor)
    at_home = provider.base_url is None or (own and address_of(provider) == address_of(own))
    return shelf.known.get(f"{name}/{model}") or (shelf.known.get(f"{vendor}/{model}") if at_home else None)


def _first(*prices: Free | Price | None) -> Price | None:
    price = next((price for price in prices if price is not None), None)
    return FREE if price == "free" else price


def _report_unknown(
    ref: str, window: int | None, price: Price | None, place: Location, findings: Findings
) -> None:
    missing = {"context window": window, "price": price}
    lines = ["contextWindow: 32000"] * (window is None) + ["price: {input: 0.25, output: 2.0}"] * (
        price is None
    )
    what = " and ".join(name for name, value in missing.items() if value is None)
    remedy = f"`models: {{my-alias: {{ref: {ref}, {', '.join(lines)}}}}}`"
    findings.error(
        place,
        f"nobody knows the {what} of {short(ref)}; declare an alias in folkmoot.yaml and use that: {remedy} "
        "(USD per million tokens, or `price: free`), or give them with the provider",
        "model_unknown",
    )
