"""The first thing that two runs did otherwise, in words."""

from itertools import count

from folkmoot.engine.claims import RunIdentity
from folkmoot.views.difference import difference
from tests.desk import look
from tests.test_resume import PATTERNS, SAID

NAMES = count(1)
"""No two runs have the same."""


async def ran(desk, script, files=PATTERNS, **more):
    at = desk(files, script, tools=[look], **more)
    name = next(NAMES)
    at.identity = RunIdentity(f"run-{name}", f"seed {name}")
    return (await at.run("front.ai" if files is PATTERNS else "desk")).drafts


async def test_runs_with_other_names_and_seeds_that_did_the_same_are_equal(desk):
    found = difference(await ran(desk, SAID), await ran(desk, SAID))

    assert found.equal
    assert (found.first, found.changes) == (None, ())


async def test_the_earliest_divergence_is_told_with_its_place_and_both_deeds(desk):
    clerk = [{"calls": [{"tool": "look", "arguments": {"where": "the till"}}]}, "3"]
    other = SAID | {"clerk": clerk, "editor": ["Dear friend"]}
    found = difference(await ran(desk, SAID), await ran(desk, other))

    assert str(found.first) == (
        "at 0/route:billing/turn:1/call:1 turn 1: A asks for look(where=x), asks for look(where=y), "
        "B asks for look(where=the till)"
    )
    assert [change.name for change in found.changes] == ["report", "tokens", "calls"]


async def test_a_branch_that_only_one_run_has_is_told(desk):
    other = SAID | {"front": [SAID["front"][0], {"report": "I do it myself"}]}
    found = difference(await ran(desk, SAID), await ran(desk, other))

    assert str(found.first) == 'at 0 turn 2: A chooses billing, B reports "I do it myself"'
    named = {change.name: (change.a, change.b) for change in found.changes}
    assert named["route"] == ("billing", "")


async def test_who_was_quicker_is_no_difference(desk):
    found = await ran(desk, SAID)
    law = [draft for draft in found if draft.span == "0/advisor:law"]
    rest = [draft for draft in found if draft.span != "0/advisor:law"]

    assert difference(found, [*rest[:1], *law, *rest[1:]]).equal
    assert difference(found, [*rest[:8], *law, *rest[8:]]).equal


async def test_a_result_that_was_another_is_told(desk):
    script = {"desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, "ok"]}
    drafts = await ran(desk, script, {"desk": "tools: [look]"})
    changed = [
        draft
        if draft.event.type != "tool.finished"
        else type(draft)(
            draft.ts,
            type(draft.event)(1, 1, "look", "seen nothing", "ev"),
            draft.session_id,
            draft.span,
            draft.agent_id,
        )
        for draft in drafts
    ]

    assert str(difference(drafts, changed).first) == (
        'at 0 turn 1: A reads from look: "seen x", B reads from look: "seen nothing"'
    )
