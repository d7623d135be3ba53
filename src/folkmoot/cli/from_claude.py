"""Sub-agents of Claude Code (`.claude/agents/*.md`) as agent files, and what could not be carried over. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MAIN = "main.ai"
SETTINGS = """\
# Made from sub-agents of Claude Code. `folkmoot check` says what is left to do; keys come from the environment.
models:
  default: anthropic/claude-sonnet-4-5
  sonnet: anthropic/claude-sonnet-4-5
  opus: anthropic/claude-opus-4-5
  haiku: anthropic/claude-haiku-4-5

budget: {usd: 1.00, requests: 100, wall: 30m}
"""
_MODELS = ("sonnet", "opus", "haiku")
_TOOLS = {
    "Read": "files.read",
    "LS": "files.list",
    "Glob": "files.list",
    "Grep": "files.search",
    "Write": "files.write",
    "Edit": "files.edit",
    "MultiEdit": "files.edit",
    "Bash": "shell",
    "WebFetch": "web.fetch",
    "AskUserQuestion": "ask_user",
}
_CARRIED = ("name", "description", "tools", "model", "maxTurns")
_PARTS = re.compile(r"---[ \t]*\n(?P<head>.*?)^---[ \t]*\n(?P<prompt>.*)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^(\w+):[ \t]*(.*)$", re.MULTILINE)


class ConvertedAgent(NamedTuple):
    file: str
    """The new agent file."""
    text: str
    notes: tuple[str, ...]
    """What the file does not say any more, each with what one can do about it."""


def convert_agent(stem: str, text: str) -> ConvertedAgent:
    """One sub-agent; `stem` is its file's name without `.md`."""
    parts = _PARTS.match(text)
    head = _parse_frontmatter(parts["head"]) if parts else {}
    names = list(_parse_tool_names(head.get("tools")))
    known = dict.fromkeys(_TOOLS[name] for name in names if name in _TOOLS)
    said: dict[str, Any] = {"description": " ".join(str(head.get("description", "")).split())}
    if head.get("model") in _MODELS:
        said["models"] = [head["model"]]
    if known:
        said["tools"] = list(known)
    if isinstance(head.get("maxTurns"), int):
        said["maxTurns"] = head["maxTurns"]
    name = re.sub(r"[^a-z0-9]+", "-", str(head.get("name") or stem).lower()).strip("-")
    prompt = (parts["prompt"] if parts else text).strip()
    return ConvertedAgent(f"{name}.ai", _render_agent_file(said, prompt), tuple(_list_notes(head, names)))


def build_main_agent(agents: Iterable[ConvertedAgent]) -> str:
    """The conversation that chose among them."""
    said = {
        "description": "Answers, and calls whoever knows more.",
        "agents": [agent.file for agent in agents],
        "maxTurns": 30,
    }
    prompt = "Answer the request. Call the agents that fit, several in one turn if they do not depend on each other."
    return _render_agent_file(said, prompt)


def _parse_frontmatter(text: str) -> Mapping[str, Any]:
    """Claude Code also takes what is no YAML, such as a description with a colon in it."""
    import yaml

    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError:
        read = None
    return read if isinstance(read, dict) else dict(_LINE.findall(text))


def _parse_tool_names(tools: object) -> Iterator[str]:
    listed = tools if isinstance(tools, list) else re.split(r",(?![^(]*\))", str(tools or ""))
    return (name for each in listed if (name := str(each).strip()))


def _list_notes(head: Mapping[str, Any], tools: list[str]) -> Iterator[str]:
    if "tools" not in head:
        yield "it had every tool; it has none now: name those it needs in `tools`"
    for name in tools:
        if name.startswith("mcp__"):
            server, _, tool = name.removeprefix("mcp__").partition("__")
            declare = f"declare the server {server!r} below `tools` in folkmoot.yaml"
            yield f"tool {name}: {declare}, then name {f'{server}.{tool}' if tool else server}"
        elif name.startswith(("Task", "Agent")):
            yield f"tool {name}: name the agents that it may call in `agents`"
        elif name not in _TOOLS:
            yield f"tool {name}: there is none like it"
    model = head.get("model", "inherit")
    if model not in (*_MODELS, "inherit"):
        yield f"model {model}: write it as provider/model into `models`"
    for key in head:
        if key not in _CARRIED:
            yield f"`{key}`: there is no such key"


def _render_agent_file(said: Mapping[str, Any], prompt: str) -> str:
    import yaml

    def line(key: str) -> str:
        """Lists in brackets, texts without."""
        flow = None if isinstance(said[key], list) else False
        text: str = yaml.safe_dump(
            {key: said[key]}, allow_unicode=True, width=10_000, default_flow_style=flow
        )
        return text

    return f"---\n{''.join(map(line, said))}---\n{prompt}\n"
