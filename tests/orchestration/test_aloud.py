"""Whose words are told as the report of a run, of all agents that take part."""

import asyncio

import pytest

from folkmoot import MemoryJournal
from folkmoot.domain.errand import Errand
from folkmoot.orchestration.invocation import TokenListeners
from tests.desk import SETTINGS
from tests.orchestration.test_strategies import PLAN

FOLLOWED = Errand(aloud=True)
ROUTER = "router: {destinations: [end.ai]}"
TO_END = {"text": "I pass you on.", "route": "end"}


class Listener:
    """What was told as the report, by attempt."""

    def __init__(self):
        self.attempts = []
        self.everything = []

    @property
    def ear(self):
        return TokenListeners(lambda span, piece: self.everything.append(piece), self._begins)

    def _begins(self):
        self.attempts.append("")
        return self._hear

    def _hear(self, piece):
        self.attempts[-1] += piece


async def followed(at, errand=FOLLOWED):
    listener = Listener()
    async with at.open() as moot:
        result = await moot.run("a", "hello", hear=listener.ear, errand=errand)
    return await at.played(result), listener


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"a": ""}, {"a": ["the end"]}),
        ({"a": "handoff: end.ai", "end": ""}, {"a": ["a draft"], "end": ["the end"]}),
        ({"a": ROUTER, "end": ""}, {"a": [TO_END], "end": ["the end"]}),
        (
            {"a": ROUTER, "end": "handoff: last.ai", "last": ""},
            {"a": [TO_END], "end": ["a draft"], "last": ["the end"]},
        ),
        (
            {"a": f"{ROUTER}\nhandoff: last.ai", "end": "", "last": ""},
            {"a": [TO_END], "end": ["a draft"], "last": ["the end"]},
        ),
        (
            {"a": "advisors: [law.ai]\nhandoff: end.ai", "law": "", "end": ""},
            {"law": ["advice"], "a": ["a draft"], "end": ["the end"]},
        ),
    ],
)
async def test_only_the_last_of_a_chain_is_told_as_the_report(desk, files, script):
    """Issue 8: what is streamed is the report."""
    played, listener = await followed(desk(files, script))

    assert listener.attempts == [played.report] == ["the end"]
    assert "the end" in "".join(listener.everything)


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"a": "tools: [ask_user]"}, {"a": ["the end"]}),
        ({"a": ROUTER, "end": ""}, {"a": ["the end"]}),
        ({"a": "agents: [b.ai]", "b": ""}, {"a": [{"calls": [{"tool": "b", "arguments": {"prompt": "x", "reason": "y"}}]}, "the end"], "b": ["more"]}),
        ({"a": "team: {members: [b.ai]}", "b": ""}, {"b": ["done"], "a": [{"report": "the end"}]}),
        ({"a": "output: {format: json}"}, {"a": ['{"the":"end"}']}),
        ({"a": "planningStrategy: spar"}, {"a/planner": [PLAN], "a/sense": ["nothing"], "a/step": ["did it", "did it"], "a/reflect": ['{"done": true}'], "a": ["the end"]}),
        ({"a": "planningStrategy: plan_and_execute"}, {"a/planner": [PLAN], "a/executor": ["the end"]}),
    ],
)  # fmt: skip
async def test_of_all_others_nobody_knows_before_they_have_ended(desk, files, script):
    played, listener = await followed(desk(files, script))

    assert played.result.success
    assert listener.attempts == []


async def test_who_is_followed_by_nobody_is_offered_the_report_as_ever(desk):
    played, listener = await followed(desk({"a": ""}, {"a": ["the end"]}), Errand())

    assert (played.offered("a"), listener.attempts) == (["agent__final_report"], [])


async def test_a_report_that_is_called_for_all_that_is_taken(desk):
    """A model that is offered nothing may still have learnt it."""
    called = {"calls": [{"tool": "agent__final_report", "arguments": {"report_content": "the end"}}]}
    played, listener = await followed(desk({"a": ""}, {"a": [called]}))

    assert (played.offered("a"), played.report, listener.attempts) == ([], "the end", [""])


@pytest.mark.parametrize("format", ["text", "markdown"])
async def test_a_report_of_a_script_is_told_and_is_the_same_for_who_is_followed_by_nobody(desk, format):
    """K-31: also in another format than text, and where the script says more."""
    at = desk({"a": f"output: {{format: {format}}}"}, {"a": [{"text": "Let me see.", "report": "the end"}]})
    played, listener = await followed(at)

    assert (played.report, listener.attempts) == ("the end", ["the end"])
    at.journal = MemoryJournal()
    played, listener = await followed(at, Errand())
    assert (played.report, listener.attempts) == ("the end", [])


async def test_what_a_script_reports_beside_its_words_is_kept_for_who_is_followed_too(desk):
    """K-31."""
    at = desk({"a": "output: {format: markdown}"}, {"a": [{"report": "the end", "metadata": {"k": "v"}}]})
    played, _ = await followed(at)

    assert (played.report, played.result.final_report.metadata) == ("the end", {"k": "v"})


async def test_each_attempt_and_each_turn_begins_anew(desk):
    cut = {"attempts": [{"begins": "the ", "error": "cut"}, " "]}
    at = desk({"a": ""}, {"a": [cut, "the end"]})
    following = asyncio.create_task(followed(at))
    await at.clock.advance(1)
    _, listener = await following

    assert listener.attempts == ["the ", " ", "the end"]


async def test_a_run_that_is_resumed_is_told_from_its_first_word(desk):
    """The process ended between the request and its answer."""
    at = desk({"a": ""}, {"a": ["the end"]})
    played, _ = await followed(at)
    cut = played.types.index("llm.request") + 1
    listener = Listener()
    continued = await at.continued(played.drafts[:cut], hear=listener.ear)

    assert listener.attempts == [continued.report] == ["the end"]


async def test_such_a_run_can_be_replayed(desk):
    """What a model was offered follows from what is recorded."""
    at = desk({"a": ROUTER, "end": ""}, {"a": [TO_END], "end": [" ", "the end"]})
    await followed(at)
    async with at.open() as moot:
        replayed = await moot.replay("run-1")

    assert (replayed.equal, replayed.divergence) == (True, "")


async def test_no_piece_that_anybody_hears_holds_a_secret(desk):
    """Issue 5: secrets appear nowhere, in no two pieces either."""
    said = {"begins": "it is sword", "text": "fish-1234 and sword"}
    at = desk({"a": ""}, {"a": [said]}, settings=f"{SETTINGS}secrets: [PIN]\n")
    at.env = {"PIN": "swordfish-1234"}
    played, listener = await followed(at)

    assert listener.attempts == ["it is {{secret:PIN}} and "]
    assert "".join(listener.everything) == listener.attempts[0]
    assert played.report == "it is {{secret:PIN}} and sword"
