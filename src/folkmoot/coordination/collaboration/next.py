"""What comes next in a collaboration, given where it stands. Pure: after a crash the same comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from folkmoot.coordination.collaboration.executing import executing
from folkmoot.coordination.collaboration.moves import Become, Move, Wait
from folkmoot.coordination.collaboration.planning import planning
from folkmoot.coordination.collaboration.reviewing import reviewing
from folkmoot.coordination.collaboration.scene import Scene
from folkmoot.domain.work_session import WorkState

_PHASES: dict[WorkState, Callable[[Scene], Sequence[Move]]] = {
    "Initialized": lambda _: [Become("Planning", "the team is complete")],
    "TeamFormed": lambda _: [Become("Planning", "the team is complete")],
    "Planning": planning,
    "Executing": executing,
    "Reviewing": reviewing,
}


def next_moves(scene: Scene) -> Sequence[Move]:
    """Several may be made at once; none: it has ended."""
    work = scene.work
    if work.ended:
        return []
    if work.paused:
        return [Wait(f"{work.id} is paused; go on with: folkmoot work resume {work.id}")]
    if work.team is None or not scene.lead:
        return [
            Wait(
                f"{work.id} has no team with a lead; form one: folkmoot work team {work.id} lead=AGENT worker=AGENT"
            )
        ]
    return _PHASES[work.state](scene)
