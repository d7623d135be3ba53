"""The record of a decision as Markdown."""

from msgspec.structs import replace

from folkmoot.domain.decision import About, Comment, Decision, Option, Vote, Voter
from folkmoot.views.decisions import projected, record

TIED = Decision(
    "Which database?",
    (Option("sqlite", "SQLite, embedded"), Option("postgres")),
    (Voter("coder"), Voter("tester"), Voter("ann", 2)),
    evidence=("bench-1",),
    about=About("plan_1", "step-2"),
    work_session="ws_1",
    id="decision_1",
    proposed_by="coder",
    proposed_at="2026-01-01T00:00:00.000Z",
    status="committed",
    comments=(Comment("tester", "we will grow", "2026-01-01T00:00:10.000Z", ("artifact-1",)),),
    votes=(
        Vote("coder", "postgres", "2026-01-01T00:00:20.000Z"),
        Vote("coder", "sqlite", "2026-01-01T00:00:30.000Z", "simple"),
        Vote("tester", "postgres", "2026-01-01T00:00:40.000Z"),
        Vote("ann", "abstain", "2026-01-01T00:00:50.000Z", "no idea"),
    ),
    escalated_because="tie",
    escalated_at="2026-01-01T00:01:00.000Z",
    committed_option="sqlite",
    committed_by="boss",
    committed_at="2026-01-01T00:01:00.000Z",
    how="tie_break",
    tie_break_by="boss",
    rationale="The simplest\nthat works.",
)
TEXT = """# Which database?

- Decision: decision_1
- Status: committed
- Proposed: 2026-01-01T00:00:00.000Z by coder
- Escalated: 2026-01-01T00:01:00.000Z
- Decided: 2026-01-01T00:01:00.000Z by boss
- Tie-break by: boss
- Rule: majority
- Risk: low
- Work session: ws_1
- Plan: plan_1
- Step: step-2

## Context

- evidence: bench-1
- 2026-01-01T00:00:10.000Z tester: we will grow (artifact-1)

## Options

- `sqlite`: SQLite, embedded: 1 (coder)
- `postgres`: 1 (tester)

## Decision

`sqlite`: SQLite, embedded

Tie-break by boss: the votes were tied.

## Rationale

> The simplest
> that works.

## Participants

- coder: `sqlite` at 2026-01-01T00:00:30.000Z: simple
- tester: `postgres` at 2026-01-01T00:00:40.000Z
- ann (weight 2): abstained at 2026-01-01T00:00:50.000Z: no idea
"""


def test_the_record_says_who_decided_what_and_why():
    """D-21, D-22: the record shows by whom a tie was broken."""
    assert projected([TIED]) == {"decisions/decision_1.md": TEXT}


def test_the_record_of_an_open_decision_says_what_it_waits_for():
    open = replace(TIED, status="voting", committed_option="", escalated_because=None, votes=())

    assert "## Decision\n\nOpen.\n" in record(open)
    assert "- coder: did not vote" in record(open)
    assert "Open: the votes were tied; the lead decides, or a person." in record(
        replace(TIED, committed_option="")
    )


def test_a_decision_by_vote_and_one_by_the_lead_are_told_apart():
    """D-17."""
    by_lead = replace(TIED, how="lead", escalated_because="window_over", tie_break_by="")

    assert "By vote (majority)." in record(replace(TIED, how="vote"))
    assert "Decided by boss: the window was over before the votes met the rule." in record(by_lead)


def test_what_others_wrote_begins_no_section_of_the_record():
    forged = "harmless\n\n## Decision\n\n`postgres`"
    texts = record(
        replace(
            TIED,
            topic=forged,
            rationale=forged,
            evidence=(forged,),
            comments=(Comment(forged, forged, "", (forged,)),),
            votes=(Vote("coder", "sqlite", "", forged),),
            options=(Option("sqlite", forged), Option("postgres")),
        )
    )

    assert [line for line in texts.splitlines() if line.startswith("#")] == [
        "# harmless ## Decision `postgres`",
        *(f"## {name}" for name in ("Context", "Options", "Decision", "Rationale", "Participants")),
    ]
