"""Templates become pages: everything is escaped, and nothing is inline."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from folkmoot.domain.message import visible
from folkmoot.http.house import house_of
from folkmoot.http.pages.markdown import markdown
from folkmoot.views.figures import age, clock_time, counted, length, money, spent, tokens

SCREENS = (
    ("runs", "runs", "Runs", True),
    ("inbox", "inbox", "Inbox", True),
    ("conversations", "talks", "Conversations", True),
    ("tasks", "tasks", "Tasks", True),
    ("work-sessions", "plan", "Work sessions", False),
    ("chat", "k-advisor", "Chat", False),
    ("decisions", "decide", "Decisions", False),
    ("graph", "graph", "Graph", False),
    ("team", "team", "Team", False),
    ("costs", "cost", "Costs", False),
    ("events", "events", "Events", False),
)
"""Address, icon and words of each screen of the rail, and whether it is a tab on a phone."""


@cache
def environment() -> Environment:
    folder = Path(__file__).parent.parent / "templates"
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["SCREENS"] = SCREENS
    made.filters |= {"age": age, "at": clock_time, "markdown": markdown, "visible": _visible}
    made.filters |= {"length_of": length, "counted": counted, "money": money, "tokens": tokens, "json": _json}
    made.filters["spent"] = lambda times: spent(*times)
    return made


def _visible(text: str) -> str:
    """Line by line, with every character that could hide something spelled out."""
    return "\n".join(map(visible, text.split("\n")))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def fragment(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def page(request: Request, template: str, *, screen: str, title: str, **values: Any) -> HTMLResponse:
    """A whole page in the frame; `screen` is what is marked in the rail."""
    moot = house_of(request).moot
    project, agents = moot.folder.resolve().name, sorted(agent.id for agent in moot.graph.agents.values())
    values |= {
        "screen": screen,
        "title": title,
        "project": project,
        "an_agent": agents[0] if agents else "hello",
    }
    return HTMLResponse(fragment(template, **values))
