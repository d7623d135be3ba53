"""What is recorded of a run, and the files that it goes on with; and the fork of a run, which begins as that did, up to
a point of its journal, and then goes its own way.

What a fork took over stands in its own stream, under its own name, so that recovery needs nothing new. It has no intent
without an outcome: a request or a call that was under way at that point is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Graph, find_agent
from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import (
    RUN_ENDS,
    CancelRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunForked,
    RunPruned,
    RunRepinned,
    RunStarted,
    SessionCancelled,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ToolSettled,
)
from folkmoot.domain.message import Message, ToolCall, ToolResult, ToolSpec, Usage
from folkmoot.domain.spans import call_span, prefixes
from folkmoot.domain.team_events import TeamStarted
from folkmoot.domain.value import Value
from folkmoot.engine.activation import RunnableProject
from folkmoot.errors import Conflict, NotFound, WrongUse
from folkmoot.journal.codec import data_of, decode_event
from folkmoot.orchestration.history import RunHistory
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.ports import Journal, Query, Site, Tools, Version


async def last_entry(journal: Journal, stream: str = "", *types: str) -> Entry | None:
    """Of a stream, or of the whole journal."""
    async for entry in journal.read(Query(stream=stream, types=types, newest_first=True, limit=1)):
        return entry
    return None


async def last_position(journal: Journal) -> int:
    """Where the journal ends now."""
    newest = [stored.seq async for stored in journal.stored(Query(newest_first=True, limit=1))]
    return newest[0] if newest else 0


async def append_last(journal: Journal, stream: str, draft: Draft) -> None:
    """At the end of a stream that others write to as well."""
    while True:
        last = await last_entry(journal, stream)
        with suppress(Conflict):
            await journal.append(stream, Version(last.run_seq if last else 0), [draft])
            return


async def read_history(journal: Journal, run_id: str) -> RunHistory:
    """What is recorded of a run. Raises `WrongUse` if there is no such run."""
    history = RunHistory([entry.draft async for entry in journal.read(Query(stream=run_id))])
    if not history:
        raise NotFound(
            f"there is no run {run_id!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return history


async def read_whole_history(journal: Journal, run_id: str) -> RunHistory:
    """From its beginning. Raises `WrongUse` also if only its tombstone is left."""
    history = await read_history(journal, run_id)
    if isinstance(history.last, RunPruned):
        raise WrongUse(f"run {run_id!r} was pruned: what happened in it is gone")
    return history


async def read_pinned_graph(journal: Journal, run_id: str) -> Graph:
    """The project as a run is pinned to it. Raises `WrongUse` if there is no such run."""
    types = (RunStarted.type, RunRepinned.type)
    pinned = RunHistory([entry.draft async for entry in journal.read(Query(stream=run_id, types=types))])
    pin = (pinned or await read_whole_history(journal, run_id)).pins[-1]
    return msgspec.json.decode(await journal.artifact(pin.graph), type=Graph)


def check_fit(past: Iterable[Draft], new: Graph) -> None:
    """Raises `WrongUse` with everything that has begun and does not fit these files."""
    if unfit := list(_find_misfits(RunHistory(past), new)):
        listed = "".join(f"\n  - {each}" for each in dict.fromkeys(unfit))
        remedy = "resume it without --with-current-files, or start it anew"
        raise WrongUse(f"this run cannot go on with the present files:{listed}\n{remedy}")


def repin(log: RunLog, old: RunnableProject, new: RunnableProject) -> RunnableProject:
    """Let a run go on with other files, and say so in its journal."""
    ours, theirs = old.graph.agents, new.graph.agents
    different = (file for file in {**ours, **theirs} if ours.get(file) != theirs.get(file))
    event = RunRepinned(new.graph_id, new.tools_id, tuple(sorted(different)))
    log.note(Place.of(log.drafts[0]), event)
    return new


def _find_misfits(past: RunHistory, new: Graph) -> Iterator[str]:
    """What began and has no place in the new files."""
    ids = {agent.id: agent for agent in new.agents.values()}
    files = [past.started.agent]
    files += [draft.event.agent for draft in past if isinstance(draft.event, SessionStarted)]
    for file in dict.fromkeys(files):
        own = file.partition("#")[0]  # an agent made at run time is named after the one that made it
        if own and own not in new.agents:
            yield f"{file} has begun, and there is no such agent any more"
    for draft in past:
        agent = ids.get(draft.agent_id)
        match draft.event:
            case RouterSelected(agent=chosen) if agent:
                targets = [new.agents[file].id for file in agent.destinations]
                if chosen not in targets:
                    yield f"{agent.file} has routed to {chosen}, which is no destination of it any more"
            case TeamStarted(members=members) if agent:
                seats = agent.team.members if agent.team else ()
                if tuple(new.agents[file].id for file in seats) != members:
                    yield f"the team of {agent.file} has begun, and has other members now"
            case _:
                pass


_Act = tuple[str, int, int]
"""Span, turn, and the position of a call or the number of an attempt."""


class Fork(Value):
    """Where a run is left, and what is different from there on."""

    at: int
    """The last entry that is taken over, by its `runSeq`."""
    prompts: Mapping[str, str] = {}
    """Other prompts, by the agent's file or id."""
    models: Mapping[str, str] = {}
    """Another model, as `provider/model` or an alias, by the agent's file or id."""
    answer: Message | str = ""
    """What the model says in place of the answer at this entry, or to the request at this entry."""
    request: str = ""
    """Another request; only before anybody was asked."""


def build_fork_past(drafts: RunHistory, fork: Fork, run_id: str) -> list[Draft]:
    """The past of a fork, under its new name. Raises `WrongUse` for a point where no run can begin."""
    past = list(drafts[: fork.at])
    _check_fork_point(drafts, fork)
    if fork.answer:
        past = [*_replace_answer(past, fork.answer)]
    if fork.request:
        past = [replace(past[0], event=replace(drafts.started, request=fork.request))]
    outcomes = _Outcomes(past)
    marks = (RunForked, RunRepinned)
    kept = [draft for draft in past if not isinstance(draft.event, marks) and outcomes.concern(draft)]
    return [_rename_run(draft, drafts[0].session_id, run_id) for draft in kept]


def build_fork_entries(
    past: RunHistory, fork: Fork, project: RunnableProject, now: str, run_id: str
) -> list[Draft]:
    """The first entries of a fork: what was taken over, pinned to its own files, and where it was taken from."""
    over = RunHistory(build_fork_past(past, fork, run_id))
    started = over.started
    own = replace(started.errand, ticket="", traceparent="", tracestate="")
    pinned = replace(started, graph=project.graph_id, tools=project.tools_id, errand=own)
    forked = RunForked(past[0].session_id, fork.at, describe_fork_changes(fork), started.errand.traceparent)
    return [replace(over[0], event=pinned), *over[1:], replace(over[0], ts=now, event=forked)]


async def build_forked_graph(journal: Journal, past: RunHistory, fork: Fork) -> Graph:
    """The project as a run was pinned to it at that point, with the prompts and models that a fork wants."""
    from folkmoot.loader.options import choice_named  # noqa: PLC0415  # resuming a run needs no loader
    from folkmoot.models.choose import known_models  # noqa: PLC0415

    pin = RunHistory(past[: max(fork.at, 1)]).pins[-1]
    graph = msgspec.json.decode(await journal.artifact(pin.graph), type=Graph)
    changes = dict(graph.agents)
    for name, prompt in fork.prompts.items():
        file = find_agent(graph, name).file
        changes[file] = replace(changes[file], prompt=prompt)
    known = known_models() if fork.models else {}
    for name, model in fork.models.items():
        file = find_agent(graph, name).file
        choice = choice_named(model, graph.settings, known, f"the model for {name}")
        changes[file] = replace(changes[file], models=(choice,))
    return replace(graph, agents=changes)


def describe_fork_changes(fork: Fork) -> tuple[str, ...]:
    """What is different, for the record."""
    return (
        *(f"{name} has another prompt" for name in fork.prompts),
        *(f"{name} asks {model}" for name, model in fork.models.items()),
        *(["the model's answer is another"] if fork.answer else []),
        *(["the request is another"] if fork.request else []),
    )


def require_approvals(project: RunnableProject) -> RunnableProject:
    """The same project, in which every call that does something asks first: it was made once already, maybe."""
    tools = ApprovalRequiredTools(project.tools)
    return replace(project, tools=tools, kits=ToolsetFactory(project.graph, tools))


class ApprovalRequiredTools:
    """Tools whose calls wait for a person's word, unless a repetition does no harm."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._specs: dict[str, ToolSpec] = {}

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(map(self._asking, self._tools.specs(names)))

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        return await self._tools.call(call, site)

    def _asking(self, spec: ToolSpec) -> ToolSpec:
        if spec.effect == "pure":
            return spec
        return self._specs.setdefault(spec.name, replace(spec, asks="fork"))


def _check_fork_point(drafts: Sequence[Draft], fork: Fork) -> None:
    if not 1 <= fork.at <= len(drafts):
        raise WrongUse(f"the run has entries 1 to {len(drafts)}; there is no entry {fork.at} to fork at")
    for place, draft in enumerate(drafts[: fork.at], start=1):
        if isinstance(draft.event, (*RUN_ENDS, CancelRequested, SessionCancelled)):
            before = f"fork it at {place - 1} or before"
            raise WrongUse(f"entry {place} is {draft.event.type}: after it nothing goes on; {before}")
    at = drafts[fork.at - 1].event
    if fork.answer and not isinstance(at, LlmRequest | LlmResponse):
        near = _describe_nearest_answer(drafts, fork.at)
        raise WrongUse(f"entry {fork.at} is {at.type}, no answer of a model; {near}")
    if fork.request and fork.at != 1:
        raise WrongUse("the request has been read by entry 2; give another one with --at 1")


def _describe_nearest_answer(drafts: Sequence[Draft], at: int) -> str:
    places = [n for n, draft in enumerate(drafts, start=1) if isinstance(draft.event, LlmResponse)]
    if not places:
        return "this run has none"
    return f"the nearest is {min(places, key=lambda place: abs(place - at))}"


def _replace_answer(past: list[Draft], answer: Message | str) -> Iterator[Draft]:
    """The last entry becomes the answer, or gets one."""
    last = past.pop()
    yield from past
    at = last.event
    assert isinstance(at, LlmRequest | LlmResponse)
    if isinstance(at, LlmRequest):
        yield last
    message = Message(role="assistant", text=answer) if isinstance(answer, str) else answer
    given = LlmResponse(at.turn, at.attempt, at.model, message, Usage(), stop="fork")
    yield replace(last, event=given)


class _Outcomes:
    """Which requests and calls of a past have come to something."""

    def __init__(self, past: Sequence[Draft]) -> None:
        self._answered: set[_Act] = set()
        self._returned: set[_Act] = set()
        self._asked: dict[str, _Act] = {}
        self._began = {above for draft in past for above in prefixes(draft.span)}
        """Calls of agents are gone on with: their own past is there too."""
        for draft in past:
            match draft.event:
                case LlmResponse(turn=turn, attempt=attempt) | LlmFailed(turn=turn, attempt=attempt):
                    self._answered.add((draft.span, turn, attempt))
                case ToolFinished(turn=turn, call=call) | ToolFailed(turn=turn, call=call):
                    self._returned.add((draft.span, turn, call))
                case ApprovalRequested(id=id, turn=turn, call=call):
                    self._asked[id] = (draft.span, turn, call)

    def concern(self, draft: Draft) -> bool:
        """Whether an entry stays: it is no part of a request or a call without an outcome."""
        match draft.event:
            case LlmRequest(turn=turn, attempt=attempt):
                return (draft.span, turn, attempt) in self._answered
            case ToolStarted() | ApprovalRequested() | ToolInDoubt() | ToolSettled() as event:
                return self._is_settled((draft.span, event.turn, event.call))
            case ApprovalApproved() | ApprovalDenied() | ApprovalExpired() | ApprovalRevoked() as event:
                return self._is_settled(self._asked[event.id])
            case _:
                return True

    def _is_settled(self, call: _Act) -> bool:
        return call in self._returned or call_span(*call) in self._began


def _rename_run(draft: Draft, old: str, new: str) -> Draft:
    """A run's name stands in the names of its sessions and keys, and in what its agents read about them."""
    event = draft.event
    data = data_of(draft).replace(old.encode(), new.encode())
    return replace(
        draft,
        event=decode_event(event.type, event.version, data),
        session_id=draft.session_id.replace(old, new, 1),
    )
