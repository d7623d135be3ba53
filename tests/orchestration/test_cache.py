"""Results of earlier calls, used again."""

import asyncio

from folkmoot import MemoryJournal
from folkmoot.engine.claims import RunIdentity
from tests.desk import by_span
from tests.fakes import fake
from tests.orchestration.calling import ask, ask_all, calling, results

FILES = {"desk": "tools: [rest]\ntoolTimeout: off", "clerk": ""}
CACHE = "enable_result_cache: true"
COUNT = {"calls": [ask("count", "clerk")]}


rest = fake("rest", "rested")


def at_desk(desk, script, more=CACHE, files=FILES):
    return desk(files, script, settings=calling(more), tools=[rest])


async def test_by_default_equal_calls_run_twice(desk):
    """B-42."""
    said = {"desk": [COUNT, COUNT, "ok"], "clerk": ["3"]}
    played = await at_desk(desk, said, more="").run("desk.ai")

    assert len(played.model.heard_from("clerk")) == 2
    assert "cached" not in results(played)[0]


async def test_an_equal_call_is_answered_from_the_journal_and_says_so(desk):
    """B-42, B-49, pains 18: nothing is started, nothing is spent."""
    said = {"desk": [COUNT, COUNT, "ok"], "clerk": ["3"]}
    played = await at_desk(desk, said).run("desk.ai")

    [first], [second] = results(played), results(played, request=2)
    assert second == first | {"cached": True}
    assert len(played.model.heard_from("clerk")) == 1
    assert played.started() == ["desk", "clerk"]
    [hit] = played.events("cache.hit")
    [completed] = played.events("sub_agent.completed")
    assert (hit.span, hit.key, hit.session) == ("0/turn:2/call:1", completed.key, first["session_id"])


async def test_equal_calls_at_the_same_time_run_once(desk):
    """B-49: the second waits for what the first gives; also in a batch."""
    both = {
        "calls": [
            ask("count", "clerk"),
            ask("count", "clerk"),
            ask_all({"mission": "count", "specialist": "clerk"}),
        ]
    }
    played = await at_desk(desk, {"desk": [both, "ok"], "clerk": ["3"]}).run("desk.ai")

    assert len(played.model.heard_from("clerk")) == 1
    assert len(played.events("cache.hit")) == 2


async def test_a_result_of_an_earlier_run_is_used_until_it_is_too_old_or_a_file_changes(desk):
    """B-43, B-49: an hour by default."""
    at = at_desk(desk, {"desk": [COUNT, "ok"], "clerk": ["3"]})

    async def run(name):
        at.identity = RunIdentity(name, f"seed of {name}")
        return await at.run("desk.ai")

    first = await run("run-1")
    await at.clock.advance(3600)
    again = await run("run-2")
    assert results(again, request=3)[0] == results(first)[0] | {"cached": True}
    assert len(at.model.heard_from("clerk")) == 1

    await at.clock.advance(1)
    await run("run-3")
    assert len(at.model.heard_from("clerk")) == 2

    (at.folder / "clerk.ai").write_text("---\n---\nYou are another clerk.\n")
    await run("run-4")
    assert len(at.model.heard_from("clerk")) == 3


async def test_how_long_a_result_holds_can_be_set(desk):
    """B-43."""
    said = {"desk": [COUNT, {"delay": "61s", **COUNT}, "ok"], "clerk": ["3"]}
    at = at_desk(desk, said, f"{CACHE}, cache_ttl_seconds: 60")
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello"))
        await at.clock.advance(61)
        await running

    assert len(at.model.heard_from("clerk")) == 2


async def test_another_mission_definition_or_agent_is_another_call(desk):
    """B-49, B-50."""
    calls = [
        ask("count", "clerk"),
        ask("count again", "clerk"),
        ask("count"),
        ask("count", agent_definition={"system_prompt": "a"}),
        ask("count", agent_definition={"system_prompt": "b"}),
        ask("count", agent_definition={"system_prompt": "b", "tool_allowlist": []}),
    ]
    said = {"desk": [{"calls": calls}, "ok"], "clerk": ["3"], "custom": ["4"]}
    played = await at_desk(desk, said).run("desk.ai")

    assert played.events("cache.hit") == []
    assert len({event.key for event in played.events("sub_agent.completed")}) == 6


async def test_a_failure_is_never_used_again(desk):
    """B-50."""
    said = {"desk": [COUNT, COUNT, "ok"], "clerk": [{"error": {"message": "down", "retryable": False}}]}
    played = await at_desk(desk, said).run("desk.ai")

    assert len(played.model.heard_from("clerk")) == 2
    assert results(played, request=2)[0]["success"] is False


async def test_a_run_with_hits_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: what was answered from the cache is answered the same, however old it is by then."""
    said = {"desk": [{"calls": [*COUNT["calls"], *COUNT["calls"]]}, COUNT, "ok"], "clerk": ["3"]}
    at = at_desk(desk, said)
    whole = await at.run("desk.ai")
    [completed] = whole.events("sub_agent.completed")
    kept = await at.journal.artifact(completed.artifact)

    for cut in range(1, len(whole.drafts)):
        again = at_desk(desk, said)
        (journal := MemoryJournal(again.clock.monotonic)).keep(kept)
        played = await again.continued(whole.drafts[:cut], journal=journal)

        assert by_span(played.drafts) == by_span(whole.drafts), f"cut after event {cut}"
        assert played.result.totals == whole.result.totals


async def test_a_result_that_nobody_kept_is_found_out_anew(desk):
    """B-49: the event alone is not enough."""
    said = {"desk": [COUNT, COUNT, "ok"], "clerk": ["3"]}
    whole = await at_desk(desk, said).run("desk.ai")
    second = [draft.span for draft in whole.drafts].index("0", whole.types.index("sub_agent.completed")) + 1

    again = at_desk(desk, said)
    played = await again.continued(whole.drafts[:second])

    assert played.report == "ok"
    assert len(again.model.heard_from("clerk")) == 1
