"""What the people of a team keep, they may ask in every later cycle."""

import pytest

from tests.orchestration.test_clarify import CALL, Ids, answer, ask, results
from tests.orchestration.test_clarify_resume import ends_the_same

MEMBER = {
    "desk": "team: {members: [coder.ai]}",
    "coder": "agents: [clerk.ai]\nadvisors: [law.ai]",
    "clerk": "chat: true",
    "law": "chat: true",
}
LEAD = {
    "desk": "team: {members: [coder.ai]}\nagents: [clerk.ai]\nadvisors: [law.ai]",
    "coder": "",
    "clerk": "chat: true",
    "law": "chat: true",
}
KEPT = {"clerk": ["3", "I counted twice"], "law": ["by law", "paragraph 3"]}


def script(files, asks):
    busy = [CALL, {"broadcast": "begun"}, {"calls": asks} if asks else {"broadcast": "more"}]
    if files is MEMBER:
        return {"coder": [*busy, {"broadcast": "done"}], "desk": [{"broadcast": "go on"}, "so be it"], **KEPT}
    return {"desk": [*busy, "so be it"], "coder": [{"broadcast": "hm"}] * 2, **KEPT}


async def asking(desk, files):
    rehearsal = Ids(await desk(files, script(files, [])).run("desk.ai"))
    return [ask(rehearsal("clerk")), ask(rehearsal("law"))]


@pytest.mark.parametrize("files", [MEMBER, LEAD], ids=["member", "lead"])
async def test_a_child_of_an_earlier_cycle_and_an_advisor_can_be_asked(desk, files):
    """A-92, A-69, A-107: it is one conversation, in however many parts."""
    asks = await asking(desk, files)
    played = await desk(files, script(files, asks)).run("desk.ai")

    who = "coder" if files is MEMBER else "desk"
    assert "agent__ask_clarification" not in played.offered("desk" if files is MEMBER else "coder")
    read = [answer(text)[0]["content"] for text in results(played, who)[-2:]]
    assert read == ["I counted twice", "paragraph 3"]
    assert played.report == "so be it"


@pytest.mark.parametrize("files", [MEMBER, LEAD], ids=["member", "lead"])
async def test_with_the_team_goes_what_its_people_kept(desk, files):
    """A-102."""
    played = await desk(files, script(files, [])).run("desk.ai")

    assert sorted(draft.agent_id for draft in played.drafts if draft.event.type == "session.destroyed") == [
        "clerk",
        "law",
    ]


@pytest.mark.parametrize("files", [MEMBER, LEAD], ids=["member", "lead"])
async def test_such_a_team_cut_after_any_event_continues_to_the_same_end(desk, files):
    """DESIGN 4."""
    await ends_the_same(desk, files, script(files, await asking(desk, files)))
