"""Claims in reports, and the tool results that bear them out."""

import msgspec
import pytest

from folkmoot.domain.naming import draw
from folkmoot.engine.claims import RunIdentity
from tests.desk import SETTINGS, look

SEED = "a seed nobody knows"
CALL = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
DESK = {"desk": "tools: [look]\noutput: {claims: true}"}
FAMILY = {
    "desk": "agents: [clerk.ai]\noutput: {claims: true}",
    "clerk": "tools: [look]\noutput: {claims: true}",
}
ASK = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}]}


def evidence_id(span="0", turn=1, call=1, seed=SEED):
    return "ev_" + draw(seed, span, "evidence", turn, call)


def claiming(*claims, report="done"):
    return {"report": report, "claims": [{"text": text, "evidence": ids} for text, ids in claims]}


def claims(played):
    return [(claim.text, claim.status, claim.evidence) for claim in played.result.final_report.claims]


def read(played, agent="desk", request=1):
    """The last message that an agent was sent in a request."""
    return played.model.heard_from(agent)[request].messages[-1].text


async def test_an_agent_that_is_asked_for_claims_reads_the_id_of_every_result_and_may_cite_it(desk):
    """DESIGN 4."""
    said = {"desk": [CALL, claiming(("it is there", ["look"]))]}
    played = await desk(DESK, said, tools=[look]).run("desk.ai")

    id = evidence_id()
    assert read(played) == f"seen x\n[evidence {id}]"
    assert claims(played) == [("it is there", "verified", (id,))]
    recorded = [draft for draft in played.drafts if draft.event.type.startswith(("claim.", "evidence."))]
    assert [(draft.event.type, draft.span, draft.agent_id) for draft in recorded] == [
        ("claim.recorded", "0", "desk"),
        ("evidence.attached", "0", "desk"),
    ]
    assert played.events("evidence.attached")[0].evidence == (id,)


async def test_other_agents_pay_nothing_for_it(desk):
    """Neither is a claim asked for, nor an id shown; what is claimed all the same is judged."""
    said = {"desk": [CALL, claiming(("it is there", [evidence_id()]), ("it is nice", []))]}
    played = await desk({"desk": "tools: [look]"}, said, tools=[look]).run("desk.ai")

    assert read(played) == "seen x"
    [exit] = [spec for spec in played.model.heard[0].tools if spec.name == "agent__final_report"]
    assert "claims" not in exit.parameters["properties"]
    assert claims(played) == [("it is there", "verified", (evidence_id(),)), ("it is nice", "unverified", ())]


async def test_a_claim_that_is_called_verified_without_evidence_is_demoted_and_that_is_recorded(desk):
    """C-6: the log has the error, the result has no such verified claim."""
    report = {"report": "done", "claims": [{"text": "it is there", "status": "verified"}]}
    played = await desk(DESK, {"desk": [CALL, report]}, tools=[look]).run("desk.ai")

    assert claims(played) == [("it is there", "unverified", ())]
    assert [event.status for event in played.events("claim.recorded")] == ["unverified"]
    assert [event.reason for event in played.events("claim.demoted")] == [
        "it was called verified without evidence"
    ]
    assert not played.events("evidence.attached")


async def test_a_report_that_cites_an_unknown_id_is_refused_and_its_model_reads_which_there_are(desk):
    """DESIGN 4."""
    said = {"desk": [CALL, claiming(("a", ["ev_made_up"])), claiming(("a", ["look"]))]}
    played = await desk(DESK, said, tools=[look]).run("desk.ai")

    id = evidence_id()
    assert read(played, request=2) == (
        f"(tool failed: no result of this run has the id ev_made_up; yours are: {id} (look))"
    )
    assert claims(played) == [("a", "verified", (id,))]
    assert not played.events("claim.demoted")


async def test_whoever_has_no_results_is_told_so(desk):
    played = await desk(DESK, {"desk": [claiming(("a", ["ev_1"])), "done"]}, tools=[look]).run("desk.ai")

    assert "you have none, so leave `evidence` empty" in read(played)


async def test_a_real_id_of_another_run_is_refused(desk):
    """DESIGN 4: both runs are in one journal, of one project."""
    at = desk(DESK, {"desk": [CALL, claiming(("a", ["look"]))]}, tools=[look])
    first = await at.run("desk.ai")
    [foreign] = first.result.evidence
    again = desk(DESK, {"desk": [CALL, claiming(("a", [foreign["id"]])), "sorry"]}, tools=[look])
    again.journal, again.identity = at.journal, RunIdentity("run-2", "another seed")
    second = await again.run("desk.ai")

    assert foreign["id"] in second.events("tool.failed")[0].text
    assert second.report == "sorry"
    assert foreign["id"] not in [one["id"] for one in second.result.evidence]


async def test_in_the_last_turn_the_report_is_taken_and_the_claim_demoted(desk):
    """DESIGN 4: a report is never lost because of its claims."""
    files = {"desk": "tools: [look]\noutput: {claims: true}\nmaxTurns: 2"}
    said = {"desk": [CALL, claiming(("a", ["ev_made_up", evidence_id()]), ("b", [evidence_id()]))]}
    played = await desk(files, said, tools=[look]).run("desk.ai")

    assert played.result.success
    assert claims(played) == [("a", "unverified", (evidence_id(),)), ("b", "verified", (evidence_id(),))]
    [error] = played.events("claim.demoted")
    assert (error.claim, error.reason) == (1, "no result of this run has the id ev_made_up")
    assert not played.events("tool.failed")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, []),
        ("it is there", ["it is there"]),
        (["it is there"], ["it is there"]),
        ([{"claim": "it is there"}], ['{"claim":"it is there"}']),
        ({"text": "it is there", "evidence": "ev_1"}, ['{"text":"it is there","evidence":"ev_1"}']),
    ],
)
async def test_claims_in_another_form_are_kept_for_what_they_say(desk, given, kept):
    arguments = {"report_format": "text", "report_content": "done", "claims": given}
    said = {"desk": [{"calls": [{"tool": "agent__final_report", "arguments": arguments}]}]}
    played = await desk(DESK, said, tools=[look]).run("desk.ai")

    assert played.report == "done"
    assert claims(played) == [(text, "unverified", ()) for text in kept]
    assert len(played.events("claim.demoted")) == sum(text.startswith("{") for text in kept)


async def test_a_refused_report_stands_if_the_session_cannot_go_on(desk):
    """DESIGN 4: also when its model is gone after the refusal, or never reports again."""
    gone = {"error": {"message": "down", "retryable": False}}
    for rest in ([gone], [""] * 9):
        said = {"desk": [claiming(("a", ["ev_made_up"]), report="all I know"), *rest]}
        played = await desk(DESK, said, tools=[look]).run("desk.ai")

        assert played.result.success
        assert played.report == "all I know"
        assert claims(played) == [("a", "unverified", ())]
        assert played.events("claim.demoted")


async def test_a_report_that_was_refused_for_something_else_does_not_stand(desk):
    files = {
        "desk": "tools: [look]\noutput: {claims: true, format: json, schema: {type: object, required: [n]}}"
    }
    said = {
        "desk": [
            claiming(("a", ["ev_made_up"]), report={}),
            {"error": {"message": "down", "retryable": False}},
        ]
    }
    played = await desk(files, said, tools=[look]).run("desk.ai")

    assert not played.result.success


async def test_a_report_of_the_conversation_before_does_not_stand_for_a_later_answer(desk):
    """A refused and corrected report is no answer to a question that was asked afterwards."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nmaxRetries: 1"}
    again = {"tool": "agent__ask_clarification", "arguments": {"child_id": "clerk", "question": "sure?"}}
    clerk = [claiming(("a", ["ev_made_up"]), report="refused"), "corrected", {"error": "down"}]
    played = await desk(files, {"desk": [ASK, {"calls": [again]}, "ok"], "clerk": clerk}).run("desk.ai")

    assert read(played).startswith("corrected")
    assert '"status":"failed"' in read(played, request=2)


async def test_a_parent_reads_what_its_child_claimed_and_may_cite_the_childs_evidence(desk):
    """DESIGN 4: and the result of its own call."""
    found = evidence_id("0/turn:1/call:1")
    said = {
        "desk": [ASK, claiming(("two", [found]), ("the clerk says so", ["agent.clerk"]))],
        "clerk": [CALL, claiming(("two\nhats", ["look"]), ("nice ones", []))],
    }
    played = await desk(FAMILY, said, tools=[look]).run("desk.ai")

    assert read(played).splitlines() == [
        "done",
        f"[runtime: verified by {found}: two hats]",
        "[runtime: unverified: nice ones]",
        "[runtime: 1 tool call]",
        f"[evidence {evidence_id()}]",
    ]
    assert claims(played) == [
        ("two", "verified", (found,)),
        ("the clerk says so", "verified", (evidence_id(),)),
    ]


async def test_call_agent_passes_the_childs_claims_on(desk):
    settings = SETTINGS + "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
    ask = {"calls": [{"tool": "call_agent", "arguments": {"mission": "count", "specialist": "clerk"}}]}
    said = {"desk": [ask, "done"], "clerk": [CALL, claiming(("two hats", ["look"]))]}
    files = {"desk": "", "clerk": FAMILY["clerk"]}
    played = await desk(files, said, settings=settings, tools=[look]).run("desk.ai")

    found = evidence_id("0/turn:1/call:1")
    assert f'"claims":[{{"text":"two hats","evidence":["{found}"],"status":"verified"' in read(played)


async def test_a_reader_of_long_claims_reads_the_beginning(desk):
    many = [(f"claim {n} " + "x" * 500, []) for n in range(30)]
    played = await desk(FAMILY, {"desk": [ASK, "ok"], "clerk": [claiming(*many)]}, tools=[look]).run(
        "desk.ai"
    )

    lines = read(played).splitlines()
    assert len(lines) == 1 + 21 + 2
    assert max(map(len, lines)) < 250
    assert "10 more claims, left out here" in lines[21]


async def test_the_result_says_where_each_piece_of_evidence_comes_from(desk):
    """DESIGN 8."""
    long = "tools: [look]\ntoolResponseMaxBytes: 4"
    files = {"desk": "agents: [clerk.ai]", "clerk": long}
    said = {"desk": [ASK, claiming(("a", []))], "clerk": [CALL, "done"]}
    played = await desk(files, said, tools=[look]).run("desk.ai")
    shown = msgspec.json.decode(msgspec.json.encode(played.result.to_json()))

    below, own = shown["evidence"]
    assert own == {
        "id": evidence_id(),
        "tool": "agent__clerk",
        "span": "0",
        "turn": 1,
        "call": 1,
        "agentId": "desk",
        "sessionId": "run-1",
    }
    assert (below["agentId"], below["span"], below["tool"]) == ("clerk", "0/turn:1/call:1", "look")
    assert below["artifact"] == played.events("tool.finished")[0].artifact
    assert shown["finalReport"]["claims"] == [
        {"text": "a", "evidence": [], "status": "unverified", "reason": ""}
    ]


async def test_a_run_with_claims_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: refused, cited over levels and demoted alike."""
    found = evidence_id("0/turn:1/call:1")
    said = {
        "desk": [ASK, claiming(("a", ["ev_made_up"])), claiming(("two", [found]), ("b", []))],
        "clerk": [CALL, {"report": "done", "claims": [{"text": "c", "status": "verified"}]}],
    }
    whole = await desk(FAMILY, said, tools=[look]).run_cut_anywhere("desk.ai")
    assert claims(whole) == [("two", "verified", (found,)), ("b", "unverified", ())]
