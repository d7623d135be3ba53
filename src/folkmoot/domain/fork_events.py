"""What can happen to a run as a whole: it begins as another one's fork, or goes on with other files."""

from __future__ import annotations

from folkmoot.domain.event import Event

ADOPTIONS = "adoptions"
"""The stream of `RunAdopted`."""


class RunForked(Event):
    """Everything before this was taken over from another run; from here on this run goes its own way."""

    type = "run.forked"
    source: str
    """The run it was taken from."""
    at: int
    """The last entry of that run which was taken over, by its `runSeq`."""
    changes: tuple[str, ...] = ()
    """What is different, in words."""
    traceparent: str = ""
    """What that run belonged to; this one is a trace of its own."""


class RunRepinned(Event):
    """Somebody wanted the run to go on with the files as they are now."""

    type = "run.repinned"
    graph: str
    """The artifact that holds the resolved project from here on."""
    tools: str = ""
    """The artifact that holds what its tools are."""
    changed: tuple[str, ...] = ()
    """The agent files that are not as they were."""


class RunAdopted(Event):
    """A person lets a run continue here that another installation started. It stands in a stream of its own."""

    type = "journal.adopted"
    run: str
    proof: str
    """Made with the secret of the installation that adopted it."""
