"""What an author declares: one agent, its options, and the graph of agents that know each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from folkmoot.domain.budget import Budget, Duration, Price
from folkmoot.domain.naming import Variable, canonical_tool
from folkmoot.domain.settings import Contract, Count, Names, Options, Reasoning, Settings, Strategy
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound, Problem, WrongUse

Schema = Annotated[dict[str, Any], Meta(extra={"written": "schema"})]
"""A mapping, or a string that holds one as JSON or YAML."""
References = Annotated[tuple[str, ...], Meta(extra={"written": "names", "refers": "agent"})]
Reference = Annotated[str, Meta(extra={"refers": "agent"})]
"""Another agent's file: relative to this one, with `.ai`, inside the project."""

Format = Literal["text", "markdown", "json"]
Pattern = Literal["advisor", "route", "handoff", "member", "lead", "agent"]
"""In which way one agent's file refers to another's."""


class Input(Value, forbid_unknown_fields=True):
    format: Literal["text", "json"] = "text"
    """What a request must be."""
    schema: Schema | None = None
    """JSON Schema, with `format: json`."""
    schema_ref: str | None = None
    """A file with the schema, relative to this one; `schema` wins."""


class Output(Value, forbid_unknown_fields=True):
    format: Format = "text"
    """What the final report must be."""
    schema: Schema | None = None
    """JSON Schema, with `format: json`."""
    schema_ref: str | None = None
    """A file with the schema, relative to this one; `schema` wins."""
    claims: bool = False
    """Ask for claims with evidence: every tool result shows its id, and the report may cite it."""


class Router(Value, forbid_unknown_fields=True):
    destinations: Annotated[References, Meta(min_length=1)]
    """The agents that this one may pass the request to."""


class Team(Value, forbid_unknown_fields=True):
    members: Annotated[References, Meta(min_length=1)]
    """The agents that work in parallel; none of them may have a `handoff`."""
    supervisor: Reference | None = None
    """The lead; absent, or this file itself: this agent."""
    member_max_turns: Count | None = None
    """Instead of each member's own `maxTurns`."""
    supervisor_max_turns: Count | None = None
    """Instead of the lead's own `maxTurns`; bounds the whole team."""


MemberRole = Literal["lead", "worker", "specialist", "planner", "executor", "reviewer"]


class Memory(Value, forbid_unknown_fields=True):
    readers: Names = ()
    """The ids of the agents that may read what this one notes; `*` for all. It always may itself."""


class Remote(Value, forbid_unknown_fields=True):
    url: str
    """Its address; its card lies at `/.well-known/agent-card.json` below that."""
    api_key_env: Variable | None = None
    """The environment variable that holds the token for it; the token itself never stands in a file."""
    untrusted: bool = True
    """Whether strangers may have a say in what it answers."""


class Frontmatter(Options, forbid_unknown_fields=True):
    """Everything that may stand between the two `---` lines of an `.ai` file."""

    description: str = ""
    """One sentence for people, and for agents that may call this one."""
    usage: str = ""
    """How to ask this agent; shown by `agents show`."""
    tool_name: Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,64}$")] | None = None
    """The name under which others call it as a tool; absent: its id."""
    input: Input = Input()
    """What the agent expects."""
    output: Output = Output()
    """What the agent reports."""
    tools: Names = ()
    """Tools by name: built-in ones, and those that `folkmoot.yaml` or Python declares."""
    agents: References = ()
    """Agents offered as tools, each as `agent__<name>`."""
    work_dir: str = ""
    """The folder in which its tools work, relative to the project; absent: the project itself."""
    role: MemberRole = "worker"
    """Its part in what outlives a run: who leads is told what goes wrong, and decides."""
    capabilities: Names = ()
    """What it can do, in words by which a team is put together: `python`, `review`, …"""
    memory: Memory = Memory()
    """Who may read what it notes."""
    plugins: Names = ()
    """Reserved."""
    remote: Remote | None = None
    """Where this agent is asked, over the A2A protocol: then another program runs it, with its own models and tools."""
    advisors: References = ()
    """Agents consulted in parallel before this one starts."""
    router: Router | None = None
    """Where this agent may route the request to."""
    handoff: Reference | None = None
    """The one agent that answers after this one."""
    team: Team | None = None
    """Members that work under a lead and broadcast to each other."""
    chat: bool = False
    """Keep the finished session, so that its caller may ask back."""
    budget: Budget = Budget()
    """Limits of this agent and all it starts, as a part of its caller's."""
    split: Literal["never", "auto", "always"] = "never"
    """Planner and executor as two sessions under contract; `auto`: if the plan takes several tools."""
    contract: Contract = "open"
    """With `strict`, in a run of this agent nothing passes between agents but plans under contract."""
    cache: Duration = 0.0
    """How long a result may be reused; `off` by default."""
    tool_output: dict[str, Any] = {}
    """Reserved."""


class Tuning(Value):
    """`Options` after every source was asked: nothing is missing."""

    max_turns: int = 10
    max_tool_calls_per_turn: int = 10
    max_retries: int = 3
    llm_timeout: float = 600.0
    tool_timeout: float = 300.0
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_output_tokens: int = 4096
    repeat_penalty: float | None = None
    tool_response_max_bytes: int = 12_288
    reasoning: Reasoning | None = None
    reasoning_tokens: int | None = None
    planning_strategy: Strategy = "native_react"
    caching: Literal["none", "full"] = "full"


class ModelChoice(Value):
    """One model that an agent may use, with everything known about it at load time."""

    provider: str
    model: str
    context_window: int
    price: Price

    @property
    def ref(self) -> str:
        return f"{self.provider}/{self.model}"


class KnownModel(Value):
    """What the package knows of a model that no file says anything about."""

    context_window: int
    price: Price


class Agent(Value):
    """One loaded `.ai` file. References are files relative to the project, checked to exist."""

    id: str
    """The file name without `.ai`."""
    file: str
    prompt: str
    """The body: the system prompt."""
    description: str = ""
    usage: str = ""
    tool_name: str = ""
    input: Input = Input()
    output: Output = Output()
    tuning: Tuning = Tuning()
    models: tuple[ModelChoice, ...] = ()
    tools: tuple[str, ...] = ()
    work_dir: str = ""
    agents: tuple[str, ...] = ()
    advisors: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    handoff: str | None = None
    team: Team | None = None
    chat: bool = False
    budget: Budget = Budget()
    split: Literal["never", "auto", "always"] = "never"
    contract: Contract = "open"
    role: MemberRole = "worker"
    capabilities: tuple[str, ...] = ()
    memory: Memory = Memory()
    remote: Remote | None = None
    """Who is asked over A2A has one model, which is the way there."""

    @property
    def in_parts(self) -> bool:
        """Whether its work is done in several sessions, so that there is no one conversation to go on with."""
        if self.remote:
            return False
        planned = self.split != "never" or self.tuning.planning_strategy != "native_react"
        return self.team is not None or planned

    @property
    def terminal(self) -> bool:
        """Whether this agent's own report is the answer (A-20); a router may still answer itself (A-57)."""
        return self.handoff is None and not self.destinations

    @property
    def edges(self) -> tuple[tuple[Pattern, str], ...]:
        """The files of all agents that this one may start, in the order in which it would."""
        team = self.team or Team(members=())
        of: dict[Pattern, tuple[str | None, ...]] = {
            "advisor": self.advisors,
            "agent": self.agents,
            "member": team.members,
            "lead": (team.supervisor,),
            "route": self.destinations,
            "handoff": (self.handoff,),
        }
        return tuple((pattern, file) for pattern, files in of.items() for file in files if file)


class Graph(Value):
    """A whole project, sound and immutable: what a run is pinned to."""

    agents: dict[str, Agent]
    """By file, relative to the project, with `/` between folders."""
    settings: Settings = Settings()
    fast: ModelChoice | None = None
    """What the alias `fast` stands for: the model that summarises."""

    def tool_name(self, name: str) -> str:
        """A tool's name as agents of this project have it: aliases were resolved when their files were read."""
        return canonical_tool(name, {each for agent in self.agents.values() for each in agent.tools})

    def terminal(self, file: str) -> bool:
        """As `Agent.terminal`; a team's member reports to its lead, so it never answers itself (A-20)."""
        members = (agent.team.members for agent in self.agents.values() if agent.team)
        return self.agents[file].terminal and not any(file in files for files in members)


def find_agent(graph: Graph, name: str) -> Agent:
    """By its file, or by its id where one agent alone has it."""
    plain = name.removeprefix("./")
    if plain in graph.agents:
        return graph.agents[plain]
    namesakes = [agent for agent in graph.agents.values() if agent.id == plain]
    if len(namesakes) > 1:
        files = ", ".join(sorted(agent.file for agent in namesakes))
        raise WrongUse(
            f"several agents have the id {name!r}; name one by its file: {files}", code="ambiguous_id"
        )
    if namesakes:
        return namesakes[0]
    import difflib  # noqa: PLC0415  # only for who mistyped

    near = difflib.get_close_matches(plain, graph.agents, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(graph.agents)) or 'none'}"
    raise NotFound(f"this project has no agent {name!r}; {hint}", code="agent_not_found")


class Sketched(Value):
    """One agent file, as far as it can be understood alone."""

    file: str
    description: str = ""
    role: str = ""
    capabilities: tuple[str, ...] = ()
    links: tuple[tuple[Pattern, str], ...] = ()
    """To files that exist, whatever is in them."""


class Sketch(Value):
    agents: tuple[Sketched, ...]
    problems: tuple[Problem, ...]
    graph: Graph | None = None
    """Absent if anything is wrong with it."""


MemberStatus = Literal["active", "idle", "interrupted"]


class Member(Value):
    """One agent. Times are as the journal has them; what is not known is empty."""

    agent_id: str
    role: MemberRole
    status: MemberStatus
    current_task_id: str = ""
    last_heartbeat: str = ""
    """When one of its sessions last gave a sign of life."""
    consecutive_failures: int = 0
    last_failure_reason: str = ""
    """Its kind."""
    last_failure: str = ""
    """What was said about it."""
    backoff_until: str = ""
