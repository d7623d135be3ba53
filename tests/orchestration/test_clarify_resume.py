"""A run with clarifications that is cut anywhere and continued ends the same."""

import pytest
from msgspec.structs import replace

from tests.desk import SETTINGS, in_no_order
from tests.orchestration.test_clarify import (
    BOUND,
    CALL,
    DEEP,
    FILES,
    NESTED,
    Ids,
    ask,
    bound,
    called,
    nested,
    rehearsed,
)


async def ends_the_same(desk, files, script, settings=SETTINGS):
    whole = await desk(files, script, settings=settings).run("desk.ai")
    for cut in range(1, len(whole.drafts)):
        again = desk(files, script, settings=settings)
        played = await again.continued(whole.drafts[:cut])

        assert in_no_order(played.drafts) == in_no_order(whole.drafts), f"cut after event {cut}"
        assert played.report == whole.report
        assert played.result.totals == whole.result.totals
        answered = sum(draft.event.type in ("llm.response", "llm.failed") for draft in whole.drafts[:cut])
        assert len(again.model.heard) == len(whole.model.heard) - answered
        assert heard(again.model) <= heard(whole.model)
    return whole


def heard(model):
    """What was really sent: by whom, in which turn, the whole conversation, and the tools with it."""
    return {repr(replace(request, again=False)) for request in model.heard}


async def test_nested_clarifications_cut_after_any_event_continue_to_the_same_end(desk):
    """A-101, DESIGN 4: nothing is asked twice, and every request is the one that was or would have been sent."""
    await ends_the_same(desk, NESTED, nested(await rehearsed(desk)), DEEP)


async def test_refused_failed_and_simultaneous_questions_continue_to_the_same_end(desk):
    """A-97, A-98, DESIGN 4."""
    files = {
        "desk": "agents: [clerk.ai, boy.ai]\nadvisors: [law.ai]",
        "clerk": "chat: true\nmaxTurns: 4\nbudget: {tokens: 100000, requests: 9}",
        "boy": "",
        "law": "chat: true",
    }
    both = {"calls": [*CALL["calls"], *called("boy")["calls"]]}
    broken = {"error": {"message": "down", "retryable": False}}
    rest = {"clerk": ["3", "A", broken, "C"], "boy": ["b"], "law": ["by law", "L"]}
    ids = Ids(await desk(files, {"desk": [both, "ok"], **rest}).run("desk.ai"))
    clerk = ids("clerk")
    asks = {"calls": [ask(clerk, "a?"), ask(clerk, "b?"), ask("boy"), ask(ids("law")), ask("nobody")]}
    script = {"desk": [both, asks, {"calls": [ask(clerk), ask(clerk)]}, "done"], **rest}
    whole = await ends_the_same(desk, files, script)

    assert [event.code for event in whole.events("clarification.refused")] == [
        "chat_disabled",
        "unknown_child",
        "clarification_no_turns",
    ]
    assert [event.success for event in whole.events("clarification.answered")].count(False) == 1


async def test_the_budget_of_the_child_holds_in_a_continued_run_too(desk):
    """O-20, DESIGN 4."""
    ids = Ids(await desk(BOUND, {"desk": [CALL, "ok"], "clerk": ["3"]}).run("desk.ai"))
    whole = await ends_the_same(desk, BOUND, bound(ids("clerk")))

    assert [event.success for event in whole.events("clarification.answered")] == [True, False]


@pytest.mark.parametrize("chat", ["chat: true", ""])
async def test_a_child_without_questions_continues_to_the_same_end(desk, chat):
    await ends_the_same(desk, {**FILES, "clerk": chat}, {"desk": [CALL, "ok"], "clerk": ["3"]})
