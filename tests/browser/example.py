"""A project in which everything has happened once: what the screenshots show, and what the injections are put into.

Every text that somebody writes passes through `word(field, text)`.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from checks.files import ROOT
from folkmoot import Folkmoot, Surroundings, tool
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.engine.collaboration import Collaboration, open_collaboration
from tests.desk import made_mine

Word = Callable[[str, str], str]
SPOKEN = ("report", "reason", "text", "title", "description", "acceptance", "rationale", "content", "message")
"""Keys of the script whose values are text of agents."""
DESK = {
    "desk": {
        "description": "Takes every question of a customer.",
        "advisors": ["fraud.ai"],
        "router": {"destinations": ["billing.ai", "stock.ai"]},
    },
    "fraud": {"description": "Looks for what does not fit."},
    "billing": {
        "description": "Charges and refunds.",
        "tools": ["till", "ledger", "ask_user", "messages"],
        "agents": ["stock.ai"],
        "handoff": "closing.ai",
        "budget": {"usd": 0.02},
    },
    "stock": {"description": "Knows what is there.", "tools": ["messages", "ledger"]},
    "closing": {"description": "Answers in the voice of the shop.", "capabilities": ["writing"]},
}
"""Beside the agents of `examples/collaboration`."""


def plain(_: str, text: str) -> str:
    return text


@asynccontextmanager
async def lived_in(folder: Path, word: Word = plain) -> AsyncIterator[Folkmoot]:
    """The project, open, after all that happened in it."""

    @tool(effect="once", access="write", asks="high")
    async def till(order: str, note: str = "") -> str:
        """Pay back what was charged twice."""
        return word("tool result", f"paid back order {order}")

    @tool(effect="pure", access="read")
    async def ledger(order: str) -> str:
        """Look an order up."""
        if order == "lost":
            raise ValueError(word("tool error", "there is no such order"))
        return word("tool result", f"order {order}: charged twice, 24.90 each")

    _write(folder, word)
    around = Surroundings(env={})
    made_mine(folder)
    async with Folkmoot.open(folder, tools=[till, ledger], around=around) as moot:
        await _collaborate(moot, word)
        await moot.run(
            "stock", word("request", "Is the green lamp there?"), errand=Errand(label=word("label", "Lamps"))
        )
        await moot.run("closing", word("request", "This one fails"))
        await moot.run("billing", word("request", "Order lost"))
        await moot.run("desk", word("request", "I was charged twice for order 1042."))
        await _leave(moot, word)
        yield moot


def _write(folder: Path, word: Word) -> None:
    example = ROOT / "examples" / "collaboration"
    folder.mkdir(parents=True, exist_ok=True)
    for file in example.glob("*.ai"):
        text = re.sub(r"(?m)^description: (.*)$", lambda found: _described(word, found[1]), file.read_text())
        (folder / file.name).write_text(text + word("prompt", "Be brief."))
    for name, declared in DESK.items():
        declared = declared | {"description": word("description", str(declared["description"]))}
        (folder / f"{name}.ai").write_text(
            f"---\n{yaml.safe_dump(declared)}---\n{word('prompt', 'Be kind.')}\n"
        )
    (folder / "folkmoot.yaml").write_text((example / "folkmoot.yaml").read_text())
    script = yaml.safe_load(re.sub(r"delay: \d+ms", "delay: 0ms", (example / "script.yaml").read_text()))
    spoken = _spoken(script, word)
    spoken["agents"] |= _desk_script(word)
    (folder / "script.yaml").write_text(yaml.safe_dump(spoken))


def _described(word: Word, text: str) -> str:
    return yaml.safe_dump({"description": word("description", text)}, width=10_000).strip()


def _spoken(value: Any, word: Word, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _spoken(each, word, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_spoken(each, word, key) for each in value]
    return word(f"script {key}", value.rstrip("\n")) if key in SPOKEN and isinstance(value, str) else value


def _desk_script(word: Word) -> dict[str, Any]:
    def call(name: str, **arguments: str) -> dict[str, Any]:
        return {"calls": [{"tool": name, "arguments": arguments}]}

    ask = call("ask_user", question=word("question", "Which card shall it go back to?"))
    tell = call("a2a_send", to="stock", message=word("message", "Keep a lamp aside, please."))
    doubt = word("message", "[Goal] Sell the green lamp. Was it ever stolen?")
    ask_fraud = call("a2a_send", to="fraud", message=doubt, label=word("message label", "The green lamp"))
    listed = word("report", "There are three **lamps**, see [the list](https://example.com/list).")
    return {
        "desk": [{"route": {"agent": "billing", "message": word("route message", "It is about money.")}}],
        "fraud": [{"report": word("advice", "Two equal charges within a minute.")}],
        "billing": {
            "rules": [
                {"when": "Order lost", **call("ledger", order="lost")},
                {"when": "no such order", **ask},
                {"when": "charged twice for", **call("ledger", order="1042")},
                {"when": "24.90 each", **tell},
            ],
            "default": call("till", order="1042", note=word("argument", "both charges")),
        },
        "stock": {"rules": [{"when": "Is the green lamp", **ask_fraud}], "default": {"report": listed}},
        "closing": [{"error": {"message": word("model error", "the provider is tired"), "retryable": False}}],
    }


async def _collaborate(moot: Folkmoot, word: Word) -> None:
    team = ("lead", "planner", "coder", "operator", "reviewer")
    seats = [Seat(moot.agent(name).role, agent=name) for name in team]
    goal = word("goal", "Add a health check to the shop")
    opening = WorkSessionOpened(goal, constraints=(word("constraint", "no downtime"),))
    id = (await open_collaboration(moot.moot, opening, seats, "a chance")).id

    async def start(agent: str, request: str, errand: Errand) -> Any:
        return await moot.run(agent, request, errand=errand)

    await Collaboration(moot.moot, id, start, lambda _: None).carry_on()


async def _leave(moot: Folkmoot, word: Word) -> None:
    """What people and agents leave beside runs."""
    person = Author("ann")
    tasks = moot.moot.tasks.of("coder", person)
    await tasks.add(
        NewTask(
            description=word("task", "Say how long an answer takes"),
            context=word("task context", "asked for by support"),
            steps=(word("task step", "measure"), "write it down"),
        ),
        "one",
    )
    await tasks.start(NewTask(word("task", "Name the fields"), requires_approval=True), "two")
    options = (Option("now", word("option", "This week")), Option("later", word("option", "After the sale")))
    voters = (Voter("coder"), Voter("ann"))
    asked = Proposal(word("topic", "When is the health check switched on?"), options, voters)
    decision = await moot.moot.decisions.propose(person, asked, "three")
    await moot.moot.decisions.comment(decision.id, person, word("comment", "The sale begins on Monday."))
    await moot.moot.memories.note(Author("coder"), word("memory", "The shop deploys on Tuesdays."))
