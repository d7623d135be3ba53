"""The providers that need no entry in `folkmoot.yaml`; one of the same name there takes the place of ours."""

from __future__ import annotations

from folkmoot.domain.settings import Provider

BUILT_IN: dict[str, Provider] = {
    "openai": Provider("openai", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY"),
    "anthropic": Provider(
        "anthropic", base_url="https://api.anthropic.com/v1", api_key_env="ANTHROPIC_API_KEY"
    ),
    "openrouter": Provider(
        "openai", base_url="https://openrouter.ai/api/v1", api_key_env="OPENROUTER_API_KEY"
    ),
    "ollama": Provider("openai", base_url="http://127.0.0.1:11434/v1", price="free"),
}

REMOTE = "remote:"
"""With an agent's file behind it: the provider that is the way to a remote agent. No other may be called so."""

OWN_ADDRESS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
"""By kind: where a provider without `baseUrl` is asked."""
