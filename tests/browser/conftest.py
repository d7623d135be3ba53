"""The page as people meet it: a real server, a real Chromium, and nothing that a guarded page must not do.

Tests take `visit`, which opens a browser on the page of a project, and fail by themselves if that asks another origin,
breaks its content security policy, throws or complains in the console, opens a dialog, or gets an error it did not expect.
"""

import os
import pathlib
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from folkmoot import Folkmoot, ScriptedModel, Surroundings
from tests.browser.serving import serving
from tests.browser.visitor import CHROMIUM, chromium, visiting
from tests.desk import SETTINGS, write

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    """One loop for all of them, because the browser is started once; only a missing Chromium may skip them."""
    missing = not CHROMIUM and not os.environ.get("CI")
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        if missing:
            item.add_marker(pytest.mark.skip(reason="Chromium is not installed: apt-get install chromium"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser():
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def house(tmp_path):
    """An open project with a scripted model: `moot = await house({"a": "handoff: b.ai", …}, {"a": ["hi"], …})`."""
    async with AsyncExitStack() as stack:

        async def opened(files, script, settings=SETTINGS, **more):
            write(tmp_path, files, settings)
            models = {"scripted": ScriptedModel(script)}
            around = Surroundings(env={})
            return await stack.enter_async_context(
                Folkmoot.open(tmp_path, models=models, around=around, **more)
            )

        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser):
    """A visitor on the page of an open project: `visitor = await visit(moot, "/runs")`."""
    async with AsyncExitStack() as stack:
        visitors = []

        async def begun(moot, path="/", **look):
            home = await stack.enter_async_context(serving(moot))
            visitor = await stack.enter_async_context(visiting(browser, home, **look))
            visitors.append(visitor)
            await visitor.go(path)
            return visitor

        yield begun
    assert [scandal for visitor in visitors for scandal in visitor.scandals] == []
