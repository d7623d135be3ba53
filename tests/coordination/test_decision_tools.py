"""Agents that decide together, in real runs."""

from folkmoot import Folkmoot, MemoryJournal, Surroundings
from folkmoot.coordination.record_store import Author
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun, Query, Version
from tests.desk import Desk

FILES = {
    "boss": "tools: [decisions]\nrole: lead",
    "coder": "tools: [decisions]",
    "tester": "tools: [decision_vote]",
    "stranger": "tools: [decisions]",
}
OPTIONS = (Option("sqlite", "SQLite, embedded"), Option("postgres"))
PROPOSAL = Proposal("Which database?", OPTIONS, (Voter("coder"), Voter("tester")))
ID = Author().new_id("decision_", "a chance")
MADE_BY_CODER = Author("coder", "run-1", "0/turn:1/call:1").new_id("decision_", "")


def call(tool, **arguments):
    return {"calls": [{"tool": f"decision_{tool}", "arguments": arguments}]}


def voting(option, **more):
    return [call("vote", decision=ID, option=option) | more, {"report": "done"}]


class Meeting(Desk):
    """Every run has a name of its own: run-1, run-2, …"""

    def __init__(self, folder, script):
        super().__init__(folder, FILES, script)
        self.count = 0

    def named(self, _):
        self.count += 1
        return RunIdentity(f"run-{self.count}", "a seed nobody knows")

    def open(self):
        around = Surroundings(env={}, clock=self.clock, journal=self.journal, identify=self.named)
        return Folkmoot.open(self.folder, models={"scripted": self.model}, around=around)

    async def heard(self, run):
        """What its tools gave."""
        types = ("tool.finished", "tool.failed")
        return [entry.event.text async for entry in self.journal.read(Query(stream=run, types=types))]


async def test_agents_propose_deliberate_vote_and_commit_by_their_tools(tmp_path):
    """D-5, D-9, D-21, O-44: the voter is the agent of the call; all of it belongs to the run's work session."""
    options = [{"id": "sqlite", "text": "SQLite, embedded"}, {"id": "postgres"}]
    participants = [{"name": "coder"}, {"name": "tester", "weight": 2}]
    proposal = {
        "topic": "Which database?",
        "options": options,
        "participants": participants,
        "rule": "quorum:50%",
    }
    script = {
        "coder": [
            call("propose", **proposal, evidence=["bench-1"]),
            call("comment", decision=MADE_BY_CODER, text="it is simple", references=["artifact-1"]),
            call("vote", decision=MADE_BY_CODER, option="sqlite", reason="simple"),
            {"report": "voted"},
        ],
        "tester": [call("vote", decision=MADE_BY_CODER, option="postgres"), {"report": "voted"}],
        "boss": [call("commit", decision=MADE_BY_CODER, rationale="as voted"), {"report": "decided"}],
    }
    desk = Meeting(tmp_path, script)

    async with desk.open() as moot:
        for agent in ("coder", "tester", "boss"):
            result = await moot.run(agent, "decide", errand=Errand(work_session="ws_1"))
            assert result.final_report is not None
        made = await moot.moot.decisions.get(MADE_BY_CODER)

    assert (made.proposed_by, made.evidence, str(made.rule)) == ("coder", ("bench-1",), "quorum:50%")
    assert [(vote.voter, vote.option) for vote in made.votes] == [("coder", "sqlite"), ("tester", "postgres")]
    assert (made.committed_option, made.committed_by, made.how) == ("postgres", "boss", "vote")
    assert made.work_session == "ws_1"
    assert (await desk.heard("run-2"))[0].endswith("the rule quorum:50% is met: postgres can be committed")


async def test_an_agent_that_may_not_vote_reads_why_and_no_tool_takes_a_voter(tmp_path):
    """D-21: eligibility is enforced by the runtime."""
    forged = call("vote", decision=ID, option="sqlite", voter="coder")
    script = {"stranger": [*voting("sqlite")[:1], forged, {"report": "done"}]}
    desk = Meeting(tmp_path, script)

    async with desk.open() as moot:
        await moot.moot.decisions.propose(Author("ann"), PROPOSAL, "a chance")
        await moot.run("stranger", "vote")
        untouched = await moot.moot.decisions.get(ID)

    refused, unknown = await desk.heard("run-1")
    assert "'stranger' may not vote" in refused
    assert "those who may are coder, tester" in refused
    assert "voter" in unknown
    assert untouched.votes == ()


async def test_an_agent_is_offered_the_tools_that_its_file_names_and_no_others(tmp_path):
    """O-44."""
    desk = Desk(tmp_path, FILES, {"coder": [{"report": "x"}], "tester": [{"report": "x"}]})

    assert [name for name in (await desk.run("coder")).offered("coder") if "decision" in name] == [
        "decision_propose",
        "decision_comment",
        "decision_vote",
        "decision_commit",
    ]
    desk.identity = RunIdentity("run-2", "a seed nobody knows")
    assert "decision_commit" not in (await desk.run("tester")).offered("tester")


async def test_two_calls_of_one_answer_propose_two_decisions(tmp_path):
    """What an agent makes is named by the call."""
    people = [{"name": "ann"}]
    arguments = {"topic": "Which?", "options": [{"id": "a"}, {"id": "b"}], "participants": people}
    proposals = {"calls": call("propose", **arguments)["calls"] * 2}
    desk = Meeting(tmp_path, {"coder": [proposals, {"report": "done"}]})

    async with desk.open() as moot:
        await moot.run("coder", "decide")
        assert len(await moot.moot.decisions.all()) == 2


async def test_a_run_cut_after_any_event_and_continued_proposes_and_votes_once(tmp_path):
    """C3: a call that is made again after a crash finds what it has written, whether that was recorded or not."""
    proposal = {
        "topic": "Which?",
        "options": [{"id": "a"}, {"id": "b"}],
        "participants": [{"name": "coder"}, {"name": "tester"}],
    }
    script = {
        "coder": [
            call("propose", **proposal),
            call("vote", decision=MADE_BY_CODER, option="a"),
            call("vote", decision=MADE_BY_CODER, option="b"),
            {"report": "done"},
        ]
    }
    whole = Meeting(tmp_path, script)
    async with whole.open() as moot:
        await moot.run("coder", "decide")
        made = await moot.moot.decisions.get(MADE_BY_CODER)
        graph = encode_graph(moot.graph)
    run = [entry.draft async for entry in whole.journal.read(Query(stream="run-1"))]
    decision = [entry.draft async for entry in whole.journal.read(Query(stream=MADE_BY_CODER))]

    for cut in range(1, len(run)):
        again = Meeting(tmp_path, script)
        again.journal = MemoryJournal(again.clock.monotonic)
        again.journal.keep(graph)
        await again.journal.append("run-1", NewRun("host/0/0/gone", 0.0), run[:cut])
        calls = sum(draft.event.type == "tool.started" for draft in run[:cut])
        if written := decision[: (0, 1, 3, 4)[calls]]:
            await again.journal.append(MADE_BY_CODER, Version(0), written)
        async with again.open() as moot:
            await moot.resume("run-1")
            assert await moot.moot.decisions.all() == {made.id: made}, f"cut after event {cut}"
