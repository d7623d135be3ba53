"""Which images a model is shown: those that a user attached, and those that tools gave where its provider sees them."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.message import Message
from folkmoot.domain.providers import BUILT_IN, address_of, vendor_of
from folkmoot.domain.settings import Provider
from folkmoot.errors import ModelFailed

_SEEING = ("openai", "anthropic", "google")


def sight_of(provider: Provider) -> bool | None:
    """What it says itself; absent, a provider's own host sees, and of any other nobody knows."""
    if provider.images is not None:
        return provider.images
    own = BUILT_IN[vendor_of(provider)] if vendor_of(provider) in _SEEING else None
    return True if own and address_of(provider) == address_of(own) else None


def visible(messages: tuple[Message, ...], sees: bool | None, provider: str) -> tuple[Message, ...]:
    """The same messages, without what tools gave unless the provider surely sees it: the text says where it is kept.

    Raises `ModelFailed` for what a user attached in vain.
    """
    carrying = [message for message in messages if message.parts]
    if sees or not carrying:
        return messages
    attached = (part for message in carrying if message.role == "user" for part in message.parts)
    if sees is False and any(part.is_image for part in attached):
        raise ModelFailed(f"{provider} takes no images: folkmoot.yaml says so", retryable=False)
    return tuple(
        replace(message, parts=()) if message.role == "tool" and message.parts else message
        for message in messages
    )
