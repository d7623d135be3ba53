"""Decisions: who may say what and when, and what decides."""

import asyncio

import pytest
from msgspec.structs import replace

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.decision_service import Decisions
from folkmoot.coordination.decisions import due
from folkmoot.coordination.record_store import Author
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.decision import ABSTAIN, About, Option, Proposal, Rule, Voter
from folkmoot.errors import WrongUse
from folkmoot.ports import Query

AGENTS = {"boss": "lead", "coder": "worker", "tester": "worker", "writer": "worker", "stranger": "worker"}
GRAPH = Graph({f"{id}.ai": Agent(id, f"{id}.ai", "", role=role) for id, role in AGENTS.items()})
PROPOSAL = Proposal(
    "Which database?",
    (Option("sqlite", "SQLite, embedded"), Option("postgres", "PostgreSQL")),
    tuple(map(Voter, ("coder", "tester", "writer"))),
    evidence=("bench-1",),
    about=About("plan_1", "step-2"),
    work_session="ws_1",
)
TWO = replace(PROPOSAL, participants=tuple(map(Voter, ("coder", "tester"))))


def agent(name, call=1):
    return Author(name, f"run-of-{name}", f"0/turn:1/call:{call}", "ws_of_its_own")


class Moot(Decisions):
    def __init__(self, journal=None):
        self.journal, self.clock = journal or MemoryJournal(), FakeClock()
        super().__init__(self.journal, self.clock, GRAPH)

    async def proposed(self, proposal=PROPOSAL):
        return (await self.propose(Author("ann"), proposal, "a chance")).id

    async def drafts(self):
        return [entry.draft async for entry in self.journal.read(Query(prefix="decision_"))]

    async def types(self):
        return [draft.event.type.removeprefix("decision.") for draft in await self.drafts()]


@pytest.fixture
def moot():
    return Moot()


async def test_a_decision_goes_from_proposal_to_commit_and_says_so(moot):
    """D-5, D-9, D-21, U-9: propose, deliberate, vote, commit; the status follows."""
    id = await moot.proposed()
    statuses = [(await moot.get(id)).status]
    for change in (
        moot.comment(id, agent("coder"), "it is embedded", ["artifact-1"]),
        moot.vote(id, agent("coder", 2), "sqlite", "simple"),
        moot.vote(id, agent("tester"), "sqlite"),
        moot.commit(id, agent("tester", 2), rationale="simple wins"),
    ):
        statuses.append((await change).status)

    made = await moot.get(id)
    assert statuses == ["proposed", "deliberating", "voting", "voting", "committed"]
    assert await moot.types() == ["proposed", "deliberated", "voting_opened", "voted", "voted", "committed"]
    assert (made.topic, made.committed_option, made.rationale) == ("Which database?", "sqlite", "simple wins")
    assert (made.how, made.committed_by, made.tie_break_by) == ("vote", "tester", "")
    assert (made.comments[0].by, made.comments[0].references) == ("coder", ("artifact-1",))
    assert {draft.work_session_id for draft in await moot.drafts()} == {"ws_1"}


async def test_the_committed_event_is_the_whole_record(moot):
    """D-9: commit with the summary of the record."""
    id = await moot.proposed()
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.vote(id, agent("tester"), "sqlite")
    await moot.commit(id, Author("ann"))

    event = (await moot.drafts())[-1].event
    assert (event.rule, event.tally.counts, event.tally.missing) == (
        "majority",
        {"sqlite": 2, "postgres": 0},
        ("writer",),
    )
    assert event.summary == "Which database?: sqlite (SQLite, embedded) (majority: sqlite 2, postgres 0)"


async def test_the_last_vote_before_the_commit_counts_and_all_stay_in_the_log(moot):
    """O-7."""
    id = await moot.proposed(TWO)
    for call, option in enumerate(("sqlite", "postgres", ABSTAIN, "postgres")):
        await moot.vote(id, agent("coder", call), option)
    await moot.vote(id, agent("tester"), "postgres")

    made = await moot.commit(id, Author("ann"))

    assert made.committed_option == "postgres"
    assert [vote.option for vote in made.votes] == ["sqlite", "postgres", "abstain", "postgres", "postgres"]
    assert (await moot.types()).count("voting_opened") == 1


async def test_a_vote_that_is_made_again_after_a_crash_counts_once(moot):
    id = await moot.proposed()

    await moot.vote(id, agent("coder"), "sqlite")
    again = await moot.vote(id, agent("coder"), "sqlite")

    assert len(again.votes) == 1


@pytest.mark.parametrize(
    ("who", "option", "said"),
    [
        (
            agent("stranger"),
            "sqlite",
            "'stranger' may not vote on .*; those who may are coder, tester, writer",
        ),
        (Author("bob"), "sqlite", "'bob' may not vote"),
        (agent("coder"), "mysql", r"there is no option 'mysql'; vote sqlite \(SQLite, embedded\), postgres"),
        (Author("coder"), "sqlite", "'coder' is an agent, and speaks through its own calls"),
    ],
)
async def test_a_vote_that_is_not_allowed_is_refused_and_leaves_nothing(moot, who, option, said):
    """D-21: a vote by a non-eligible member is refused."""
    id = await moot.proposed()

    with pytest.raises(WrongUse, match=said):
        await moot.vote(id, who, option)

    assert await moot.types() == ["proposed"]


async def test_nothing_is_said_about_what_is_decided(moot):
    """D-21: order enforced."""
    id = await moot.proposed()
    for name in ("coder", "tester"):
        await moot.vote(id, agent(name), "sqlite")
    await moot.commit(id, Author("ann"))

    for late in (
        moot.vote(id, agent("writer"), "postgres"),
        moot.comment(id, agent("writer"), "no"),
        moot.commit(id, Author("ann")),
    ):
        with pytest.raises(WrongUse, match="is decided already: sqlite, by ann"):
            await late


async def test_nobody_decides_before_the_rule_is_met_or_the_window_is_over(moot):
    """D-21: order enforced, for the lead and for people too."""
    id = await moot.proposed()
    await moot.vote(id, agent("coder"), "sqlite")

    for who in (agent("boss"), Author("ann"), agent("coder", 2)):
        with pytest.raises(
            WrongUse, match=r"majority is not met; tester, writer may still vote until 2026-01-01T00:02"
        ):
            await moot.commit(id, who, "sqlite")


async def test_whoever_takes_no_part_does_not_commit_and_nobody_commits_another_option(moot):
    id = await moot.proposed()
    for name in ("coder", "tester"):
        await moot.vote(id, agent(name), "sqlite")

    with pytest.raises(WrongUse, match="'stranger' takes no part"):
        await moot.commit(id, agent("stranger"))
    with pytest.raises(WrongUse, match="have decided for 'sqlite', not 'postgres'"):
        await moot.commit(id, agent("boss"), "postgres")


async def test_a_tie_is_broken_by_the_lead_alone_and_attributed(moot):
    """D-22: 1:1; among the options that share the lead."""
    options = (*PROPOSAL.options, Option("files"))
    id = await moot.proposed(replace(TWO, options=options))
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.vote(id, agent("tester"), "postgres")

    with pytest.raises(WrongUse, match=r"do not decide \(tie\); boss or a person must"):
        await moot.commit(id, agent("coder", 2), "sqlite")
    with pytest.raises(
        WrongUse, match=r"name an option: sqlite \(SQLite, embedded\), postgres \(PostgreSQL\)$"
    ):
        await moot.commit(id, agent("boss"))
    with pytest.raises(WrongUse, match="'files' is not open"):
        await moot.commit(id, agent("boss"), "files")
    made = await moot.commit(id, agent("boss"), "postgres", "we will grow")

    assert (made.how, made.tie_break_by, made.committed_option) == ("tie_break", "boss", "postgres")
    assert (await moot.types())[-2:] == ["escalated", "committed"]
    assert (await moot.drafts())[-1].event.summary.endswith("postgres 1, files 0; tie broken by boss)")


async def test_a_person_breaks_a_tie_of_high_risk_and_no_agent_does(moot):
    """U-7: what is risky ends at a person."""
    id = await moot.proposed(replace(TWO, risk="high"))
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.vote(id, agent("tester"), "postgres")

    with pytest.raises(WrongUse, match=r"a person \(its risk is high\) must"):
        await moot.commit(id, agent("boss"), "sqlite")

    assert (await moot.commit(id, Author("ann"), "sqlite")).tie_break_by == "ann"


async def test_the_lead_that_a_decision_names_decides_and_no_other(moot):
    id = await moot.proposed(replace(TWO, lead="tester"))
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.vote(id, agent("tester"), "postgres")

    with pytest.raises(WrongUse, match="tester or a person must"):
        await moot.commit(id, agent("boss"), "sqlite")

    assert (await moot.commit(id, agent("tester", 2), "sqlite")).tie_break_by == "tester"


async def test_when_the_window_is_over_without_a_result_the_lead_decides(moot):
    """D-17, X-D2: two minutes from the first vote; from then on nobody votes."""
    id = await moot.proposed()
    await moot.clock.advance(60)
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.clock.advance(119.9)
    assert await moot.settle_overdue() == []
    await moot.clock.advance(0.1)

    with pytest.raises(WrongUse, match=r"the time to vote .* is over; the lead decides"):
        await moot.vote(id, agent("tester"), "sqlite")
    (escalated,) = await moot.settle_overdue()
    made = await moot.commit(id, agent("boss"), "postgres", "somebody must")

    assert (escalated.status, escalated.escalated_because) == ("escalated", "window_over")
    assert await moot.settle_overdue() == []
    assert (made.how, made.committed_by, made.tie_break_by) == ("lead", "boss", "")
    assert (await moot.types())[-2:] == ["escalated", "committed"]


async def test_a_decision_on_which_nobody_says_a_word_falls_due_too(moot):
    """D-17: nothing falls asleep unnoticed."""
    id = await moot.proposed()
    await moot.clock.advance(120)

    assert [each.id for each in await moot.settle_overdue()] == [id]


async def test_a_window_of_zero_never_ends(moot):
    id = await moot.proposed(replace(PROPOSAL, window=0))
    await moot.clock.advance(10**6)

    assert (await moot.vote(id, agent("coder"), "sqlite")).until == ""
    assert await moot.settle_overdue() == []


async def test_what_the_votes_decide_is_due_when_all_have_spoken(moot):
    """D-17: by the vote, without anybody's word, and once."""
    id = await moot.proposed()
    for name, option in (("coder", "sqlite"), ("tester", "sqlite")):
        await moot.vote(id, agent(name), option)
    assert due(await moot.get(id), moot.clock.now()) == []
    await moot.vote(id, agent("writer"), "postgres")

    (made,) = await moot.settle_overdue()
    again = await moot.settle(id)

    assert (made.committed_option, made.committed_by, made.how) == ("sqlite", "folkmoot", "vote")
    assert again == made


async def test_unanimity_that_fails_is_no_tie_but_the_lead_s_decision(moot):
    id = await moot.proposed(replace(TWO, rule=Rule("unanimous")))
    await moot.vote(id, agent("coder"), "sqlite")
    await moot.vote(id, agent("tester"), "postgres")

    (escalated,) = await moot.settle_overdue()

    assert escalated.escalated_because == "no_result"


async def test_whoever_s_run_failed_abstains_unless_it_has_voted(moot):
    """U-8: the others go on; a vote that was made stays."""
    id = await moot.proposed()
    await moot.vote(id, agent("coder"), "sqlite")

    for name in ("coder", "tester"):
        decision = await moot.abstain_for(id, name, "its run failed")
    decision = await moot.vote(id, agent("writer"), "sqlite")

    said = {vote.voter: vote.option for vote in decision.standing_votes.values()}
    assert said == {"coder": "sqlite", "tester": "abstain", "writer": "sqlite"}
    assert [draft.agent_id for draft in await moot.drafts()][-2] == "folkmoot"
    assert (await moot.settle(id)).committed_option == "sqlite"


async def test_votes_at_once_by_several_writers_are_all_kept(moot):
    """O-40: no vote is lost, and the voting is opened once."""
    people = tuple(Voter(f"p{number}") for number in range(20))
    id = await moot.proposed(replace(PROPOSAL, participants=people))
    desks = [Moot(moot.journal) for _ in people]

    await asyncio.gather(
        *(desk.vote(id, Author(voter.name), "sqlite") for desk, voter in zip(desks, people, strict=True))
    )

    assert len((await moot.get(id)).standing_votes) == 20
    assert (await moot.types()).count("voting_opened") == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"topic": " "}, "needs a topic"),
        ({"options": (Option("a"),)}, "at least two options"),
        ({"options": (Option("a"), Option("a"))}, "the option 'a' is named twice"),
        ({"options": (Option("a"), Option("abstain"))}, "'abstain' is not"),
        ({"options": (Option("a"), Option("b c"))}, "'b c' is not; put what it means into its text"),
        ({"participants": ()}, "name who may vote"),
        ({"participants": (Voter("a"), Voter("a"))}, "the participant 'a' is named twice"),
        ({"participants": (Voter("folkmoot"),)}, "'folkmoot' cannot vote"),
        ({"participants": (Voter("a\nbob: yes"),)}, "cannot vote"),
        ({"participants": (Voter("a", 0),)}, "is from 1 to 1000000, not 0"),
        ({"rule": Rule("quorum", votes=4)}, "a quorum of 4 is never reached: all participants weigh 3"),
        ({"rule": Rule("quorum")}, "from 1% to 100%"),
        ({"rule": Rule("quorum", percent=101)}, "from 1% to 100%"),
        ({"window": 1e300}, "is from 0 to 31622400 seconds"),
        ({"window": float("nan")}, "is from 0 to 31622400 seconds"),
        ({"participants": (Voter("a", 10**30),)}, "is from 1 to 1000000"),
        ({"window": -1.0}, "is from 0 to 31622400 seconds, not -1.0"),
    ],
)
async def test_what_cannot_be_decided_is_not_proposed(moot, changed, said):
    with pytest.raises(WrongUse, match=said):
        await moot.proposed(replace(PROPOSAL, **changed))

    assert await moot.all() == {}


async def test_a_decision_survives_a_restart(moot):
    """D-27: it is in the journal, and nowhere else."""
    id = await moot.proposed()
    await moot.vote(id, agent("coder"), "sqlite")

    assert await Moot(moot.journal).all() == {id: await moot.get(id)}
