"""A run happens again from its journal alone, entry by entry, whatever pattern it was."""

from folkmoot.engine.replay import replay

from tests.test_resume import AGENTS, PATTERNS, SAID, SCRIPT, look


async def test_a_conversation_with_failures_and_refusals_happens_again(desk):
    at = desk(AGENTS, SCRIPT, tools=[look])
    whole = await at.run("desk.ai")
    again = await replay(at.journal, "run-1")
    assert again.divergence == ""
    assert again.equal
    assert again.events == len(whole.drafts)


async def test_all(desk):
    at = desk(PATTERNS, SAID, tools=[look])
    whole = await at.run("front.ai")
    again = await replay(at.journal, "run-1")
    assert again.divergence == ""
    assert again.equal
