"""Everything that may stand in `folkmoot.yaml`: run-wide defaults, never what an agent is."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from folkmoot.domain.budget import Budget, Duration, Limits, Price
from folkmoot.domain.gate import HUMAN, Approver, GateSettings
from folkmoot.domain.message import Access, Effect
from folkmoot.domain.naming import Address, Variable
from folkmoot.domain.rules import Rule
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.value import Value

Names = Annotated[tuple[str, ...], Meta(extra={"written": "names"})]
"""A YAML list, or one string with commas."""
Count = Annotated[int, Meta(ge=1)]
Reasoning = Literal["none", "minimal", "low", "medium", "high", "default", "inherit"]
Contract = Literal["open", "strict"]
Strategy = Literal["native_react", "plan_and_execute", "plan_and_react", "spar"]
"""How an agent goes about its work: step by step as it comes, or by a plan."""


class Options(Value, forbid_unknown_fields=True):
    """How an agent is run. Set in its file, in `agents.defaults`, by environment or by flag."""

    models: Names | UnsetType = UNSET
    """`provider/model` or aliases from `folkmoot.yaml`, tried in order."""
    max_turns: Count | UnsetType = UNSET
    """Model requests with their tools; in the last turn only the exits are offered. Default 10."""
    max_tool_calls_per_turn: Count | UnsetType = UNSET
    """More calls in one answer are refused. Default 10."""
    max_retries: Count | UnsetType = UNSET
    """Attempts per turn, over all `models` in turn. Default 3."""
    llm_timeout: Duration | UnsetType = UNSET
    """For one attempt at a model. Default 10m."""
    tool_timeout: Duration | UnsetType = UNSET
    """For one tool call. Default 5m."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | UnsetType = UNSET
    """Sent only if set."""
    top_p: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    """Sent only if set."""
    top_k: Count | UnsetType = UNSET
    """Sent only if set."""
    max_output_tokens: Count | UnsetType = UNSET
    """Default 4096."""
    repeat_penalty: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    """Sent only if set."""
    tool_response_max_bytes: Count | UnsetType = UNSET
    """Longer tool results are kept as an artifact and cut. Default 12288."""
    reasoning: Reasoning | UnsetType | None = UNSET
    """How hard a reasoning model thinks; `default`, `inherit` and null send nothing."""
    reasoning_tokens: Count | UnsetType = UNSET
    """Thinking budget, where a provider takes one in tokens."""
    planning_strategy: Strategy | UnsetType = UNSET
    """Work without a plan (`native_react`), do a plan step by step (`plan_and_execute`), keep one at hand
    (`plan_and_react`), or sense, plan, act and reflect in rounds (`spar`). Default native_react."""
    caching: Literal["none", "full"] | UnsetType = UNSET
    """Prompt caching where it must be asked for. Default full."""


Bytes = Annotated[int, Meta(ge=1)]


class FileLimits(Value, forbid_unknown_fields=True):
    read_lines: Annotated[int, Meta(ge=1)] = 500
    """The most lines that one `files.read` shows."""
    read_bytes: Bytes = 12_000
    """The most bytes that one `files.read` shows; not more than `toolResponseMaxBytes` is sensible."""
    file_bytes: Bytes = 10_000_000
    """Larger files are neither read nor written."""
    search_time: Duration = 10.0
    """How long one `files.search` may take."""


class ProcessLimits(Value, forbid_unknown_fields=True):
    time: Duration = 120.0
    """How long one call may take; `toolTimeout` ends it too."""
    output_bytes: Bytes = 12_000
    """Of a longer output the beginning and the end are kept."""
    processes: Annotated[int, Meta(ge=1)] = 64
    """The most processes of one call at a time."""
    memory_bytes: Bytes = 2_000_000_000
    """Of each of its processes."""
    file_bytes: Bytes = 1_000_000_000
    """No file that it writes grows beyond this."""
    env: tuple[Variable, ...] = ()
    """The environment variables that it gets beside a `PATH` of the system's folders."""


class WebLimits(Value, forbid_unknown_fields=True):
    time: Duration = 30.0
    """How long one call may take, redirects included."""
    bytes: Bytes = 2_000_000
    """The most that is read of a page, after unpacking."""
    allow: tuple[str, ...] = ()
    """Hosts, addresses or networks (`10.1.0.0/16`) that may be asked though they are not public."""


class Builtins(Value, forbid_unknown_fields=True):
    """Limits of the built-in tools."""

    files: FileLimits = FileLimits()
    """Of `files.read`, `list`, `search`, `write` and `edit`."""
    shell: ProcessLimits = ProcessLimits()
    """Of the programs that agents run."""
    python: ProcessLimits = ProcessLimits()
    """Of the Python code that agents run."""
    web: WebLimits = WebLimits()
    """Of `web.fetch`."""


Free = Literal["free"]
_PASSWORD = re.compile(r"(?<=://)([^:@/?]*):.*@")
_SECRET = re.compile(r"([?&][a-z]*password=)[^&]*")


class Provider(Value, forbid_unknown_fields=True):
    """Where models are asked."""

    kind: Literal["scripted", "openai", "anthropic", "pydantic-ai", "a2a"]
    """What it speaks; `openai` fits every server that is compatible with it. `a2a` is the way to a remote agent, which
    an agent file declares, with `remote`."""
    base_url: Address | None = None
    """Absent: the provider's own address."""
    api_key_env: Variable | None = None
    """The environment variable that holds the key; the key itself never stands in a file."""
    price: Free | Price | None = None
    """For all its models that have none of their own."""
    context_window: Annotated[int, Meta(ge=1)] | None = None
    """For all its models that have none of their own."""
    images: bool | None = None
    """Whether its models see images; absent: those that a user attaches, and at its own address those of tools too."""
    script: str | None = None
    """With `kind: scripted`: the YAML file with the answers, relative to the project."""
    headers: dict[str, str] = {}
    """Sent with every request."""
    provider: str | None = None
    """With `kind: pydantic-ai`: its name there, such as `google` or `mistral`."""


class ModelAlias(Value, forbid_unknown_fields=True):
    """A short name for a model. A plain string is short for `{ref: …}`."""

    ref: str
    """`provider/model`."""
    context_window: Annotated[int, Meta(ge=1)] | None = None
    """Tokens; absent: its provider's, or what is known of the model."""
    price: Free | Price | None = None
    """Absent: its provider's, or what is known of the model."""


class ToolSource(Value, forbid_unknown_fields=True):
    """Where tools come from."""

    kind: Literal["python", "mcp"]
    """Functions of a Python file, or a server of the Model Context Protocol."""
    module: str | None = None
    """With `kind: python`: a file relative to the project."""
    command: tuple[str, ...] = ()
    """With `kind: mcp`: the command line of a server, which speaks over stdin and stdout."""
    url: Address | None = None
    """With `kind: mcp`, instead of `command`: the address of a server, which speaks streamable HTTP."""
    env: tuple[Variable, ...] = ()
    """With `command`: the environment variables that the server gets beside a few that hold no secrets."""
    cwd: str | None = None
    """With `command`: where the server runs, relative to the project; absent: in the project."""
    headers: dict[str, str] = {}
    """With `url`: sent with every request; `${NAME}` in one stands for an environment variable."""
    timeout: Duration = 60.0
    """With `kind: mcp`: how long a server may say nothing when it starts or works on a call."""
    effect: Effect | None = None
    """What a repetition of its calls would do, instead of what the tools say."""
    access: Access | None = None
    """The most that its tools do, instead of what they say."""
    untrusted: bool | None = None
    """Whether strangers can write what its tools return, instead of what they say; with `kind: mcp`: true, unless this
    says otherwise."""


class TaskContinuation(Value, forbid_unknown_fields=True):
    enabled: bool = True
    """Whether the watch looks after the tasks of agents."""
    check_interval: Duration = 120.0
    """How often it looks."""
    idle_threshold: Duration = 180.0
    """After how long without a sign a task counts as asleep."""
    zombie_task_ttl: Duration = 86_400.0
    """After how long without any activity a task goes back to the backlog."""
    channel: str = "internal"
    """Where a blocked task is told that nobody helped with."""


class TaskSettings(Value, forbid_unknown_fields=True):
    enforce: bool = False
    """Refuse calls that do more than read until the agent has a task in progress. Holds for agents that have the tools
    to start one."""


class Messages(Value, forbid_unknown_fields=True):
    """What agents write to each other."""

    keep_dropped: bool = False
    """Record what the loop guard does not deliver; its receiver reads it with the next message that is delivered."""


class Orchestration(Value, forbid_unknown_fields=True, rename=None):
    """How agents call agents that no file names. The keys keep their snake_case."""

    enable_agent_tool: bool = False
    """Give every agent the tools `call_agent` and `call_agents_parallel`."""
    auto_approve: bool = False
    """Let them be called without a person's word."""
    sub_agent_profile: str | None = None
    """An agent file whose models and options hold for agents made at run time; absent: their caller's."""
    sub_agent_work_dir: str | None = None
    """Where the tools of called agents, and of all below them, work; absent: in the project."""
    sub_agent_max_steps: Annotated[int, Meta(ge=1)] = 30
    """The most turns of a called agent; never more than its own file or its caller has."""
    sub_agent_tool_allowlist: tuple[str, ...] | None = None
    """Called agents, and all below them, have no other tools than these; absent: no such limit."""
    summarize_results: bool = False
    """Have long results summarised by the model alias `fast`."""
    summary_max_length: Annotated[int, Meta(ge=1)] = 2000
    """Characters; longer results are summarised."""
    enable_result_cache: bool = False
    """Answer a call with the result of an equal one before."""
    cache_ttl_seconds: Annotated[int, Meta(ge=1)] = 3600
    """How old that may be."""
    allow_subagents: bool = False
    """Let the executor of a `split` call agents too."""
    stream_sub_agent_events: bool = False
    """What called agents do is always in the run's own stream, live; the key changes nothing."""


class Approvals(Value, forbid_unknown_fields=True):
    unattended: Literal["park", "deny"] = "park"
    """What becomes of a call that needs a word when nobody is there: it waits, or is refused."""
    expires: Duration | None = None
    """How long a call waits for a word; then it is refused. Absent: without end."""
    approvers: Annotated[tuple[Approver, ...], Meta(min_length=1)] = HUMAN
    """Who is asked, in this order: the agent that called (`parent`), the lead of its team (`lead`), a person (`human`).
    Whoever does not clearly approve passes it on; what is at high risk is decided by a person."""


class Storage(Value, forbid_unknown_fields=True):
    """Where the journal is kept. It is no part of what a run is pinned to."""

    url: str | None = None
    """`postgresql://…`. Absent: `.folkmoot/folkmoot.db` in the project."""
    project: str | None = None
    """With `url`: the name of this project there, the same on every host and for no other project."""

    @property
    def schema(self) -> str:
        """With `url`: what holds all of this project there."""
        return f"folkmoot_{self.project}"

    @property
    def shown(self) -> str:
        """The address for people: without a password."""
        return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1:***@", self.url or ""))


class AgentDefaults(Options, forbid_unknown_fields=True):
    """Options that hold where an agent's file says nothing."""

    task_continuation: TaskContinuation = TaskContinuation()
    """How the watch looks after the tasks of agents."""


class AgentSettings(Value, forbid_unknown_fields=True):
    defaults: AgentDefaults = AgentDefaults()
    """What holds where an agent's file says nothing."""


class Settings(Value, forbid_unknown_fields=True):
    providers: dict[str, Provider] = {}
    """Where models are asked, by name. `openai`, `anthropic`, `google` and others need no entry."""
    models: dict[str, Annotated[ModelAlias, Meta(extra={"short": "ref"})]] = {}
    """Aliases; an agent without `models` uses `default`."""
    budget: Budget = Budget()
    """Limits of every run."""
    limits: Limits = Limits()
    """Bounds of every run that are on by default."""
    tools: dict[str, ToolSource] = {}
    """Where tools come from, by name."""
    builtins: Builtins = Builtins()
    """Limits of the tools that come with the package."""
    orchestration: Orchestration = Orchestration()
    """How agents call agents that no file names."""
    messages: Messages = Messages()
    """What agents write to each other."""
    tasks: TaskSettings = TaskSettings()
    """What tasks are for agents."""
    agents: AgentSettings = AgentSettings()
    """What holds for all agents."""
    approvals: Approvals = Approvals()
    """Calls that need somebody's word."""
    gate: GateSettings = GateSettings()
    """What makes a call need somebody's word, beside rules and tools."""
    rules: tuple[Rule, ...] = ()
    """Which calls are allowed, asked about or denied; the first rule that fits decides."""
    secrets: tuple[Variable, ...] = ()
    """Environment variables whose values appear nowhere; a tool gets one where an argument says `{{secret:NAME}}`."""
    sinks: dict[str, SinkSettings] = {}
    """Where events are sent on to, by name."""
    storage: Storage = Storage()
    """Where the journal is kept."""
    contract: Contract = "open"
    """With `strict`, nothing passes between agents but plans under contract (`split`)."""
