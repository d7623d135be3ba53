"""The project that is put through everything: each pattern is a root agent, and each run is one of them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from folkmoot import ScriptedModel, tool
from folkmoot.domain.message import Answer
from folkmoot.engine.claims import RunIdentity
from folkmoot.ports import Hear, Request
from folkmoot.session import record
from folkmoot.tools.consent import ConsentStore, FolderConsent
from folkmoot.tools.registry import FunctionTool

ROOTS = ("front", "caller", "review", "boss", "desk", "sender", "maker", "stepper", "elder")
SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
orchestration: {enable_agent_tool: true, auto_approve: true}
gate: {taint: off}  # only what its tools ask for is asked
"""
AGENTS = {
    # advisors, a router, a handoff, an agent as a tool, a model that fails once
    "front": "advisors: [law.ai, tax.ai]\nrouter: {destinations: [billing.ai]}\nhandoff: editor.ai\ntools: [look]",
    "law": "models: [scripted/one, scripted/two]",
    "tax": "",
    "billing": "agents: [clerk.ai]",
    "clerk": "tools: [book, look]",
    "editor": "",
    # agents chosen by the model, one and several at once
    "caller": "",
    # a team
    "review": "team: {members: [coder.ai, tester.ai], supervisor: lead.ai}",
    "coder": "tools: [book]",
    "tester": "tools: [look]",
    "lead": "",
    # clarification of a finished child
    "boss": "agents: [expert.ai]",
    "expert": "chat: true\ntools: [book]",
    # a question, approvals, and calls that need no word beside them
    "desk": "tools: [ask_user, pay, book, look, dump]",
    # planner and executor under contract, whose first plan is sent back
    "maker": "tools: [book, look]\nsplit: always\noutput: {claims: true}",
    # a plan, done step by step
    "stepper": "tools: [book]\nplanningStrategy: plan_and_execute",
    # a child that asks its parent
    "elder": "agents: [youth.ai]",
    "youth": "tools: [ask_parent, book]",
    # calls that must not be repeated
    "sender": "tools: [send]",
}


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def _calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": list(calls)}


def _plan(steps: int) -> str:
    step = {"action_type": "DO", "rationale": "r", "expected_outputs": ["o"], "stop_condition": "s"}
    return msgspec.json.encode({"steps": [step] * steps}).decode()


_MISSIONS = [{"mission": f"count {n}", "specialist": "clerk"} for n in range(3)]
_CLERK = called("agent__clerk", prompt="count", reason="r")
SCRIPT: dict[str, Any] = {
    "front": [_calls(called("look", where="x")), {"route": {"agent": "billing", "message": "m"}}],
    "law": [{"attempts": [{"error": "overloaded"}, {"report": "by law"}]}],
    "tax": ["no tax"],
    "billing": [_calls(_CLERK, _CLERK), "billed"],
    "clerk": [_calls(called("book", what="a"), called("look", where="y"), called("book", what="b")), "3"],
    "editor": ["Dear customer"],
    "caller": [
        _calls(called("call_agents_parallel", missions=_MISSIONS)),
        _calls(called("call_agent", mission="once more", specialist="clerk")),
        "called",
    ],
    "coder": [_calls(called("book", what="c")), {"broadcast": "one"}, {"broadcast": "two"}],
    "tester": [_calls(called("look", where="z")), {"broadcast": "tested"}, {"broadcast": "tested again"}],
    "lead": [{"broadcast": "go on"}, {"report": "reviewed"}],
    "boss": [
        _calls(called("agent__expert", prompt="count", reason="r")),
        _calls(called("agent__ask_clarification", child_id="{child}", question="why?")),
        "it is so",
    ],
    "expert": [_calls(called("book", what="e")), "3", _calls(called("book", what="f")), "I counted twice"],
    "desk": [
        _calls(
            called("ask_user", question="How much?"),
            *(called("pay", to=name) for name in ("ann", "bob")),
            called("book", what="g"),
            called("dump"),
        ),
        _calls(called("pay", to="cid"), called("look", where="w")),
        "paid",
    ],
    "sender": [
        _calls(*(called("send", to=f"{n}") for n in range(3))),
        _calls(called("send", to="x")),
        "sent",
    ],
}
SCRIPT |= {
    "maker/planner": {"rules": [{"when": "was not accepted", "text": _plan(2)}], "default": "no plan yet"},
    "maker/executor": [
        _calls(called("book", what="h"), called("look", where="v")),
        {"report": "made", "claims": [{"text": "booked", "evidence": ["book"]}]},
    ],
    "stepper/planner": [_plan(2)],
    "stepper/step": [_calls(called("book", what="i")), "stepped"],
    "stepper/executor": ["there"],
    "elder": {
        "rules": [{"when": "QUESTION FROM", "text": "the blue ones"}],
        "turns": [_calls(called("agent__youth", prompt="count", reason="r")), "counted"],
    },
    "youth": [_calls(called("ask_parent", question="which?")), _calls(called("book", what="j")), "3"],
}
LARGE = "a long line of a large result\n" * 5_000
_CHILD = re.compile(r"[\w-]+:sub_expert_[0-9a-f]+")

Report = Callable[..., Awaitable[None]]
"""Tells the witness of something that really happens; returns when it has written it down."""


def write_project(folder: Path, agents: Mapping[str, str] = AGENTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "folkmoot.yaml").write_text(SETTINGS)
    (folder / "script.yaml").write_text("{}")
    for name, keys in agents.items():
        text = f"---\ndescription: A part of the chaos.\n{keys}\n---\nYou are {name}.\n"
        (folder / f"{name}.ai").write_text(text)
    return allow(folder)


def allow(folder: Path) -> Path:
    """Let the project in this folder do all it wants; that is kept as long as this process, and not for its user."""
    if "FOLKMOOT_STATE" not in os.environ:
        os.environ["FOLKMOOT_STATE"] = tempfile.mkdtemp(prefix="folkmoot-chaos-state-")
        atexit.register(shutil.rmtree, os.environ["FOLKMOOT_STATE"], ignore_errors=True)
    ConsentStore().write(folder, FolderConsent(str(folder.resolve()), mine=True))
    return folder


@contextmanager
def project(agents: Mapping[str, str] = AGENTS) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="folkmoot-chaos-") as folder:
        yield write_project(Path(folder), agents)


def hasten_retries(seconds: float) -> None:
    """Let a call in doubt be made again so soon: where nobody lives on after its end, it need not be waited for."""
    record.retry_delay = lambda lease, timeout: seconds  # type: ignore[attr-defined]


def identity(run: str) -> RunIdentity:
    """The same name and seed each time, so that a disturbed run can be compared with an undisturbed one."""
    return RunIdentity(run, f"the seed of {run}")


def root_of(run: str) -> str:
    return run.partition("-")[0] + ".ai"


def result_of(tool: str, arguments: dict[str, Any]) -> str:
    """What a call gives, as the tool says it and as a person does who knows that it was made."""
    return f"{tool} {' '.join(map(str, arguments.values()))}: done"


def tools(report: Report) -> list[FunctionTool]:
    async def done(effect: str, name: str, key: str, **arguments: Any) -> str:
        await report("tool", effect=effect, key=key)
        return result_of(name, arguments)

    @tool(effect="pure", access="read")
    async def look(where: str, idempotency_key: str) -> str:
        """Look somewhere."""
        return await done("pure", "look", idempotency_key, where=where)

    @tool(effect="pure", access="read")
    def dump() -> str:
        """A result that is too long for its event."""
        return LARGE

    @tool(effect="keyed", access="write")
    async def book(what: str, idempotency_key: str) -> str:
        """Book something; who gets the same key twice does it once."""
        return await done("keyed", "book", idempotency_key, what=what)

    @tool(effect="once", access="write")
    async def send(to: str, idempotency_key: str) -> str:
        """Send something."""
        return await done("once", "send", idempotency_key, to=to)

    @tool(effect="once", access="write", asks="high")
    async def pay(to: str, idempotency_key: str) -> str:
        """Pay somebody."""
        return await done("once", "pay", idempotency_key, to=to)

    return [look, dump, book, send, pay]


class Model:
    """The script, by a model that tells the witness of each request it really gets."""

    def __init__(self, report: Report, script: dict[str, Any] = SCRIPT) -> None:
        self._report = report
        self._scripted = ScriptedModel(script)

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        await self._report("model", key=f"{request.session} {request.turn} {request.attempt}")
        self._scripted.heard.clear()
        answer = await self._scripted.answer(request, hear)
        if request.agent != "boss":
            return answer
        said = msgspec.json.encode(answer).decode()
        child = next(iter(_CHILD.findall(" ".join(message.text for message in request.messages))), "")
        return msgspec.json.decode(said.replace("{child}", child), type=Answer)
