"""The bare loop and the fake server, as the bench uses them: two processes and a real connection."""

import pytest

from bench import bare, scenes
from bench.process import model_server, traffic
from bench.server import REPORT_TEXT


@pytest.fixture(scope="module")
def port():
    with model_server() as port:
        yield port


@pytest.mark.parametrize(
    ("scene", "requests"), [("S1", 2), ("S2", 9), ("S3", 3), ("S4", 2), ("S5", 400), ("S6", 201), ("S8", 10)]
)
async def test_every_scene_ends_with_the_report_after_the_requests_it_is_known_for(port, scene, requests):
    before = traffic(port)
    async with bare.Bare(port) as loop:
        answer = await bare.RUNS[scene](loop)

    assert answer == REPORT_TEXT
    assert traffic(port).requests - before.requests == requests


async def test_a_long_talk_calls_its_tool_once_per_turn(port):
    scenes.moments.clear()
    async with bare.Bare(port) as loop:
        await bare.long_talk(loop)

    assert len(scenes.moments) == scenes.LONG_TURNS
