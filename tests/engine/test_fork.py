"""A new run begins as another one did, up to a point, and then goes its own way."""

from contextlib import asynccontextmanager

import pytest

from folkmoot import (
    DeclarationError,
    FakeClock,
    Folkmoot,
    Fork,
    MemoryJournal,
    ScriptedModel,
    Surroundings,
    WrongUse,
    tool,
)
from folkmoot.domain.message import Message, ToolCall
from folkmoot.engine.claims import RunIdentity
from folkmoot.ports import NewRun, Query
from tests.desk import SETTINGS, look, write
from tests.test_resume import PATTERNS, SAID

REFUND = {"calls": [{"tool": "refund", "arguments": {"order": 1042}}]}
FILES = {"desk": "tools: [look]"}
PAYING = {"desk": "tools: [refund]"}


class Bank:
    """A tool that must not be repeated; `keys` are the calls that it really got."""

    def __init__(self, effect="once"):
        self.keys = []

        @tool(effect=effect, access="write")
        async def refund(order: int, idempotency_key: str) -> str:
            """Pay it back."""
            self.keys.append(idempotency_key)
            return f"paid {order}"

        self.refund = refund


class Desks:
    """One journal, and as many openings with other models as a test wants; runs are called run-1, run-2, …"""

    def __init__(self, folder, files, tools, settings=SETTINGS):
        self.folder = write(folder, files, settings)
        self.tools = tools
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock.monotonic)
        self.runs = 0
        self.model = ScriptedModel({})

    def _identify(self, _):
        self.runs += 1
        return RunIdentity(f"run-{self.runs}", f"seed {self.runs}")

    @asynccontextmanager
    async def open(self, script):
        self.model = ScriptedModel(script, sleep=self.clock.sleep)
        around = Surroundings(env={}, clock=self.clock, journal=self.journal, identify=self._identify)
        async with Folkmoot.open(
            self.folder, tools=self.tools, models={"scripted": self.model}, around=around
        ) as moot:
            yield moot

    async def drafts(self, run):
        return [entry.draft async for entry in self.journal.read(Query(stream=run))]

    async def place(self, type, run="run-1", nth=0):
        drafts = await self.drafts(run)
        return [n for n, draft in enumerate(drafts, start=1) if draft.event.type == type][nth]


@pytest.fixture
def desks(tmp_path):
    def make(files=FILES, tools=(), settings=SETTINGS):
        return Desks(tmp_path, files, list(tools), settings)

    return make


async def test_a_fork_takes_over_the_past_and_goes_on_with_another_prompt(desks):
    """Issue 4: fork at an entry, with a changed prompt; nothing taken over is asked or paid again."""
    at = desks(tools=[look])
    script = {"desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "first"]}
    async with at.open(script) as moot:
        await moot.run("desk", "hello")
    cut = await at.place("tool.finished")
    async with at.open({"desk": ["never asked", "second"]}) as moot:
        result = await moot.fork("run-1", Fork(at=cut, prompts={"desk.ai": "Be short."}))
        replayed = await moot.replay("run-2")

    assert (result.run_id, result.final_report.content) == ("run-2", "second")
    assert [request.turn for request in at.model.heard] == [2]
    assert at.model.heard[0].messages[0].text == "Be short."
    assert [message.text for message in at.model.heard[0].messages[1:]] == ["hello", "", "seen x"]
    assert result.totals.model_requests == 1
    drafts, source = await at.drafts("run-2"), await at.drafts("run-1")
    assert {draft.session_id for draft in drafts} == {"run-2"}
    forked = drafts[cut].event
    assert (forked.type, forked.source, forked.at) == ("run.forked", "run-1", cut)
    assert forked.changes == ("desk.ai has another prompt",)
    assert [draft.event.type for draft in drafts[:cut]] == [draft.event.type for draft in source[:cut]]
    assert [draft.ts for draft in drafts[:cut]] == [draft.ts for draft in source[:cut]]
    assert replayed.equal, replayed.divergence


async def test_a_call_taken_over_is_not_repeated_and_the_next_one_asks_although_the_tool_does_not(desks):
    """DESIGN 4, Effects: a fork has new keys, and each `keyed` or `once` call in it asks first."""
    bank = Bank()
    at = desks(PAYING, [bank.refund])
    async with at.open({"desk": [REFUND, REFUND, "done"]}) as moot:
        await moot.run("desk", "hello")
    assert bank.keys == ["run-1/0/turn:1/call:1", "run-1/0/turn:2/call:1"]
    cut = await at.place("tool.finished")
    async with at.open({"desk": ["", REFUND, "done again"]}) as moot:
        waiting = await moot.fork("run-1", Fork(at=cut))
        (item,) = await moot.inbox("run-2")
        assert waiting.status == "waiting"
        assert (item.tool, item.risk, item.arguments) == ("refund", "fork", {"order": 1042})
        assert len(bank.keys) == 2
        await moot.reply(item.approve("ann"))
        result = await moot.resume("run-2")
        replayed = await moot.replay("run-2")

    assert result.final_report.content == "done again"
    assert bank.keys[2:] == ["run-2/0/turn:2/call:1"]
    assert replayed.equal, replayed.divergence


@pytest.mark.parametrize("effect", ["keyed", "once"])
async def test_a_call_that_was_under_way_or_approved_at_that_point_asks_anew(desks, effect):
    """C3: a word holds for one call of one run."""
    bank = Bank(effect)
    at = desks(PAYING, [bank.refund])
    async with at.open({"desk": [REFUND, "done"]}) as moot:
        await moot.run("desk", "hello")
    async with at.open({"desk": ["", "done"]}) as moot:
        waiting = await moot.fork("run-1", Fork(at=await at.place("tool.started")))
        assert waiting.status == "waiting"
        forks = [
            (await moot.fork("run-2", Fork(at=n))).status for n in range(5, len(await at.drafts("run-2")))
        ]

    assert set(forks) == {"waiting"}
    assert len(bank.keys) == 1


async def test_pure_calls_of_a_fork_ask_nobody(desks):
    at = desks(tools=[look])
    script = {"desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "done"]}
    async with at.open(script) as moot:
        await moot.run("desk", "hello")
        assert (await moot.fork("run-1", Fork(at=2))).success


async def test_an_answer_of_the_model_is_replaced_by_another(desks):
    at = desks(tools=[look])
    async with at.open({"desk": ["first", "second"]}) as moot:
        await moot.run("desk", "hello")
        said = await moot.fork("run-1", Fork(at=await at.place("llm.response"), answer="mine"))
        call = ToolCall("c", "look", {"where": "z"})
        message = Message("assistant", calls=(call,))
        acted = await moot.fork("run-1", Fork(at=await at.place("llm.request"), answer=message))
        again = [await moot.replay(run) for run in ("run-2", "run-3")]

    assert said.final_report.content == "mine"
    assert [
        draft.event.text for draft in await at.drafts("run-3") if draft.event.type == "tool.finished"
    ] == ["seen z"]
    assert acted.success
    assert all(replayed.equal for replayed in again)


async def test_another_model_answers_from_there_on(desks):
    at = desks(tools=[look])
    async with at.open({"desk": ["ok"]}) as moot:
        await moot.run("desk", "hello")
        result = await moot.fork("run-1", Fork(at=3, models={"desk": "scripted/other"}))
        with pytest.raises(DeclarationError, match="there is no provider 'nobody'"):
            await moot.fork("run-1", Fork(at=3, models={"desk": "nobody/x"}))

    assert result.accounting[0].name == "scripted/other"
    assert result.accounting[0].status == "ok"


async def test_another_request_begins_anew(desks):
    at = desks(tools=[look])
    async with at.open({"desk": ["ok"]}) as moot:
        await moot.run("desk", "hello")
        await moot.fork("run-1", Fork(at=1, request="goodbye"))
        with pytest.raises(WrongUse, match="--at 1"):
            await moot.fork("run-1", Fork(at=2, request="goodbye"))

    assert at.model.heard[-1].messages[-1].text == "goodbye"


@pytest.mark.parametrize(
    ("fork", "said"),
    [
        (Fork(at=99), "entries 1 to 6; there is no entry 99"),
        (Fork(at=0), "there is no entry 0"),
        (Fork(at=6), "entry 6 is run.completed: after it nothing goes on; fork it at 5 or before"),
        (Fork(at=2, answer="x"), "entry 2 is session.started, no answer of a model; the nearest is 4"),
        (Fork(at=2, prompts={"dsk.ai": "x"}), "no agent 'dsk.ai'"),
    ],
)
async def test_a_point_where_nothing_can_begin_is_refused_with_the_reason(desks, fork, said):
    at = desks(tools=[look])
    async with at.open({"desk": ["ok"]}) as moot:
        await moot.run("desk", "hello")
        assert len(await at.drafts("run-1")) == 6
        with pytest.raises(WrongUse, match=said):
            await moot.fork("run-1", fork)
        assert len(await moot.runs()) == 1


async def test_a_run_forked_at_any_entry_takes_up_every_branch_that_was_under_way(desks):
    """Issue 4: cutting where other branches were under way is sound; names are the same, since the seed is."""
    at = desks(PATTERNS, [look])
    async with at.open(SAID) as moot:
        whole = await moot.run("front.ai", "I want my money back")
        source = await at.drafts("run-1")
        for cut in range(1, len(source)):
            result = await moot.fork("run-1", Fork(at=cut))

            assert result.final_report == whole.final_report, f"forked at {cut}"
            forked = await at.drafts(result.run_id)
            names = {draft.session_id.replace(result.run_id, "run-1", 1) for draft in forked}
            assert names == {draft.session_id for draft in source}
            replayed = await moot.replay(result.run_id)
            assert replayed.equal, f"forked at {cut}: {replayed.divergence}"


async def interrupted(at, cut):
    """The run's first entries under another name, as a process left them that died."""
    drafts = await at.drafts("run-1")
    at.journal, kept = MemoryJournal(at.clock.monotonic), at.journal
    for draft in drafts[:1]:
        for id in (draft.event.graph, draft.event.tools):
            at.journal.keep(await kept.artifact(id))
    await at.journal.append("run-1", NewRun("host/0/0/gone", 0.0), drafts[:cut])


async def test_a_run_goes_on_with_the_present_files_only_if_told_to_and_says_so(desks):
    """Issue 4: `runs resume --with-current-files` is explicit and recorded."""
    at = desks(tools=[look])
    script = {"desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "done"]}
    async with at.open(script) as moot:
        await moot.run("desk", "hello")
    await interrupted(at, await at.place("tool.finished"))
    write(at.folder, {"desk": "---\ntools: [look]\n---\nYou are new."})
    async with at.open(script) as moot:
        result = await moot.resume("run-1", with_current_files=True)
        replayed = await moot.replay("run-1")

    assert result.success
    assert at.model.heard[0].messages[0].text == "You are new."
    (pin,) = [draft.event for draft in await at.drafts("run-1") if draft.event.type == "run.repinned"]
    assert pin.changed == ("desk.ai",)
    assert replayed.equal, replayed.divergence
    async with Folkmoot.reopen(
        at.folder, "run-1", tools=at.tools, around=Surroundings(env={}, clock=at.clock, journal=at.journal)
    ) as moot:
        assert moot.graph.agents["desk.ai"].prompt == "You are new."


async def test_files_into_which_a_run_does_not_fit_are_refused_before_anything_is_recorded(desks):
    at = desks(PATTERNS, [look])
    async with at.open(SAID) as moot:
        await moot.run("front.ai", "hello")
    await interrupted(at, await at.place("router.selected"))
    for name in ("law", "billing"):
        (at.folder / f"{name}.ai").unlink()
    write(at.folder, {"front": "advisors: [tax.ai]\nrouter: {destinations: [editor.ai]}\ntools: [look]"})
    async with at.open(SAID) as moot:
        with pytest.raises(WrongUse) as refused:
            await moot.resume("run-1", with_current_files=True)
        before = len(await at.drafts("run-1"))
        assert (await moot.resume("run-1")).success

    assert "law.ai has begun, and there is no such agent any more" in str(refused.value)
    assert "front.ai has routed to billing, which is no destination of it any more" in str(refused.value)
    assert "run.repinned" not in [draft.event.type for draft in await at.drafts("run-1")]
    assert before < len(await at.drafts("run-1"))
