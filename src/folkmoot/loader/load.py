"""Read a whole project: either everything in it is sound, or everything that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Frontmatter, Graph, KnownModel, ModelChoice, Sketch, Sketched
from folkmoot.domain.budget import FREE
from folkmoot.domain.naming import canonical_tool, writes
from folkmoot.domain.providers import REMOTE
from folkmoot.domain.settings import Provider, Settings, Storage
from folkmoot.domain.value import Value
from folkmoot.errors import DeclarationError, NotFound, Problem, WrongUse
from folkmoot.loader import options
from folkmoot.loader.agent_file import CALLED, SUFFIX, AgentDraft, read_draft, settled
from folkmoot.loader.document import Node, Scalar, compose, keys
from folkmoot.loader.files import MOST_FILES, SETTINGS, Misplaced, agent_files, climbs_out, inside, read_text
from folkmoot.loader.findings import Findings, Location, near, short
from folkmoot.loader.links import check_links, check_tools
from folkmoot.loader.models import Shelf, choices, shelf
from folkmoot.loader.options import ProjectSettings, Setting
from folkmoot.loader.settings import check_rules, check_sinks, check_sources
from folkmoot.loader.walk import declared, fault_of_url


class Loaded(Value):
    """A sound project."""

    graph: Graph
    warnings: tuple[Problem, ...]
    settings: tuple[Setting, ...]
    """Every value with its source: of the project, then of each agent."""


def load(
    folder: Path,
    *,
    known: Mapping[str, KnownModel],
    tools: Collection[str] = (),
    env: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    entry: str | None = None,
) -> Loaded:
    """The project in `folder`. Raises `DeclarationError` with all its problems, warnings included.

    `known` is what the package knows about models, by `provider/model`. `tools` are the names of tools that
    Python brings. `flags` go by key (`maxTurns`, `budget.usd`). With `entry`, an agent file, only that agent
    and those it needs are read: for a file that belongs to no project.
    """
    root, findings = folder.resolve(), Findings()
    project = _project(folder, env or {}, flags or {}, findings)
    own = {*tools, *keys(project.node, ("tools",))}
    drafts = read_drafts(root, entry, findings)
    for file, draft in drafts.items():
        called = tuple(canonical_tool(name, own) for name in draft.declared.tools)
        drafts[file] = draft._replace(declared=replace(draft.declared, tools=called))
    writing = any(writes(draft.declared.tools) for draft in drafts.values())
    check_links(drafts, findings, calling=writing or project.settings.orchestration.enable_agent_tool)
    models = shelf(project, known, findings)
    _check_orchestration(project, drafts if entry is None else None, models, findings)
    ids = None if entry else {draft.id for draft in drafts.values()}
    check_rules(project, None if ids is None else {*ids, *drafts}, findings)
    check_sinks(project, ids, findings)
    agents: dict[str, Agent] = {}
    for file, draft in drafts.items():
        check_tools(draft, drafts, project, tools, findings)
        _check_remote(draft, drafts, findings)
        _warn_of_unfinished(draft, findings)
        agents[file] = _agent(root, draft, project, models, findings)
    warnings = findings.settle()
    settings = list(options.report_settings(project))
    for draft in drafts.values():
        settings += options.report(project, draft)
    graph = Graph(agents, _pinned(project.settings, agents, own), fast=models.aliases.get("fast"))
    return Loaded(graph, warnings, tuple(settings))


def _pinned(settings: Settings, agents: Mapping[str, Agent], own: Collection[str]) -> Settings:
    """What a run is pinned to: tools of ours by their own names, and a provider for each remote agent, so that trust,
    keys and secrets hold for it too. Where the journal lies is no part of it, and its address may hold a password."""
    remote = {
        f"{REMOTE}{file}": Provider("a2a", base_url=agent.remote.url, api_key_env=agent.remote.api_key_env)
        for file, agent in agents.items()
        if agent.remote
    }
    listed = settings.orchestration.sub_agent_tool_allowlist
    allowed = None if listed is None else tuple(canonical_tool(name, own) for name in listed)
    return replace(
        settings,
        storage=Storage(),
        providers={**settings.providers, **remote},
        rules=tuple(replace(rule, tool=canonical_tool(rule.tool, own)) for rule in settings.rules),
        orchestration=replace(settings.orchestration, sub_agent_tool_allowlist=allowed),
    )


def _project(
    folder: Path, env: Mapping[str, str], flags: Mapping[str, str], findings: Findings
) -> ProjectSettings:
    """Without `folkmoot.yaml` everything is at its default: patterns live in agent files alone."""
    if not folder.is_dir():
        message = f"there is no folder {str(folder)!r}; name the folder of a project"
        raise NotFound(message, code="folder_not_found")
    root = folder.resolve()
    node = settings_node(root, findings)
    above = options.above_files(env, flags, findings)
    nothing = Scalar(Location(SETTINGS), "", None)
    settings = options.settings_with(declared(node or nothing, Settings, findings), above)
    project = ProjectSettings(settings, node or nothing, above, readable=node is not None)
    check_sources(root, project, findings)
    return project


def settings_node(root: Path, findings: Findings) -> Node | None:
    """None after saying why `folkmoot.yaml` cannot be understood at all."""
    path = root / SETTINGS
    if not path.exists() and not path.is_symlink():
        return Scalar(Location(SETTINGS), "", None)
    try:
        text = read_text(root, inside(root, "", SETTINGS), findings)
    except Misplaced as error:
        findings.error(Location(SETTINGS), f"{SETTINGS} {error}")
        return None
    return None if text is None else compose(text, Location(SETTINGS), findings)


def read_drafts(root: Path, entry: str | None, findings: Findings) -> dict[str, AgentDraft]:
    """Every agent file of the project, or the one named; and every other one that these refer to."""
    waiting = agent_files(root, findings) if entry is None else [_entry(root, entry)]
    if not waiting and findings.sound:
        findings.warning(Location("."), "there is no agent file here; write one, or try `folkmoot init`")
    met = set(waiting)
    drafts: dict[str, AgentDraft] = {}
    while waiting and len(drafts) < MOST_FILES:
        file = waiting.pop()
        if draft := read_draft(root, file, met, findings):
            drafts[file] = draft
            new = {link.to for link in draft.links} - met
            met |= new
            waiting += sorted(new)
    if waiting:
        findings.error(Location(waiting[-1]), f"more than {MOST_FILES:,} agent files; this is no project")
    return dict(sorted(drafts.items()))


def _entry(root: Path, entry: str) -> str:
    try:
        return inside(root, "", entry)
    except Misplaced as error:
        raise WrongUse(f"the agent file {entry!r} {error}") from None


def _agent(
    root: Path, draft: AgentDraft, project: ProjectSettings, models: Shelf, findings: Findings
) -> Agent:
    said = draft.declared
    leads = draft.files("lead")
    lead = leads[0] if leads else None
    team = said.team and replace(said.team, members=draft.files("member"), supervisor=lead)
    handoff = draft.files("handoff")
    tuning = options.tuning(project, draft)
    return Agent(
        id=draft.id,
        file=draft.file,
        prompt=draft.prompt,
        description=said.description,
        usage=said.usage,
        tool_name=said.tool_name or draft.id,
        input=settled(said.input, "input", root, draft, findings),
        output=settled(said.output, "output", root, draft, findings),
        # A remote agent is sent one message, and what comes back is its report.
        tuning=replace(tuning, max_turns=1) if said.remote else tuning,
        models=_models(draft, project, models, findings),
        tools=said.tools,
        work_dir=said.work_dir,
        agents=draft.files("agent"),
        advisors=draft.files("advisor"),
        destinations=draft.files("route"),
        handoff=handoff[0] if handoff else None,
        team=team,
        chat=said.chat,
        budget=said.budget,
        split=said.split,
        contract=said.contract,
        role=said.role,
        capabilities=said.capabilities,
        memory=said.memory,
        remote=said.remote,
    )


def _models(
    draft: AgentDraft, project: ProjectSettings, models: Shelf, findings: Findings
) -> tuple[ModelChoice, ...]:
    if draft.declared.remote:
        # What it costs, whoever runs it pays.
        return (ModelChoice(f"{REMOTE}{draft.file}", "a2a", _REMOTE_CONTEXT, FREE),)
    named = options.ask("models", project, draft)
    return choices(named, draft, models, findings) if project.readable else ()


def _check_orchestration(
    project: ProjectSettings, files: Collection[str] | None, models: Shelf, findings: Findings
) -> None:
    """`files` are all agent files of the project; none if not all were read."""
    settings = project.settings.orchestration
    wrong = findings.reporter(project.at, "orchestration")
    profile = settings.sub_agent_profile
    if profile is not None and files is not None and profile not in files:
        hint = near(profile, files) or "; name an agent file, relative to folkmoot.yaml, with `.ai`"
        wrong(f"there is no agent file {short(profile)}{hint}", "sub_agent_profile")
    folder = settings.sub_agent_work_dir
    if folder is not None and climbs_out("", folder):
        hint = "name a folder inside it, or an absolute path"
        wrong(f"{short(folder)} leads out of the project; {hint}", "sub_agent_work_dir")
    if settings.summarize_results and "fast" not in models.aliases:
        remedy = "declare it: `models: {fast: provider/model}`"
        message = "summaries are written by the model alias `fast`, and there is none"
        wrong(f"{message}; {remedy}", "summarize_results")


_REMOTE_CONTEXT = 1_000_000
"""Tokens; how much the other program takes is its own business."""
_FITTING = frozenset(
    "remote description usage toolName input output role capabilities advisors handoff budget"
    " llmTimeout maxRetries maxOutputTokens".split()
)
_SEATED = ("member", "lead")


def _check_remote(draft: AgentDraft, drafts: Mapping[str, AgentDraft], findings: Findings) -> None:
    for link in draft.links:
        if link.pattern in _SEATED and link.to in drafts and drafts[link.to].declared.remote:
            message = f"{link.to!r} is a remote agent, which hears no broadcasts; it cannot be a {CALLED[link.pattern]}"
            findings.error(link.place, f"{message}: have it as an advisor, a destination or an agent")
    remote = draft.declared.remote
    if remote is None:
        return
    wrong = findings.reporter(draft.at)
    if fault := fault_of_url(remote.url):
        wrong(f"`url` {fault}", "remote", "url")
    for key in keys(draft.root, ()):
        if key not in _FITTING:
            wrong(f"`{key}` has no effect on a remote agent: another program runs it; take it out", key)
    if draft.declared.output.claims:
        why = "they are not of this run; take `claims` out"
        wrong(f"a remote agent cannot cite what its tools returned: {why}", "output", "claims")


_STANDARD = Frontmatter()
_UNFINISHED = {"cache": "cache", "plugins": "plugins", "tool_output": "toolOutput"}
"""Fields that are read and have no effect yet, each with its key."""


def _warn_of_unfinished(draft: AgentDraft, findings: Findings) -> None:
    for field, key in _UNFINISHED.items():
        if getattr(draft.declared, field) != getattr(_STANDARD, field):
            findings.warning(draft.at(key), f"`{key}` is checked, but this release does not do it yet")


def sketch(folder: Path, load: Callable[[], Loaded]) -> Sketch:
    """`load` gives the project or says what is wrong with it. A file of which nothing is understood is there too."""
    try:
        drafts = read_drafts(folder.resolve(), None, Findings())
    except DeclarationError:
        drafts = {}  # there are so many problems that reading was given up: they are all there is to show
    try:
        loaded = load()
        problems, graph = loaded.warnings, loaded.graph
    except DeclarationError as error:
        problems, graph = error.problems, None
    named = {to for draft in drafts.values() for _, to, _ in draft.links}
    named |= {problem.file for problem in problems if problem.file.endswith(SUFFIX)}
    agents = {file: Sketched(file) for file in named} | {
        file: _sketched(draft) for file, draft in drafts.items()
    }
    return Sketch(tuple(agents[file] for file in sorted(agents)), problems, graph)


def _sketched(draft: AgentDraft) -> Sketched:
    said = draft.declared
    return Sketched(
        file=draft.file,
        description=said.description,
        role=said.role,
        capabilities=said.capabilities,
        links=tuple((link.pattern, link.to) for link in draft.links),
    )
