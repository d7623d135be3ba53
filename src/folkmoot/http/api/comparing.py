"""Runs: again from the journal, without the world; and two of them side by side."""

from __future__ import annotations

from folkmoot.engine.replay import Replayed
from folkmoot.http.api.shapes import require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.views.difference import Difference


async def replay_run(asked: Asked) -> Replayed:
    """With the recorded answers, results and words; nothing is asked, called or recorded."""
    await require_run(asked, asked.id)
    return await asked.moot.replay(asked.id)


async def diff_runs(asked: Asked) -> Difference:
    other = asked.path["other"]
    for run in (asked.id, other):
        await require_run(asked, run)
    return await asked.moot.diff(asked.id, other)


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/runs/{id}/replay",
        summary="Let a run happen again from its journal, and compare",
        handle=replay_run,
        answer=Replayed,
        problems=(409,),
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/diff/{other}",
        summary="The first thing that two runs did otherwise, and what is not the same in the end",
        handle=diff_runs,
        answer=Difference,
        problems=(409,),
    ),
)
