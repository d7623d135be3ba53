"""Planner and executor: two sessions of one file that share a typed plan and nothing else."""

import json

import pytest

from folkmoot import MemoryJournal
from folkmoot.views.plans import audit
from tests.desk import SETTINGS, look
from tests.fakes import fake

STEP = {
    "action_type": "SEARCH",
    "rationale": "the books know",
    "expected_outputs": ["the number of charges"],
    "stop_condition": "the number is known",
}
LOOK = {**STEP, "tool_calls": [{"name": "look", "arguments": {"where": "books"}}]}
TWO = {"steps": [LOOK, {**LOOK, "action_type": "CHECK"}]}
CALL = {"calls": [{"tool": "look", "arguments": {"where": "books"}}]}


burn = fake("burn(what)", "burnt {what}")


def said(plan, then=(CALL, "done"), again=None):
    """A script: what the planner says, and if that was sent back, and what the executor does."""
    rules = [{"when": "was not accepted", "text": text(again)}] if again is not None else []
    return {
        "desk/planner": {
            "rules": rules,
            "default": plan if isinstance(plan, dict) and "text" in plan else text(plan),
        },
        "desk/executor": [*then],
        "desk": ["one session did it all"],
    }


def text(plan):
    return plan if isinstance(plan, str) else json.dumps(plan)


def at_desk(desk, script, more="split: always", **rest):
    files = {"desk": f"tools: [look, burn]\n{more}", "clerk": ""}
    return desk(files, script, tools=[look, burn], **rest)


def kept(text):
    """The id of a text, wherever it is kept."""
    return MemoryJournal().keep(text.encode())


def heard(played, part):
    return [request for request in played.model.heard if request.part == part]


def user(request):
    return next(message.text for message in request.messages if message.role == "user")


async def test_the_executor_reads_the_plan_as_it_is_kept_and_nothing_of_the_planner(desk):
    """C-1, C-3, C-4, O-31: prose around the JSON reaches nobody."""
    at = at_desk(desk, said(f"Let me think aloud!\n```json\n{text(TWO)}\n```\nWell, that is it."))
    played = await at.run("desk", "How often was I charged?")

    assert played.report == "done"
    planner, (first, second) = heard(played, "planner"), heard(played, "executor")
    assert len(planner) == 1
    created = played.events("plan.created")[0]
    kept = (await at.journal.artifact(created.artifact)).decode()
    assert user(first) == kept
    shown = json.loads(kept)
    assert (shown["run_id"], shown["objective"]) == ("run-1", "How often was I charged?")
    assert [step["action_type"] for step in shown["steps"]] == ["SEARCH", "CHECK"]
    for request in (first, second):
        assert not any(
            "think aloud" in message.text or "that is it" in message.text for message in request.messages
        )
        assert not any(message in planner[0].messages for message in request.messages)


async def test_a_planner_has_no_tools_and_a_call_of_one_is_refused_and_logged(desk):
    """C-9: it is told so, and may answer after all."""
    at = at_desk(desk, {**said(TWO), "desk/planner": [CALL, text(TWO)]})
    played = await at.run("desk")

    assert [request.tools for request in heard(played, "planner")] == [(), ()]
    assert [event.tool for event in played.events("tool.failed")] == ["look"]
    assert played.report == "done"


@pytest.mark.parametrize("missing", list(STEP))
async def test_a_plan_without_one_of_the_four_is_sent_back_once_with_what_is_missing(desk, missing):
    """C-8, C-13, X-C3."""
    bad = {key: value for key, value in STEP.items() if key != missing}
    played = await at_desk(desk, said(bad, again=TWO)).run("desk")

    first, second = heard(played, "planner")
    assert f"'{missing}' is a required property" in user(second)
    assert "was not accepted" not in user(first)
    order = [type for type in played.types if type.startswith(("plan.", "handoff."))]
    assert order == [
        "plan.rejected",
        "handoff.rejected",
        "plan.created",
        "plan.committed",
        "handoff.requested",
        "handoff.accepted",
        "handoff.completed",
        "plan.completed",
    ]
    assert played.report == "done"


async def test_two_bad_plans_end_the_run_with_diagnostics_and_nobody_acts(desk):
    """C-14."""
    played = await at_desk(desk, said({"action_type": "SEARCH"}, again="no plan at all")).run("desk")

    assert played.result.status == "failed"
    assert played.result.stop_reason == "SYSTEM_ERROR"
    assert "there is no JSON object" in played.result.error
    assert played.result.final_report.metadata["diagnostics"] == ["there is no JSON object in the answer"]
    assert len(heard(played, "planner")) == 2
    assert heard(played, "executor") == []
    first = played.events("plan.rejected")[0]
    assert {line.split("'")[1] for line in first.problems} == {
        "rationale",
        "expected_outputs",
        "stop_condition",
    }


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"content": "a whole file"}, "'content' was unexpected"),
        ({"rationale": "x" * 70_000}, "longer than 64 KB"),
        ({"artifact_ids": ["0" * 64]}, "artifact_ids: there is no '000"),
        ({"manifest_ids": ["manifest-9"]}, "manifest_ids: there is no 'manifest-9'"),
        ({"evidence_ids": ["ev_0123456789ab"]}, "evidence_ids: there is no 'ev_0123456789ab'"),
        ({"tool_calls": [{"name": "shred"}]}, "tool_calls: there is no 'shred'"),
        ({"stop_condition": " "}, "$.stop_condition"),
        ({"expected_outputs": "text"}, "$.expected_outputs"),
    ],
)
async def test_a_plan_refers_by_id_to_what_exists_and_holds_no_content(desk, wrong, told):
    """C-11, C-15."""
    played = await at_desk(desk, said({**STEP, **wrong}, again=TWO)).run("desk")

    [rejected] = played.events("plan.rejected")
    assert told in rejected.problems[0]
    assert played.report == "done"


async def test_the_executor_reads_by_id_what_the_plan_names(desk):
    """C-12, O-37: in pages; an id that this run does not know is a typed error."""

    request, advice = kept("I want my money back"), kept("the clerk says: twice")
    reads = [
        {"tool": "artifact.read", "arguments": {"id": advice}},
        {"tool": "artifact.read", "arguments": {"id": request, "offset": 2, "limit": 4}},
        {"tool": "artifact.read", "arguments": {"id": "f" * 64}},
    ]
    plan = {**STEP, "artifact_ids": [advice, request]}
    script = {
        "clerk": ["the clerk says: twice"],
        "desk/planner": [text(plan)],
        "desk/executor": [{"calls": reads}, "done"],
    }
    at = at_desk(desk, script, "split: always\nadvisors: [clerk.ai]")
    played = await at.run("desk")

    planner, (first, second) = heard(played, "planner")[0], heard(played, "executor")
    assert f"- {advice}: advisory clerk" in planner.messages[0].text
    assert f"- {request}: request" in planner.messages[0].text
    assert "artifact__read" in [spec.name for spec in first.tools]
    assert user(first).startswith('{\n  "plan_id"')
    assert not any("the clerk says" in message.text for message in first.messages)
    assert [message.text for message in second.messages if message.role == "tool"] == [
        "the clerk says: twice",
        "want\n[14 more characters; go on with offset 6]",
        f"(tool failed: unknown_artifact: there is no {'f' * 64!r} in this run; use an id that you were given)",
    ]


async def test_an_artifact_of_another_run_is_none_of_this_one_s_business(desk):
    """C-12: the journal holds it, but this run never named it."""
    foreign = "a secret of somebody else"
    reading = {"calls": [{"tool": "artifact.read", "arguments": {"id": kept(foreign)}}]}
    plan = {**STEP, "artifact_ids": [kept("I want my money back")]}
    at = at_desk(desk, said(plan, then=(reading, "done")))
    at.journal.keep(foreign.encode())
    played = await at.run("desk")

    [failed] = played.events("tool.failed")
    assert "unknown_artifact" in failed.text


async def test_the_executor_has_no_other_tools_than_the_plan_names(desk):
    """C-21: a call of another is refused and logged."""
    burning = {"calls": [{"tool": "burn", "arguments": {"what": "books"}}]}
    played = await at_desk(desk, said(TWO, then=(burning, "done"))).run("desk")

    assert [spec.name for spec in heard(played, "executor")[0].tools] == ["look", "agent__final_report"]
    [failed] = played.events("tool.failed")
    assert (failed.tool, "there is no tool 'burn'" in failed.text) == ("burn", True)


async def test_a_plan_that_names_no_tools_leaves_all_of_them(desk):
    """C-21."""
    played = await at_desk(desk, said(STEP)).run("desk")

    offered = [spec.name for spec in heard(played, "executor")[0].tools]
    assert offered == ["look", "burn", "agent__final_report"]


@pytest.mark.parametrize("allowed", [False, True])
async def test_the_executor_calls_no_agents_unless_that_is_allowed(desk, allowed):
    """C-20, X-2."""
    calling = "orchestration: {enable_agent_tool: true, auto_approve: true, allow_subagents: %s}\n"
    settings = SETTINGS + calling % str(allowed).lower()
    at = at_desk(desk, said(STEP), "split: always\nagents: [clerk.ai]", settings=settings)
    played = await at.run("desk")

    offered = {spec.name for spec in heard(played, "executor")[0].tools}
    assert ({"agent__clerk", "call_agent", "call_agents_parallel"} <= offered) is allowed
    assert ("call_agent: " in heard(played, "planner")[0].messages[0].text) is allowed


@pytest.mark.parametrize(
    ("split", "plan", "sessions"),
    [
        ("never", TWO, [""]),
        ("auto", LOOK, ["planner", ""]),
        ("auto", {"steps": [LOOK, STEP]}, ["planner", ""]),
        ("auto", TWO, ["planner", "executor"]),
        ("always", STEP, ["planner", "executor"]),
    ],
)
async def test_who_splits_and_when(desk, split, plan, sessions):
    """C-18, C-19, O-6, O-30: without a transfer one ordinary session answers, with all its tools."""
    played = await at_desk(desk, said(plan, then=("done",)), f"split: {split}").run("desk")

    assert [request.part for request in played.model.heard] == sessions
    assert played.report == ("done" if sessions[-1] else "one session did it all")
    assert len(played.events("plan.created")) == (split != "never")
    if sessions[-1] == "":
        assert played.offered("desk", len(sessions) - 1) == ["look", "burn", "agent__final_report"]
        assert user(played.model.heard[-1]) == "I want my money back"
        assert played.events("handoff.requested") == []


async def test_the_transfer_names_what_passes_over_and_to_which_role(desk):
    """C-2, C-10, C-16."""
    at = at_desk(desk, said(TWO))
    played = await at.run("desk")

    [handed] = played.events("handoff.requested")
    assert (handed.kind, handed.sender, handed.receiver, handed.agent_role) == (
        "contract",
        "desk",
        "desk",
        "EXECUTOR",
    )
    plan, manifest = [json.loads(await at.journal.artifact(id)) for id in handed.artifact_ids]
    assert plan["plan_id"] == played.events("plan.created")[0].plan.id == manifest["plan_id"]
    assert (manifest["agent_role"], manifest["tools"]) == ("EXECUTOR", ["look", "burn"])
    roles = {
        draft.span: draft.event.agent_role for draft in played.drafts if draft.event.type == "session.started"
    }
    assert roles == {"0": "", "0/planner/try:1": "PLANNER", "0/executor": "EXECUTOR"}


async def test_snapshots_say_who_did_what_and_what_passed_over(desk):
    """C-2, C-5, C-17, X-C1: at each transfer and at the end."""
    at = at_desk(desk, said({}, again=TWO))
    played = await at.run("desk")

    taken = [
        json.loads(await at.journal.artifact(event.artifact)) for event in played.events("snapshot.created")
    ]
    assert [(each["agent_role"], each["validation"]["status"]) for each in taken] == [
        ("PLANNER", "FAIL"),
        ("PLANNER", "PASS"),
        ("EXECUTOR", "PASS"),
    ]
    assert taken[0]["validation"]["failure_action"] == "RETRY"
    assert taken[0]["actions"] == taken[1]["actions"] == []
    assert [(each["agent_role"], each["tool"]) for each in taken[2]["actions"]] == [("EXECUTOR", "look")]
    [handed] = played.events("handoff.requested")
    assert (
        tuple(taken[1]["artifact_ids"])
        == handed.artifact_ids
        == played.events("snapshot.created")[1].artifact_ids
    )


async def test_every_action_belongs_to_a_plan_and_the_audit_finds_one_that_does_not(desk):
    """C-5."""
    played = await at_desk(desk, said(TWO)).run("desk")
    [started] = played.events("tool.started")
    assert started.plan_id == played.events("plan.created")[0].plan.id

    found = audit(played.drafts)
    assert (found.actions, found.transfers, found.snapshots, found.orphans) == (1, 1, 2, ())
    for lost in ("plan.created", "snapshot.created", "handoff.requested"):
        without = [draft for draft in played.drafts if draft.event.type != lost]
        assert audit(without).orphans, lost


async def test_nothing_the_planner_said_besides_the_plan_stands_outside_of_its_own_answer(desk):
    """C-4, C-22, O-38."""
    at = at_desk(desk, said(f"PROSE {text(TWO)} MORE PROSE"))
    played = await at.run("desk")

    with_prose = [draft for draft in played.drafts if "PROSE" in str(draft.event)]
    assert {(draft.event.type, draft.span) for draft in with_prose} == {
        ("llm.response", "0/planner/try:1"),
        ("session.completed", "0/planner/try:1"),
    }


async def test_nothing_that_a_planner_claims_is_ever_recorded_as_a_claim(desk):
    """C-7: neither in a report, which it cannot give, nor in its plan."""
    claim = {"text": "order 7 was charged twice", "evidence": [], "status": "verified"}
    reporting = {"report": text(TWO), "claims": [claim]}
    at = at_desk(desk, {**said(TWO), "desk/planner": [reporting, text({**LOOK, "claims": [claim]})]})
    played = await at.run("desk")

    assert played.result.stop_reason == "SYSTEM_ERROR"
    assert "'claims' was unexpected" in played.result.error
    assert [event.tool for event in played.events("tool.failed")] == ["agent__final_report"] * 2
    assert [type for type in played.types if type.startswith(("claim.", "evidence."))] == []


async def test_an_executor_claims_what_its_own_calls_bear_out(desk):
    """C-6, C-10: evidence is attached by the one who did the work."""
    done = {
        "report": "twice",
        "claims": [
            {"text": "it was charged twice", "evidence": ["look"]},
            {"text": "I am sure", "status": "verified"},
        ],
    }
    at = at_desk(desk, said(TWO, then=(CALL, done)), "split: always\noutput: {claims: true}")
    played = await at.run("desk")

    claims = played.result.final_report.claims
    assert [(claim.text, claim.status) for claim in claims] == [
        ("it was charged twice", "verified"),
        ("I am sure", "unverified"),
    ]
    assert claims[0].evidence == (played.events("tool.finished")[0].evidence,)
    assert {draft.span for draft in played.drafts if draft.event.type == "claim.demoted"} == {"0/executor"}


async def test_the_result_shows_the_plan_and_where_it_is_kept(desk):
    """C-1, U-2."""
    played = await at_desk(desk, said(TWO)).run("desk", "How often?")

    [plan] = played.result.to_json()["plans"]
    assert (plan["strategy"], plan["agentId"], plan["callPath"], plan["status"]) == (
        "contract",
        "desk",
        "0",
        "done",
    )
    assert (plan["plan"]["goal"], len(plan["plan"]["steps"])) == ("How often?", 2)
    assert plan["artifact"] in played.events("handoff.requested")[0].artifact_ids
    assert played.result.totals.agents_run == 1


async def test_a_strict_run_offers_no_agent_no_route_and_no_clarification(desk):
    """X-1: what the settings switch on is left out; nothing but a plan passes over."""
    settings = SETTINGS + "contract: strict\norchestration: {enable_agent_tool: true, auto_approve: true}\n"
    at = at_desk(desk, said(TWO), "split: always\nagents: [clerk.ai]\nchat: true", settings=settings)
    played = await at.run("desk")

    assert played.report == "done"
    assert [spec.name for spec in heard(played, "executor")[0].tools] == ["look", "agent__final_report"]
    assert "agent__" not in heard(played, "planner")[0].messages[0].text
    assert {event.kind for event in played.events("handoff.requested")} == {"contract"}


async def test_a_split_agent_works_as_advisor_as_called_agent_and_before_a_handoff(desk):
    """A-107 with a split: it composes like any other."""
    files = {
        "root": "advisors: [desk.ai]\nagents: [desk.ai]\nhandoff: last.ai",
        "desk": "tools: [look]\nsplit: always",
        "last": "",
    }
    ask = {"calls": [{"tool": "agent.desk", "arguments": {"prompt": "count", "reason": "r"}}]}
    script = {**said(TWO), "root": [ask, "asked"], "last": ["all in all"]}
    played = await desk(files, script, tools=[look]).run("root")

    assert played.report == "all in all"
    assert played.result.totals.agents_run == 4
    spans = [draft.span for draft in played.drafts if draft.event.type == "session.started"]
    assert "0/advisor:desk/executor" in spans
    assert "0/turn:1/call:1/planner/try:1" in spans
    assert audit(played.drafts).orphans == ()


@pytest.mark.parametrize("budget", [1, 2, 3])
async def test_a_split_stays_within_its_budget_and_says_which_limit_stopped_it(desk, budget):
    """O-33."""
    settings = SETTINGS + f"budget: {{requests: {budget}}}\n"
    played = await at_desk(desk, said(TWO), settings=settings).run("desk")

    assert played.result.totals.model_requests <= budget
    assert played.result.status == ("completed" if budget == 3 else "failed")
    if budget < 3:
        assert played.result.stop_reason == "BUDGET_EXCEEDED"


async def test_a_split_run_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: no plan is asked for twice, no step done twice."""
    script = said({"action_type": "x"}, again=TWO)
    whole = await at_desk(desk, script).run_cut_anywhere("desk")
    assert whole.report == "done"
