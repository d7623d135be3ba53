"""A decision shows its options and votes; people vote by their names, and decide where the votes do not."""

from msgspec.structs import replace

from folkmoot.coordination.record_store import Author
from folkmoot.domain.decision import Option, Proposal, Voter
from tests.http.page import browsing

PROPOSAL = Proposal(
    "Which database?",
    (Option("sqlite", "SQLite, embedded"), Option("postgres")),
    (Voter("clerk"), Voter("eve")),
    window=0,
)


async def proposed(page, proposal=PROPOSAL):
    desk = page.house.moot.moot.decisions
    clerk = Author("clerk", "run-1", "0/turn:1/call:1")
    made = await desk.propose(clerk, proposal, "")
    await desk.vote(made.id, replace(clerk, span="0/turn:2/call:1"), "sqlite", "it is enough")
    return made


async def test_people_vote_by_their_names_and_the_record_is_shown(desk):
    """D-9, D-42."""
    async with browsing(desk({"clerk": ""}, {})) as page:
        made = await proposed(page)
        shown = await page.get(f"/decisions/{made.id}")
        assert "Of people eve may vote" in shown.words
        assert "it is enough" in shown.words
        assert "eve has not voted" in shown.words

        agent = await page.send(f"/decisions/{made.id}/vote", by="clerk", option="postgres")
        assert agent.status == 400
        assert "speaks through its own calls" in agent.words
        stranger = await page.send(f"/decisions/{made.id}/vote", by="bob", option="sqlite")
        assert stranger.status == 409
        assert "'bob' may not vote" in stranger.words
        await page.send(f"/decisions/{made.id}/comment", by="eve", text="I looked")
        await page.send(f"/decisions/{made.id}/vote", by="eve", option="sqlite", reason="agreed")

        shown = await page.get(f"/decisions/{made.id}")
        assert "committed" in shown.words
        assert "2 of 2 votes" in shown.words
        assert "I looked" in shown.words
        record = shown.between('<article class="adr"', "</article>")
        assert "By vote (majority)." in record
        assert "eve: sqlite at" in record
        assert (await page.get(f"/decisions/{made.id}.md")).html.startswith("# Which database?")
        assert "Which database?" in (await page.get("/decisions?status=committed")).words


async def test_a_person_breaks_a_tie(desk):
    """D-9: with a reason, which the record keeps."""
    async with browsing(desk({"clerk": ""}, {})) as page:
        made = await proposed(page)
        await page.send(f"/decisions/{made.id}/vote", by="eve", option="postgres")
        shown = await page.get(f"/decisions/{made.id}")
        assert "Waits for the lead, or for you: the votes are tied" in shown.words
        assert "Break the tie" in shown.words

        missing = await page.send(f"/decisions/{made.id}/commit", by="eve")
        assert missing.status == 409
        await page.send(f"/decisions/{made.id}/commit", by="eve", option="postgres", rationale="we grow")

        shown = await page.get(f"/decisions/{made.id}")
        assert "1 + eve" in shown.words
        assert "On the tie: we grow" in shown.words
        assert "Tie broken" in shown.words
