"""A small run of every kind: what is replayed by the tests, and what the golden journals were made of."""

import asyncio

from folkmoot.domain.duration import seconds_between
from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun, Query
from tests.desk import SETTINGS, Desk, look
from tests.fakes import fake
from tests.orchestration.calling import ask, ask_all, calling
from tests.orchestration.messages import calls as making
from tests.orchestration.messages import have, tell, write
from tests.test_resume import PATTERNS, SAID

LONG = "All is well. " * 400
SLOW = {"delay": "1h", "text": "late"}
CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}
CLARIFY = {"tool": "agent__ask_clarification", "arguments": {"child_id": "clerk", "question": "why 3?"}}


pay = fake("pay(to)", "paid {to}", access="write", asks="high")
send = fake("send(to)", "sent to {to}", effect="once", access="write")
book = fake("book", "page " * 9000)


async def plainly(at):
    await at.run("desk")


def patterns(folder):
    """Advisors, one of which fails, a router, a handoff, and agents as tools."""
    files, script = dict(PATTERNS), dict(SAID)
    files["desk"], script["desk"] = files.pop("front"), script.pop("front")
    return Desk(folder, files, script, tools=[look]), plainly


def retries(folder):
    attempts = [{"error": "overloaded"}, {"error": "overloaded"}, {"report": "at last"}]
    files = {"desk": "models: [scripted/one, scripted/two]\ntools: [book]"}
    script = {"desk": [{"calls": [{"tool": "nothing"}, {"tool": "book"}]}, {"attempts": attempts}]}

    async def play(at):
        async with at.open() as moot:
            running = asyncio.ensure_future(moot.run("desk", "hello"))
            await at.clock.advance(300)
            await running

    return Desk(folder, files, script, tools=[book]), play


def failed(folder):
    return Desk(folder, {"desk": ""}, {"desk": [{"error": {"message": "no", "retryable": False}}]}), plainly


def team(folder):
    files = {"desk": "team: {members: [coder.ai, tester.ai]}", "coder": "tools: [look]", "tester": ""}
    script = {
        "coder": [
            {"calls": [{"tool": "look", "arguments": {"where": "x"}}]},
            {"broadcast": "wrote it"},
            {"broadcast": {"message": "fixed it", "final": True, "outcome": "success"}},
        ],
        "tester": [{"broadcast": "line 3 fails"}, {"error": {"message": "gone", "retryable": False}}],
        "desk": [{"broadcast": "fix line 3"}, {"report": "it is done"}],
    }
    return Desk(folder, files, script, tools=[look]), plainly


def nested(folder):
    """A team within a team, and a member that routes."""
    files = {
        "desk": "team: {members: [build.ai, sales.ai]}",
        "build": "team: {members: [coder.ai, tester.ai]}",
        "sales": "router: {destinations: [prices.ai]}",
        **{"coder": "tools: [look]", "tester": "", "prices": ""},
    }
    gone = {"broadcast": {"message": "all green", "final": True, "outcome": "success"}}
    script = {
        "coder": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "wrote it", "shipped it"],
        "tester": [gone],
        "build": [{"report": "it works"}, {"report": "it is shipped"}],
        "sales": [{"route": "prices"}, "sold"],
        "prices": ["9 EUR"],
        "desk": [{"broadcast": "ship and sell"}, {"report": "it is done"}],
    }
    return Desk(folder, files, script, tools=[look]), plainly


def calls(folder):
    """Called agents, one made up, in parallel, summarised, and answered from the cache."""
    fast = "models: {default: scripted/any, fast: scripted/small}"
    settings = calling("summarize_results: true, enable_result_cache: true").replace(
        "models: {default: scripted/any}", fast
    )
    made_up = ask("think", agent_definition={"system_prompt": "You think."})
    several = ask_all({"mission": "count", "specialist": "clerk"}, {"mission": "b", "specialist": "nobody"})
    script = {
        "desk": [
            {"calls": [ask("count", "clerk"), ask("count", "clerk"), made_up]},
            {"calls": [several]},
            "ok",
        ],
        "clerk": [{"report": LONG}],
        "summary": ["Well."],
        "custom": ["thought"],
    }
    return Desk(folder, {"desk": "", "clerk": ""}, script, settings=settings), plainly


def clarification(folder):
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true"}
    script = {
        "desk": [{"calls": [CLERK]}, {"calls": [CLARIFY]}, "ok"],
        "clerk": ["3", "because"],
    }
    return Desk(folder, files, script), plainly


def inbox(folder):
    """A question and two approvals, answered one by one in an activation each."""
    files = {"desk": "agents: [clerk.ai]\ntools: [ask_user]", "clerk": "tools: [pay, look]"}
    paid = [{"tool": "pay", "arguments": {"to": name}} for name in ("ann", "bob")]
    ask_first = {"tool": "ask_user", "arguments": {"question": "How much?"}}
    script = {
        "desk": [{"calls": [ask_first, CLERK]}, "done"],
        "clerk": [{"calls": [paid[0], {"tool": "look", "arguments": {"where": "x"}}, paid[1]]}, "ok"],
    }

    async def play(at):
        async with at.open() as moot:
            result = await moot.run("desk", "hello")
            while result.status == "waiting":
                item = next(item for item in await moot.inbox("run-1") if item.is_open)
                denied = item.arguments.get("to") == "bob"
                word = item.deny("not bob") if denied else item.approve()
                await moot.reply(item.answer("5") if item.kind == "question" else word)
                result = await moot.resume("run-1")

    return Desk(folder, files, script, tools=[pay, look]), play


def unattended(folder):
    files = {"desk": "tools: [ask_user, pay]"}
    ask_first = {"tool": "ask_user", "arguments": {"question": "How much?"}}
    script = {"desk": [{"calls": [ask_first, {"tool": "pay", "arguments": {"to": "x"}}]}, "nobody there"]}
    return Desk(
        folder, files, script, settings=SETTINGS + "approvals: {unattended: deny}\n", tools=[pay]
    ), plainly


def doubt(folder):
    """A `once` call whose process died; it waits, and is made again as a person says."""
    script = {"desk": [{"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "ok"]}

    async def play(at):
        await at.run("desk")
        drafts = [entry.draft async for entry in at.journal.read(Query(stream="run-1"))]
        cut = next(n for n, draft in enumerate(drafts, start=1) if draft.event.type == "tool.started")
        at.journal = type(at.journal)(at.clock.monotonic)
        async with at.open() as moot:
            at.journal.keep(encode_graph(moot.graph))
            await at.journal.append("run-1", NewRun("host/0/0/gone", 0.0), drafts[:cut])
            await moot.resume("run-1")
            (item,) = await moot.inbox("run-1")
            await at.clock.advance(seconds_between(at.clock.now(), item.retry_from))
            await moot.reply(item.settle("retry", by="ann"))
            await moot.resume("run-1")

    return Desk(folder, {"desk": "tools: [send]"}, script, tools=[send]), play


def budget(folder):
    """Three children want more requests than are left; who gets them depends on who is quicker."""
    files = {"desk": "agents: [clerk.ai]\nbudget: {requests: 6}", "clerk": "tools: [look]"}
    script = {
        "desk": [{"calls": [CLERK] * 3}, "what there was"],
        "clerk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "3"],
    }
    return Desk(folder, files, script, tools=[look]), plainly


def wall(folder):
    async def play(at):
        async with at.open() as moot:
            running = asyncio.ensure_future(moot.run("desk", "hi"))
            await at.clock.advance(12)
            await running

    return Desk(folder, {"desk": "budget: {wall: 10s}"}, {"desk": [SLOW]}), play


def cancelled(folder):
    """Two advisors are under way, one of which rests between two attempts."""
    files = {"desk": "advisors: [law.ai, tax.ai]", "law": "", "tax": ""}
    script = {"law": [SLOW], "tax": [{"attempts": [{"error": "overloaded"}, SLOW]}], "desk": ["never"]}

    async def play(at):
        async with at.open() as moot:
            running = asyncio.ensure_future(moot.run("desk", "hi"))
            await at.clock.advance(0.1)
            await moot.cancel("run-1", "enough")
            await running

    return Desk(folder, files, script), play


def gate(folder):
    """Rules, taint, a word for the whole run, a parent that does not approve, a tool taken away and given back."""
    settings = SETTINGS + (
        "approvals: {approvers: [parent, human], expires: 1h}\n"
        "rules:\n"
        "  - {tool: send, arguments: {to: eve}, decision: deny, reason: not her}\n"
        "  - {tool: send, arguments: {to: {glob: 'b*'}}, decision: allow}\n"
        "  - {tool: send, agent: clerk, decision: ask}\n"
    )
    files = {"desk": "tools: [send, look]\nagents: [clerk.ai]", "clerk": "tools: [send]"}
    sends = [{"tool": "send", "arguments": {"to": name}} for name in ("ann", "bob", "eve", "ann")]
    script = {
        "desk": [
            {"calls": [CLERK, {"tool": "look"}]},
            {"calls": [*sends[:1], *sends[2:]]},
            {"calls": sends},
            "done",
        ],
        "clerk": [{"calls": [sends[0], {"tool": "send"}]}, "ok"],
    }

    async def answer(item):
        return item.approve("ann", "run") if item.agent == "desk" else None

    async def play(at):
        async with at.open() as moot:
            await moot.run("desk", "hello")
            await moot.gate("run-1", "look", by="ann")
            await moot.ungate("run-1", "look", by="ann")
            for item in await moot.inbox():
                await moot.reply(item.approve("ann"))
            await moot.resume("run-1", answer=answer)

    return Desk(folder, files, script, tools=[send, look], settings=settings), play


def messages(folder):
    """Agents write to each other: at once, again, on to a third, to all, to themselves; one works for another."""
    writing = "tools: [messages, look]"
    files = {"desk": writing, "bob": f"{writing}\nadvisors: [law.ai]", "cid": "role: reviewer", "law": ""}
    seen = {"tool": "look", "arguments": {"where": "x"}}
    script = {
        "desk": [
            making(write("bob", "one"), write("bob", "two"), write("cid"), write("desk")),
            making(write("bob", "three"), have("cid", label="Work")),
            making(tell(), write("bob", "four", conversation_id="new")),
            "done",
        ],
        "bob": [making(write("cid", "between us"), seen), "yes"],
        "cid": ["seen"],
        "law": [{"error": {"message": "no", "retryable": False}}],
    }
    return Desk(folder, files, script, tools=[look]), plainly


SCENES = {
    scene.__name__: scene
    for scene in (
        *(patterns, retries, failed, team, calls, clarification, inbox, unattended, doubt, budget, wall),
        *(cancelled, gate, messages, nested),
    )
}


async def played(name, folder):
    """The desk after the scene; its journal holds the run `run-1`."""
    at, play = SCENES[name](folder)
    await play(at)
    return at
