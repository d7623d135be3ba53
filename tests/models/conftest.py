"""A fake provider, and the adapters that speak to it."""

import pytest

from tests.models.provider import FakeProvider, adapter, fake_models


@pytest.fixture
async def provider():
    async with FakeProvider() as server:
        yield server


@pytest.fixture
async def openai(provider):
    models = fake_models(provider.port)
    yield adapter(models)
    await models.aclose()


@pytest.fixture
async def anthropic(provider):
    models = fake_models(provider.port, "anthropic")
    yield adapter(models)
    await models.aclose()


@pytest.fixture(params=["openai", "anthropic"])
def either(request):
    """Both adapters, one after the other: what goes wrong on the way concerns them alike."""
    return request.getfixturevalue(request.param)
