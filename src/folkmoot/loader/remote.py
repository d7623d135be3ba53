"""Agents that another program runs: what may stand beside `remote`, and the provider that is the way to each."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, ModelChoice, Tuning
from folkmoot.domain.budget import FREE
from folkmoot.domain.providers import REMOTE
from folkmoot.domain.settings import Provider
from folkmoot.loader.draft import CALLED, Draft
from folkmoot.loader.findings import Findings
from folkmoot.loader.nodes import keys
from folkmoot.loader.sources import fault_of_key, fault_of_url

CONTEXT = 1_000_000
"""Tokens; how much the other program takes is its own business."""
_FITTING = frozenset(
    "remote description usage toolName input output role capabilities advisors handoff budget"
    " llmTimeout maxRetries maxOutputTokens".split()
)
_SEATED = ("member", "lead")


def check_remote(draft: Draft, drafts: Mapping[str, Draft], findings: Findings) -> None:
    for link in draft.links:
        if link.pattern in _SEATED and link.to in drafts and drafts[link.to].declared.remote:
            message = f"{link.to!r} is a remote agent, which hears no broadcasts; it cannot be a {CALLED[link.pattern]}"
            findings.error(link.place, f"{message}: have it as an advisor, a destination or an agent")
    remote = draft.declared.remote
    if remote is None:
        return
    if fault := fault_of_url(remote.url, ("http", "https")):
        findings.error(draft.at("remote", "url"), f"`url` {fault}")
    if fault := fault_of_key(remote.api_key_env):
        findings.error(draft.at("remote", "apiKeyEnv"), f"`apiKeyEnv` {fault}")
    for key in keys(draft.root, ()):
        if key not in _FITTING:
            message = f"`{key}` has no effect on a remote agent: another program runs it; take it out"
            findings.error(draft.at(key), message)
    if draft.declared.output.claims:
        message = (
            "a remote agent cannot cite what its tools returned: they are not of this run; take `claims` out"
        )
        findings.error(draft.at("output", "claims"), message)


def way_to(file: str) -> ModelChoice:
    """Its one model. What it costs, whoever runs it pays."""
    return ModelChoice(provider=f"{REMOTE}{file}", model="a2a", context_window=CONTEXT, price=FREE)


def ways(providers: Mapping[str, Provider], agents: Mapping[str, Agent]) -> dict[str, Provider]:
    """The providers of a project, with one for each remote agent: so trust, keys and secrets hold for it too."""
    remote = {
        f"{REMOTE}{file}": Provider("a2a", base_url=agent.remote.url, api_key_env=agent.remote.api_key_env)
        for file, agent in agents.items()
        if agent.remote
    }
    return {**providers, **remote}


def in_one_turn(tuning: Tuning) -> Tuning:
    """It is sent one message, and what comes back is its report: there is no exit that it could miss."""
    return replace(tuning, max_turns=1)
