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
    "groq": Provider("openai", base_url="https://api.groq.com/openai/v1", api_key_env="GROQ_API_KEY"),
    "ollama": Provider("openai", base_url="http://127.0.0.1:11434/v1", price="free"),
    "google": Provider(
        "pydantic-ai",
        provider="google",
        base_url="https://generativelanguage.googleapis.com",
        api_key_env="GEMINI_API_KEY",
    ),
    "mistral": Provider(
        "pydantic-ai", provider="mistral", base_url="https://api.mistral.ai", api_key_env="MISTRAL_API_KEY"
    ),
    "cohere": Provider("pydantic-ai", provider="cohere", api_key_env="CO_API_KEY"),
    "bedrock": Provider("pydantic-ai", provider="bedrock"),
}

LOOPBACK = ("localhost", "127.0.0.1", "::1")
REMOTE = "remote:"
"""With an agent's file behind it: the provider that is the way to a remote agent. No other may be called so."""
OWN_CREDENTIALS = frozenset({"bedrock", "google-cloud"})
"""With `kind: pydantic-ai`: whose library finds the credentials of the machine by itself where no key is named."""


def vendor_of(provider: Provider) -> str:
    """Whose language it speaks, and whose models, address and key it has where it says nothing of them."""
    return provider.provider or provider.kind


def address_of(provider: Provider) -> str:
    """Where it is asked; the vendor's name where only the vendor's own library knows."""
    own = _own(provider)
    return (provider.base_url or (own and own.base_url) or provider.provider or "").rstrip("/")


def key_variable(provider: Provider) -> str:
    """The variable that holds a provider's key; its vendor's own where neither address nor key is named."""
    if provider.api_key_env:
        return provider.api_key_env
    own = _own(provider)
    return own.api_key_env or "" if own and provider.base_url is None else ""


def _own(provider: Provider) -> Provider | None:
    """The vendor as it is built in, if it is asked in the same way."""
    own = BUILT_IN.get(vendor_of(provider))
    return own if own and own.kind == provider.kind else None
