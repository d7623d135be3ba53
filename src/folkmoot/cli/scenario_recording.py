"""`folkmoot test --record`: real models are asked once, and what they answer becomes the script of the scenario."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from folkmoot.cli.call import finished
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.scenarios.playing import Wishes
    from folkmoot.scenarios.scenario import Case
    from folkmoot.scenarios.suite import Suite
    from folkmoot.scenarios.verdict import Verdict


def record_all(suite: Suite, wishes: Wishes, tell: Callable[[Verdict], None], *, yes: bool) -> list[Verdict]:
    """From the last to the first, so that the places of the others stay true; each is written when it is paid for."""
    from folkmoot.cli.output import say
    from folkmoot.scenarios.recording import write_script

    for case in suite.cases:
        if case.recorded:
            raise WrongUse(
                f"{case.shown}:{case.place.line}: it answers from {case.recorded}; take `recorded` out"
            )
        _may_replace(case, yes=yes)
    verdicts = []
    for case in reversed(suite.cases):
        verdict, script = finished(suite.record(case, wishes))
        tell(verdict)
        write_script(case, script)
        say(f"wrote the answers into {case.shown}")
        verdicts.append(verdict)
    return verdicts[::-1]


def _may_replace(case: Case, *, yes: bool) -> None:
    from folkmoot.cli.output import say
    from folkmoot.cli.trust import is_attended

    if yes or case.scenario.script is None:
        return
    what = f"{case.shown}:{case.place.line}: {case.scenario.name!r} has a script already"
    if not is_attended():
        raise WrongUse(f"{what}; replace it with --record --yes")
    say(f"{what}. Replace it? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise WrongUse("nothing was recorded")
