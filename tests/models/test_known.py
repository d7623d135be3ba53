"""Prices and windows that need not be written down."""

import pytest

from folkmoot.domain.agent import KnownModel
from folkmoot.domain.budget import Price
from folkmoot.models.choose import known_models


@pytest.mark.parametrize(
    ("ref", "known"),
    [
        ("openai/gpt-4o", KnownModel(128_000, Price(2.5, 10.0, 1.25))),
        ("openai/gpt-4o-2024-11-20", KnownModel(128_000, Price(2.5, 10.0, 1.25))),
        ("openai/gpt-5-mini", KnownModel(400_000, Price(0.25, 2.0, 0.025))),
        ("anthropic/claude-haiku-4-5", KnownModel(200_000, Price(1.0, 5.0, 0.1, 1.25))),
        ("anthropic/claude-haiku-4-5-20251001", KnownModel(200_000, Price(1.0, 5.0, 0.1, 1.25))),
        ("anthropic/claude-haiku-4-5-latest", KnownModel(200_000, Price(1.0, 5.0, 0.1, 1.25))),
        ("openrouter/openai/gpt-4o", KnownModel(128_000, Price(2.5, 10.0, 1.25))),
        ("google/gemini-2.5-flash", KnownModel(1_048_576, Price(0.3, 2.5, 0.03))),
        ("mistral/mistral-large-2512", KnownModel(262_144, Price(0.5, 1.5, 0.05))),
        (
            "bedrock/global.anthropic.claude-haiku-4-5-20251001-v1:0",
            KnownModel(200_000, Price(1.0, 5.0, 0.1, 1.25)),
        ),
    ],
)
def test_well_known_models_have_their_price_and_window(ref, known):
    """O-35: known models have both built in."""
    assert known_models()[ref] == known


def test_a_window_ends_where_its_price_rises():
    """A longer request would cost more than the one price says."""
    known = known_models()["anthropic/claude-haiku-5-5"]

    assert (known.context_window, known.price.input) == (100_000, 0.1)


@pytest.mark.parametrize("ref", ["openai/unknown", "gpt-4o", "", "openai/text-embedding-3-small"])
def test_what_is_not_known_is_not_guessed(ref):
    assert known_models().get(ref) is None


def test_everything_that_is_known_makes_sense():
    known = known_models()

    assert len(known) == len(list(known)) > 400
    assert all(one.context_window > 1000 and one.price.output >= 0 for one in known.values())


def test_it_is_read_once():
    assert known_models() is known_models()
