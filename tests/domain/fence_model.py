"""The protocol that keeps a `once` call from being made twice, as a model: two processes, one run, one call.

Every step of the model asks the functions that the product asks (`folkmoot.domain.fence`). Each process may be stopped
between any two of its steps for any time, and the answer to each of its commits may be lost. The person always tells the
truth: says `retry` only if the call has not arrived by then, and as soon as that is allowed. Time passes in ticks.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from folkmoot.domain import fence
from folkmoot.domain.fence import Sign

TICK = 5.0
LEASE = 2 * TICK
TIMEOUT = TICK
DELAY = fence.retry_delay(LEASE, TIMEOUT)
OLD = int(DELAY / TICK) + 1
"""Ticks; whatever is older is treated alike."""
CLAIMS = 3
RENEWALS = 4


class Rules(NamedTuple):
    may_take_over: Callable[[Sign, Sign | None, float], bool] = fence.may_take_over
    may_call: Callable[[float, float, float], bool] = fence.may_call
    settle_uncertain: Callable[..., str] = fence.settle_uncertain
    retry_delay: Callable[[float, float], float] = fence.retry_delay
    window: float = DELAY
    """Seconds within which a call arrives, if it does, after the check before it."""


Stage = Literal["idle", "uncertain", "ready", "calling", "called"]


class Process(NamedTuple):
    epoch: int = 0
    """Under which it believes to own the run; 0: it does not."""
    stage: Stage = "idle"
    renewed: int = OLD
    """Ticks since it sent its last confirmed renewal."""
    renewing: tuple[int, Literal["sent", "done", "refused"]] | None = None
    """Ticks since it sent one that is not confirmed yet, and what the server did."""
    calling: int = 0
    """Ticks since the check before its call."""
    seen: tuple[Sign, int] | None = None
    """The last sign of the owner that it saw first so many ticks ago."""


class State(NamedTuple):
    sign: Sign
    """What the server holds."""
    first: Process
    second: Process
    intents: tuple[int, ...] = ()
    """The epochs of the intents in the journal."""
    doubt: int = -1
    """Ticks since the call came in doubt; -1: it is not."""
    retries: int = 0
    arrived: int = 0
    over: bool = False
    """The result is recorded."""


BEGIN = State(Sign("first", 1, 0, LEASE), Process(epoch=1, renewed=0), Process())
NAMES = ("first", "second")


class Found(NamedTuple):
    states: int
    fault: str = ""
    way: tuple[str, ...] = ()
    """The steps that lead to it."""


class _Faulty(Exception):
    pass


def explore(rules: Rules = Rules()) -> Found:
    """All states that can be reached, breadth first; ends at the first fault, which is reached in the fewest steps."""
    before: dict[State, tuple[State, str] | None] = {BEGIN: None}
    waiting = deque([BEGIN])
    while waiting:
        state = waiting.popleft()
        try:
            for step, after in _steps(state, rules):
                if after not in before:
                    before[after] = state, step
                    _check(after)
                    waiting.append(after)
        except _Faulty as fault:
            return Found(len(before), str(fault), (*_way(before, state),))
    return Found(len(before))


def _way(before: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    way = []
    while came := before[state]:
        state, step = came
        way.append(step)
    return way[::-1]


def _check(state: State) -> None:
    if state.arrived > 1:
        raise _Faulty("the call arrived twice")
    allowed = [
        process
        for process in (state.first, state.second)
        if process.epoch and fence.may_call(process.renewed * TICK, process.renewed * TICK, LEASE)
    ]
    if len(allowed) > 1:
        raise _Faulty("two processes may call at once")
    for process in (state.first, state.second):
        if process.stage == "calling" and process.epoch not in state.intents:
            raise _Faulty("a call is made whose intent is not durable")


def _steps(state: State, rules: Rules) -> Iterator[tuple[str, State]]:
    if state.over:
        return
    yield "a tick", _tick(state, rules)
    waited = rules.retry_delay(LEASE, TIMEOUT)
    if state.doubt * TICK >= waited and state.doubt >= 0 and not state.arrived:
        yield "a person says retry", state._replace(doubt=-1, retries=state.retries + 1)
    for name in NAMES:
        for step, after in _acts(state, name, rules):
            yield f"{name} {step}", after


def _tick(state: State, rules: Rules) -> State:
    def older(process: Process) -> Process:
        if process.stage == "calling" and (process.calling + 1) * TICK > rules.window:
            process = process._replace(stage="called")  # too late: it never arrives
        return process._replace(
            renewed=min(process.renewed + 1, OLD),
            calling=process.calling + 1 if process.stage == "calling" else 0,
            renewing=process.renewing and (min(process.renewing[0] + 1, OLD), process.renewing[1]),
            seen=process.seen and (process.seen[0], min(process.seen[1] + 1, OLD)),
        )

    doubt = min(state.doubt + 1, OLD) if state.doubt >= 0 else -1
    return state._replace(first=older(state.first), second=older(state.second), doubt=doubt)


def _acts(state: State, name: str, rules: Rules) -> Iterator[tuple[str, State]]:
    process: Process = getattr(state, name)

    def become(process: Process, **changes: object) -> State:
        return state._replace(**{name: process, **changes})

    if process.epoch:
        yield from _owns(state, process, become, rules)
        yield from _renews(state, process, become)
    else:
        yield from _watches(state, name, process, become, rules)


def _watches(state, name, process, become, rules):  # type: ignore[no-untyped-def]
    seen, watched = process.seen or (None, 0)
    if rules.may_take_over(state.sign, seen, watched * TICK) and state.sign.epoch < CLAIMS:
        epoch = state.sign.epoch + 1
        sign = Sign(name, epoch, state.sign.renewal + 1, LEASE)
        yield "takes over", become(Process(epoch=epoch), sign=sign)
    if seen != state.sign:
        yield "looks", become(process._replace(seen=(state.sign, 0)))


def _renews(state, process, become):  # type: ignore[no-untyped-def]
    match process.renewing:
        case None if state.sign.renewal < RENEWALS:
            yield "sends a renewal", become(process._replace(renewing=(0, "sent")))
        case (since, "sent"):
            yield "loses its renewal", become(process._replace(renewing=None))
            if state.sign.epoch == process.epoch:
                sign = Sign(state.sign.owner, state.sign.epoch, state.sign.renewal + 1, LEASE)
                yield "is renewed", become(process._replace(renewing=(since, "done")), sign=sign)
            else:
                yield "is refused", become(process._replace(renewing=(since, "refused")))
        case (since, "done"):
            yield "hears that it is renewed", become(process._replace(renewing=None, renewed=since))
            yield "does not hear that it is renewed", become(process._replace(renewing=None))
        case (_, "refused"):
            yield "hears that it has lost the run", become(Process())


def _owns(state, process, become, rules):  # type: ignore[no-untyped-def]
    epoch, current = process.epoch, state.sign.epoch
    in_doubt = len(state.intents) > state.retries
    match process.stage:
        case "idle" if in_doubt and state.doubt < 0 and epoch not in state.intents:
            if epoch == current:
                yield "puts the call before a person", become(process, doubt=0)
            else:
                yield "is told that its entry is void", become(Process())
        case "idle" if not in_doubt:
            yield from _commits(state, process, become)
        case "uncertain":
            yield from _looks_up(state, process, become, rules)
        case "ready":
            passed = process.renewed * TICK
            if rules.may_call(passed, passed, LEASE):
                yield "sends the call", become(process._replace(stage="calling", calling=0))
        case "calling":
            called = process._replace(stage="called", calling=0)
            yield "reaches the receiver", become(called, arrived=state.arrived + 1)
        case "called" if epoch == current and state.arrived:
            yield "records the result", become(process, over=True)


def _looks_up(state, process, become, rules):  # type: ignore[no-untyped-def]
    """Whether its commit has happened."""
    epoch, current = process.epoch, state.sign.epoch
    match rules.settle_uncertain(found=epoch in state.intents, epoch=epoch, now=current):
        case "written":
            if epoch != current:
                raise _Faulty("a process acts on an entry of a run that it has lost")
            yield "learns that its intent is durable", become(process._replace(stage="ready"))
        case "lost":
            yield "learns that it has lost the run", become(Process())
        case "again":
            yield from _commits(state, process, become)


def _commits(state, process, become):  # type: ignore[no-untyped-def]
    """The intent of its call: with an answer, without one, or not at all; refused if it has lost the run."""
    yield "hears nothing of its commit, which was lost", become(process._replace(stage="uncertain"))
    if process.epoch != state.sign.epoch:
        yield "is told that its intent is void", become(Process())
        return
    intents = (*state.intents, process.epoch)
    yield "commits its intent", become(process._replace(stage="ready"), intents=intents)
    yield "hears nothing of its commit", become(process._replace(stage="uncertain"), intents=intents)
