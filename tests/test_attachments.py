"""Images and documents that go with a request, through the whole house: who sees them, and that they last."""

import pytest
from msgspec.structs import replace

from folkmoot import Fork, MemoryJournal, WrongUse, tool
from folkmoot.contract.verify import verify
from folkmoot.domain.errand import Errand
from folkmoot.domain.message import Attachment, ToolResult
from folkmoot.domain.part import IMAGE_TOKENS, File, Part
from folkmoot.engine.runs import import_runs
from folkmoot.journal.codec import data_of
from folkmoot.journal.copies import open_source, write_bundle
from folkmoot.ports import Query
from tests.desk import SETTINGS, unclaimed
from tests.fakes import fake
from tests.files import BILL, NOTE, PDF, PHOTO, PNG
from tests.orchestration import test_contract as contract

LOOK = {"calls": [{"tool": "look"}]}
TALK = {"desk": [LOOK, "A parcel."]}
AGENTS = {"desk": "tools: [look]"}
REFUSED = {"error": {"message": "no images here", "status": 400}}


look = fake("look", "seen")


async def played(at, agent="desk.ai", files=(PHOTO, BILL), **more):
    async with at.open() as moot:
        return await at.played(await moot.run(agent, "What is it?", attachments=files, **more))


def seen_by(run, agent):
    """The names of what each request of an agent carried, message by message."""
    return [
        [part.name for message in request.messages for part in message.parts]
        for request in run.model.heard_from(agent)
    ]


async def test_a_model_is_given_the_content_and_the_journal_holds_only_what_it_is(desk):
    """Issue 8: image and document parts pass through; the content is an artifact."""
    at = desk(AGENTS, TALK, tools=[look])
    run = await played(at)
    parts = run.events("run.started")[0].errand.attachments

    assert [(part.media, part.name, part.size) for part in parts] == [
        ("image/png", "photo.png", len(PNG)),
        ("application/pdf", "bill.pdf", len(PDF)),
    ]
    assert run.events("session.started")[0].parts == parts
    assert [request.contents for request in run.model.heard] == [
        {parts[0].artifact: PNG, parts[1].artifact: PDF}
    ] * 2
    assert [await at.journal.artifact(part.artifact) for part in parts] == [PNG, PDF]
    assert not any(b"PNG\\r" in data_of(draft) or b"/Page" in data_of(draft) for draft in run.drafts)


async def test_whoever_reads_the_users_own_text_sees_what_the_user_attached(desk):
    """Advisors, destinations and handoffs get the request as it is; a sub-agent gets what its caller writes."""
    files = {
        "front": "advisors: [law.ai]\nrouter: {destinations: [billing.ai]}\nhandoff: editor.ai",
        "law": "",
        "billing": "agents: [clerk.ai]",
        "clerk": "",
        "editor": "",
    }
    ask = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}]}
    said = {
        "front": [{"route": "billing"}],
        "law": ["by law"],
        "billing": [ask, "billed"],
        "clerk": ["3"],
        "editor": ["Dear customer"],
    }

    run = await played(desk(files, said), "front.ai")

    both = ["photo.png", "bill.pdf"]
    assert {agent: seen_by(run, agent) for agent in files} == {
        "front": [both],
        "law": [both],
        "billing": [both, both],
        "clerk": [[]],
        "editor": [both],
    }


async def test_a_team_sees_it_in_its_first_cycle_and_remembers_it(desk):
    files = {"team": "team: {members: [ann.ai]}", "ann": ""}
    said = {
        "team": [{"broadcast": "go on"}, {"report": "Done."}],
        "ann": [{"broadcast": "first"}, {"broadcast": {"message": "second", "final": True}}],
    }

    run = await played(desk(files, said), "team.ai", [PHOTO])

    assert {agent: {tuple(names) for names in seen_by(run, agent)} for agent in files} == {
        agent: {("photo.png",)} for agent in files
    }


async def test_what_carries_out_a_plan_under_contract_gets_the_plan_alone(desk):
    run = await played(contract.at_desk(desk, contract.said(contract.TWO)))

    shown = {request.part: [p.name for m in request.messages for p in m.parts] for request in run.model.heard}
    assert shown == {"planner": ["photo.png", "bill.pdf"], "executor": []}


async def test_a_run_cut_after_any_event_sends_the_same_content_again(desk):
    """DESIGN 4: the span rule holds for what is attached."""
    whole = await played(first := desk(AGENTS, TALK, tools=[look]))
    for cut in range(1, len(whole.drafts)):
        again = first.again()
        for content in (PNG, PDF):
            again.journal.keep(content)
        continued = await again.continued(whole.drafts[:cut], journal=again.journal)

        assert unclaimed(continued.drafts) == whole.drafts, f"cut after event {cut}"
        heard = [replace(request, again=False) for request in continued.model.heard]
        assert not heard or heard == first.model.heard[-len(heard) :]


async def test_it_is_there_again_in_a_replay_a_fork_and_another_journal(desk, tmp_path):
    """C1, C4: content goes with the entries that name it."""
    at = desk(AGENTS, {"desk": [LOOK, "A parcel.", "A parcel."]}, tools=[look])
    await played(at)
    await at.clock.advance(7 * 86_400)
    await at.journal.sweep(young=86_400.0)
    async with at.open() as moot:
        again = await moot.replay("run-1")
        at.identity = replace(at.identity, run="run-2")
        forked = await at.played(await moot.fork("run-1", Fork(at=1, request="Whose is it?")))
    await write_bundle(at.journal, ["run-1"], tmp_path / "run.zip")
    other = MemoryJournal()
    await import_runs(other, open_source(tmp_path / "run.zip"))

    assert (again.equal, again.divergence) == (True, "")
    assert seen_by(forked, "desk")[-1] == ["photo.png", "bill.pdf"]
    assert (await verify(other, "run-1")).faults == []
    (first,) = [entry.event async for entry in other.read(Query(types=("run.started",)))]
    parts = first.errand.attachments
    assert [await other.artifact(part.artifact) for part in parts] == [PNG, PDF]


async def test_a_picture_that_a_tool_gives_is_seen_and_in_a_replay_too(desk):
    """Kept as an artifact, named by its result."""

    @tool(effect="pure", access="read")
    async def shoot() -> ToolResult:
        """Take a picture, and something that is none."""
        pictures = (Attachment("image image/png", PNG), Attachment("audio audio/wav", b"RIFF\0\0"))
        return ToolResult("here", attachments=pictures)

    at = desk(
        {"desk": "tools: [shoot]"}, {"desk": [{"calls": [{"tool": "shoot"}]}, "A parcel."]}, tools=[shoot]
    )
    run = await played(at, files=())
    async with at.open() as moot:
        again = await moot.replay("run-1")

    (part,) = run.events("tool.finished")[0].parts
    assert (part.media, part.size, await at.journal.artifact(part.artifact)) == ("image/png", 32, PNG)
    assert run.events("tool.finished")[0].text.count("is artifact") == 2
    assert run.model.heard[1].messages[-1].parts == (part,)
    assert run.model.heard[1].contents == {part.artifact: PNG}
    assert run.events("llm.request")[1].reserved_tokens > IMAGE_TOKENS
    assert (again.equal, again.divergence) == (True, "")


async def test_its_tokens_are_held_before_a_model_is_asked(desk):
    at = desk(AGENTS, TALK, tools=[look])
    run = await played(at, files=[PHOTO])
    small = desk(
        AGENTS,
        TALK,
        tools=[look],
        settings=SETTINGS.replace("script.yaml}", f"script.yaml, contextWindow: {IMAGE_TOKENS}}}"),
    )
    refused = await played(small, files=[PHOTO])

    assert run.events("llm.request")[0].reserved_tokens > IMAGE_TOKENS
    assert refused.result.stop_reason == "CONTEXT"
    assert refused.model.heard == []


async def test_a_model_that_refuses_is_told_of_with_the_names_of_the_files(desk):
    run = await played(desk(AGENTS, {"desk": [REFUSED]}, tools=[look]))

    assert "no images here; the request carried photo.png (image/png, 32 bytes), bill.pdf" in run.result.error
    assert "see that the model takes it" in run.result.error


async def test_content_that_is_no_longer_there_is_named(desk):
    gone = Part("0" * 64, "image/png", "gone.png", 3, 5)
    at = desk(AGENTS, TALK, tools=[look])
    run = await played(at, files=(), errand=Errand(attachments=(gone,)))

    assert "gone.png (image/png, 3 bytes) is not in the journal any more" in run.result.error
    assert run.model.heard == []


async def test_a_secret_in_a_document_is_not_kept(desk, tmp_path):
    at = desk(AGENTS, TALK, settings=SETTINGS + "secrets: [TOKEN]\n", tools=[look])
    async with at.open() as moot:
        moot.secrets = type(moot.secrets)({"TOKEN": "s3cr3t-t0k3n"})
        errand = moot.enclose(Errand(), [File("n.txt", b"it is s3cr3t-t0k3n.")])

    (part,) = errand.attachments
    assert await at.journal.artifact(part.artifact) == b"it is {{secret:TOKEN}}."


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (["nowhere.png"], "'nowhere.png' cannot be attached: No such file or directory"),
        (["."], "'.' cannot be attached: Is a directory"),
        ([PHOTO, File("a.bin", b"\0"), File("b", b"")], "a.bin is nothing that a model reads"),
        ([NOTE] * 21, "21 files with 147 bytes are attached; 20 with 20,000,000 may be"),
        ([File("a.pdf", PDF + b"\0" * 11_000_000)] * 2, "2 files with 22,000,"),
    ],
)
async def test_what_cannot_be_attached_is_refused_before_anything_begins(desk, files, why):
    at = desk(AGENTS, TALK, tools=[look])
    async with at.open() as moot:
        with pytest.raises(WrongUse) as refused:
            await moot.run("desk.ai", "What is it?", attachments=files)

    assert why in str(refused.value)
    assert [entry async for entry in at.journal.read(Query())] == []
