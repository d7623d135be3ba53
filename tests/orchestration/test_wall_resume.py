"""The time that an agent has is counted on in a resumed run, without the time in which it waited for a person."""

import asyncio

import pytest

from tests.desk import by_span
from tests.orchestration.test_clarify import CALL

SLOW = {"delay": "6s", "calls": [{"tool": "nothing"}]}
PATTERNS = {
    "agent": ("agents: [clerk.ai]", [CALL, "ok"]),
    "advisor": ("advisors: [clerk.ai]", ["ok"]),
    "member": ("team: {members: [clerk.ai]}", ["ok"]),
}


def moments(played):
    """What happened when, in each span; only how long the calls around took is measured anew."""
    spans = by_span(played.drafts)
    return {span: [(draft.event.type, draft.ts) for draft in spans[span]] for span in spans}


async def passing(at, work):
    """A minute passes while it runs."""
    running = asyncio.ensure_future(work)
    await at.clock.advance(60)
    return await running


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_an_agent_that_is_resumed_has_only_the_time_that_was_left(desk, pattern):
    """DESIGN 4: stopped where it would have been stopped anyway."""
    declared, said = PATTERNS[pattern]
    files = {"desk": declared, "clerk": "budget: {wall: 10s}"}
    script = {"desk": said, "clerk": {"turns": [SLOW], "repeat": True}}
    at = desk(files, script)
    whole = await at.run("desk.ai", lasting=60)
    assert any("10 s wall time of 'clerk'" in str(draft.event) for draft in whole.drafts)
    slept = [n for n, draft in enumerate(whole.drafts) if draft.ts.endswith("00:00:06.000Z")]

    again = desk(files, script)
    await again.clock.advance(6)
    played = await passing(again, again.continued(whole.drafts[: slept[0] + 1]))

    assert moments(played) == moments(whole)


async def test_an_agent_that_waits_for_a_person_uses_up_no_time(desk):
    """O-22: of the agent's own budget as of the run's."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "tools: [ask_user]\nbudget: {wall: 10s}"}
    question = {"calls": [{"tool": "ask_user", "arguments": {"question": "which?"}}]}
    at = desk(files, {"desk": [CALL, "ok"], "clerk": [question, {"delay": "6s", "text": "3"}]})
    async with at.open() as moot:
        (item,) = (await moot.run("desk", "go")).inbox
        await at.clock.advance(3600)
        await moot.reply(item.answer("blue"))
        result = await passing(at, moot.resume("run-1"))

    assert (await at.played(result)).events("session.completed")[0].outcome.report.content == "3"
