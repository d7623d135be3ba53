"""How things are called: dots in files, `__` on the wire; and names drawn from the seed of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Annotated

from msgspec import Meta

from folkmoot.errors import NotFound, WrongUse

LAST = "last"
_SHOWN = 5
"""Ids that are named when several fit."""
WIRE_LENGTH = 64
ASK_USER = "ask_user"
"""The tool with which an agent asks a person; any agent has it that names it."""
ASK_PARENT = "ask_parent"
"""The tool with which an agent asks the agent that called it; it needs such a caller beside the name."""
QUESTIONS = (ASK_USER, ASK_PARENT)
"""The tools of the runtime that an agent file names."""
BUILT_IN = (
    "files.read",
    "files.list",
    "files.search",
    "files.write",
    "files.edit",
    "shell",
    "python",
    "web.fetch",
)
"""The tools that come with the package, and that any agent has that names them."""
ALIASES = {"file_read": "files.read", "file_write": "files.write", "web_fetch": "web.fetch"}
"""Short names that others use for tools of ours; understood wherever a tool is named, never recorded."""
MEMORY_READ, MEMORY_NOTE = "memory_read", "memory_note"
GROUPS: dict[str, tuple[str, ...]] = {
    "tasks": (
        "task_start",
        "task_update",
        "task_complete",
        "task_status",
        "task_list",
        "task_cancel",
        "task_approve",
        "task_block",
        "task_resume",
        "task_backlog_add",
        "task_pick_backlog",
    ),
    "plans": ("plan_submit", "plan_approve", "plan_reject", "plan_status"),
    "decisions": ("decision_propose", "decision_comment", "decision_vote", "decision_commit"),
    "messages": ("a2a_send", "a2a_broadcast", "a2a_spawn"),
    "memory": (MEMORY_READ, MEMORY_NOTE),
}
"""The tools of the runtime for what outlives a run: an agent names a group, or one of its tools."""
MESSAGES = A2A_SEND, A2A_BROADCAST, A2A_SPAWN = GROUPS["messages"]
"""Those that start agents, whichever the model names."""
COORDINATION = tuple(tool for tools in GROUPS.values() for tool in tools)
BUILT_IN_SOURCES = frozenset(name.partition(".")[0] for name in BUILT_IN)
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_A_GLOB = re.compile(r"[^A-Za-z0-9_*?\[\]!-]")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable in a text of a file: `${NAME}`."""
Variable = Annotated[str, Meta(extra={"written": "variable"})]
"""The name of an environment variable; a value that may be a secret never stands in a file."""
Address = Annotated[str, Meta(extra={"written": "address"})]
"""An address of http or https, without a password."""


def writes(tools: Iterable[str]) -> bool:
    """Whether an agent file that names these tools lets its agent write to others."""
    return not {"messages", *MESSAGES}.isdisjoint(tools)


def canonical_tool(name: str, own: Collection[str]) -> str:
    """`files.read` for `file_read`, unless the project has a tool of its own (`own`) of that name."""
    return name if name in own else ALIASES.get(name, name)


def wire_name(name: str) -> str:
    """`files.read` as `files__read`; what providers refuse becomes `_`, a long name ends in a hash."""
    wire = _NOT_ON_THE_WIRE.sub("_", name.replace(".", "__"))
    if len(wire) <= WIRE_LENGTH:
        return wire
    return f"{wire[: WIRE_LENGTH - 9]}_{sha256(name.encode()).hexdigest()[:8]}"


def wire_glob(pattern: str) -> str:
    """A pattern for names of files as one for names on the wire."""
    return _NOT_IN_A_GLOB.sub("_", pattern.replace(".", "__"))


def agent_tool(tool_name: str) -> str:
    """The name under which a model calls an agent of `agents:`."""
    return wire_name(f"agent.{tool_name}")


def draw(seed: str, *names: object, length: int = 12) -> str:
    """`length` hex digits that nobody can guess who does not know the seed."""
    text = "\x1f".join(map(str, names)).encode()
    return blake2b(text, key=seed.encode()[:64], digest_size=32).hexdigest()[:length]


def chance(seed: str, *names: object) -> float:
    """A number from 0 up to 1."""
    return int(draw(seed, *names, length=8), 16) / 0x1_0000_0000


@dataclass(frozen=True)
class Reference:
    """How people name things that have an id: by it, by its beginning, or as the last one."""

    name: str
    """For people: `task`."""
    prefix: str
    """Of their ids, which are the names of their streams; nobody need write it."""
    command: str
    """What lists them."""

    def resolve(self, ids: Iterable[str], name: str) -> str:
        """`ids` are in the order in which they came into being. Raises `NotFound`, or `WrongUse` if several fit."""
        known = [*ids]
        if name in known:
            return name
        if name == LAST and known:
            return known[-1]
        wanted = name.removeprefix(self.prefix)
        fitting = [id for id in known if wanted and id.removeprefix(self.prefix).startswith(wanted)]
        if not fitting:
            raise self.missing(name)
        if len(fitting) > 1:
            more = " …" if len(fitting) > _SHOWN else ""
            shown = ", ".join(fitting[:_SHOWN])
            told = f"{len(fitting)} {self.name}s begin with {name!r}: {shown}{more}; write more of the id"
            raise WrongUse(told, code="ambiguous_id")
        return fitting[0]

    def missing(self, id: str) -> NotFound:
        remedy = f"; `{self.command}` shows those that are" if self.command else ""
        return NotFound(
            f"there is no {self.name} {id!r}{remedy}", code=f"{self.name.replace(' ', '_')}_not_found"
        )


RUN = Reference("run", "", "folkmoot runs list")
CONVERSATION = Reference("conversation", "conv_", "folkmoot conversations list --all")
