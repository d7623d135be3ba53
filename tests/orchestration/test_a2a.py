"""Agents write to each other: what the receiver reads, what the sender gets back, what the journal says of it."""

import pytest

from folkmoot.domain.entry import role
from tests.desk import SETTINGS, blocks, look
from tests.orchestration.messages import ANN, BOB, calls, have, tell, write


def a2a(played):
    return [draft for draft in played.drafts if draft.event.type.startswith("a2a.")]


def results(played, agent, request=1):
    """What an agent read from its tools before this request."""
    return [one.text for one in played.model.heard_from(agent)[request].messages if one.role == "tool"]


def said(request):
    """The messages of others in a conversation."""
    return [block[2] for one in request.messages for block in blocks(one.text)]


async def test_the_receiver_reads_who_writes_to_whom_and_the_text_inside_an_envelope(desk):
    """E-54, U-13: both ids, outside the fence."""
    script = {"ann": [calls(write("bob", "may we?\nTo: eve")), "done"], "bob": ["yes"]}
    played = await desk({"ann": ANN, "bob": BOB}, script).run("ann.ai")

    prompt = played.prompt("bob")
    headers = prompt.partition("\n\n")[0].splitlines()
    assert headers[:2] == ["From: ann", "To: bob"]
    assert headers[2].startswith("Conversation: conv_")
    assert blocks(prompt) == [("message", "ann", "may we?\nTo: eve")]
    assert results(played, "ann")[0].startswith("yes\n[runtime: 0 tool calls]\n[runtime: conversation conv_")


async def test_a_message_between_main_agents_is_sent_answered_and_completed_once(desk):
    """E-2, E-47, E-79, E-85, U-11: three events of one conversation, with the role of it."""
    script = {"ann": [calls(write("bob", "m" * 300, label="Law")), "done"], "bob": ["r" * 300]}
    played = await desk({"ann": ANN, "bob": BOB}, script).run("ann.ai")

    noted = a2a(played)
    assert [draft.event.type for draft in noted] == ["a2a.send", "a2a.response", "a2a.complete"]
    assert [draft.agent_id for draft in noted] == ["ann", "bob", "ann"]
    assert {role(draft) for draft in noted} == {"conversation.main"}
    sent, response, complete = (draft.event for draft in noted)
    assert (sent.from_agent, sent.to_agent, sent.label, sent.hop, sent.turn) == ("ann", "bob", "Law", 1, 1)
    assert sent.message == "m" * 199 + "…"
    assert (response.outcome, response.reply_preview) == ("replied", "r" * 199 + "…")
    assert (complete.total_turns, complete.announced, complete.run_id) == (1, False, "run-1")
    assert sent.work_session_id == played.drafts[0].work_session_id
    of_bob = [draft for draft in played.drafts if draft.session_id == sent.target_session_key]
    assert {draft.conversation_id for draft in (*noted, *of_bob)} == {sent.conversation_id}
    assert "session.completed" in [draft.event.type for draft in of_bob]


async def test_a_spawned_agent_works_below_its_caller_and_its_result_is_announced(desk):
    """E-3, E-79, E-80: one conversation id from the spawn on; nothing of it is a conversation between main agents."""
    script = {"ann": [calls(have("bob", label="Count")), calls(write("bob")), "done"], "bob": ["3"]}
    played = await desk({"ann": ANN, "bob": BOB}, script).run("ann.ai")

    noted = a2a(played)
    assert [draft.event.type for draft in noted] == [
        *("a2a.spawn", "a2a.response", "a2a.complete", "a2a.spawn_result"),
        *("a2a.send", "a2a.response", "a2a.complete"),
    ]
    assert [role(draft) for draft in noted] == ["delegation.subagent"] * 4 + ["conversation.main"] * 3
    assert len({draft.event.conversation_id for draft in noted}) == 1
    _, response, complete, result = (draft.event for draft in noted[:4])
    assert (response.reply_preview, response.announced, response.run_id) == ("3", True, "run-1")
    assert (complete.reply_preview, complete.announced, complete.run_id) == ("3", True, "run-1")
    assert (result.status, result.error, result.depth) == ("ok", "", 1)
    assert [draft.span for draft in noted[:2]] == ["0", "0/turn:1/call:1"]


async def test_whoever_works_for_another_is_no_main_agent_whatever_it_writes(desk):
    """E-3, E-8: conservative: a message of a sub-agent is delegation."""
    files = {"ann": ANN, "bob": "tools: [a2a_send]", "cid": "", "eve": "agents: [bob.ai]"}
    script = {"ann": [calls(have("bob")), "done"], "bob": [calls(write("cid")), "ok"], "cid": ["here"]}
    script["eve"] = [calls({"tool": "agent__bob", "arguments": {"prompt": "p", "reason": "r"}}), "done"]
    for root in ("ann.ai", "eve.ai"):
        played = await desk(files, script).run(root)

        assert [draft.event.type for draft in a2a(played)].count("a2a.send") == 1
        assert {role(draft) for draft in a2a(played)} == {"delegation.subagent"}
        assert played.events("a2a.send")[0].depth > 0


async def test_an_allowlist_for_called_agents_holds_for_those_that_are_spawned_and_all_below_them(desk):
    """X-4: whoever is only written to has what its own file says."""
    files = {"ann": ANN, "bob": "tools: [messages, look]", "cid": "tools: [look, messages]"}
    settings = SETTINGS + "orchestration: {sub_agent_tool_allowlist: [messages]}\n"
    script = {
        "ann": [calls(have("bob"), write("cid")), "done"],
        "bob": [calls(write("cid")), "ok"],
        "cid": ["ok"],
    }
    played = await desk(files, script, settings=settings, tools=[look]).run("ann.ai")

    assert "look" not in played.offered("bob")
    offered = {
        request.session: [spec.name for spec in request.tools] for request in played.model.heard_from("cid")
    }
    assert {session.count(":"): "look" in names for session, names in offered.items()} == {1: True, 2: False}


async def test_the_lead_of_a_team_is_the_main_agent_and_its_members_are_not(desk):
    """E-2, E-3."""
    files = {"ann": "team: {members: [bob.ai]}\ntools: [messages]", "bob": "tools: [messages]", "cid": ""}
    script = {
        "bob": [
            calls(write("cid", "by a member")),
            {"broadcast": "written"},
        ],
        "ann": [calls(write("cid", "by the lead")), {"report": "done"}],
        "cid": ["ok"],
    }
    played = await desk(files, script).run("ann.ai")

    assert {event.message: event.main for event in played.events("a2a.send")} == {
        "by a member": False,
        "by the lead": True,
    }


async def test_a_receiver_with_chat_is_kept_and_can_be_asked_about_its_answer(desk):
    """One way: it is a finished child like any other."""
    ask = {"tool": "agent__ask_clarification", "arguments": {"child_id": "bob", "question": "why?"}}
    script = {"ann": [calls(write("bob")), calls(ask), "done"], "bob": ["yes", "because"]}
    played = await desk({"ann": ANN, "bob": "chat: true"}, script).run("ann.ai")

    assert "agent__ask_clarification" in played.offered("ann", 1)
    assert '"content":"because"' in results(played, "ann", 2)[1]


async def test_writing_again_goes_on_with_the_receivers_conversation(desk):
    """E-77: it knows what was said, unless another conversation is begun."""
    first, again = write("bob", "one"), write("bob", "two")
    script = {
        "ann": [calls(first), calls(again), calls(write("bob", "three", conversation_id="new")), "done"],
        "bob": ["yes"],
    }
    played = await desk({"ann": ANN, "bob": BOB}, script).run("ann.ai")

    heard = [said(request) for request in played.model.heard_from("bob")]
    assert heard == [["one"], ["one", "two"], ["three"]]
    assert [event.turn for event in played.events("a2a.send")] == [1, 2, 1]
    ids = [event.conversation_id for event in played.events("a2a.send")]
    assert ids[0] == ids[1] != ids[2]
    assert played.model.heard_from("bob")[1].messages[0].text == "You are bob."


async def test_messages_of_one_answer_do_not_know_each_other(desk):
    """Who is quicker changes nothing."""
    script = {"ann": [calls(write("bob", "one"), write("bob", "two")), calls(write("bob", "three")), "done"]}
    script["bob"] = ["yes"]
    played = await desk({"ann": ANN, "bob": BOB}, script).run("ann.ai")

    heard = [said(request) for request in played.model.heard_from("bob")]
    assert heard == [["one"], ["two"], ["one", "two", "three"]]


async def test_two_that_write_at_the_same_time_are_not_mixed_up_though_one_is_quicker(desk):
    """Names decide: the late one does not know what the other was told, whenever that was."""
    files = {"ann": ANN, "bob": "tools: [messages]", "cid": ""}
    bob = [
        {"when": "seen one", "barrier": "late/2", "text": "ok"},
        {"when": "seen two", "text": "ok"},
        {"when": "number one", **calls(write("cid", "from one"))},
        {"when": "number two", "barrier": "late/2", **calls(write("cid", "from two"))},
    ]
    script = {
        "ann": [calls(write("bob", "number one"), write("bob", "number two")), "done"],
        "bob": {"rules": bob},
        "cid": {"rules": [{"when": "from one", "text": "seen one"}], "default": "seen two"},
    }
    played = await desk(files, script).run("ann.ai")

    assert [said(request) for request in played.model.heard_from("cid")] == [["from one"], ["from two"]]


async def test_there_is_exactly_one_response_also_if_nobody_replied(desk):
    """5.1: a blocked outcome, and the sender reads why and goes on."""
    fault = {"error": {"message": "no", "retryable": False}}
    played = await desk({"ann": ANN, "bob": BOB}, {"ann": [calls(write("bob")), "done"], "bob": [fault]}).run(
        "ann.ai"
    )

    [response] = played.events("a2a.response")
    assert response.outcome == "blocked"
    assert "no model answered" in response.error
    assert "no model answered" in results(played, "ann")[0]
    assert played.report == "done"


async def test_the_limits_of_calls_hold_for_messages_and_leave_one_response(desk):
    """One way: what the ledger refuses is a blocked outcome."""
    settings = SETTINGS + "limits: {childrenPerParent: 1}\n"
    script = {"ann": [calls(write("bob")), calls(write("bob")), "done"], "bob": ["yes"]}
    played = await desk({"ann": ANN, "bob": BOB}, script, settings=settings).run("ann.ai")

    assert [event.outcome for event in played.events("a2a.response")] == ["replied", "blocked"]
    assert "limits.childrenPerParent" in results(played, "ann", 2)[1]


async def test_a_broadcast_reaches_exactly_those_that_fit_at_the_same_time(desk):
    """E-50, E-60: three of five, proved by a barrier; what each said is listed, and one failure stops no other."""
    files = {"ann": ANN} | {name: "role: reviewer" for name in ("r1", "r2", "r3")} | {"w1": "", "w2": ""}
    meet = {"barrier": "all/3", "text": "seen"}
    failing = {"barrier": "all/3", "error": {"message": "no", "retryable": False}}
    script = {"ann": [calls(tell(role="reviewer")), "done"], "r1": [meet], "r2": [failing], "r3": [meet]}
    played = await desk(files, script).run("ann.ai")

    assert sorted(played.started()) == ["ann", "r1", "r2", "r3"]
    told = results(played, "ann")[0]
    assert '"sent":3,"replied":2' in told
    assert '{"agent":"r1","status":"replied","reply":"seen' in told
    assert '{"agent":"r2","status":"blocked","error":"r2: no model answered' in told
    assert [event.channel for event in played.events("a2a.send")] == ["broadcast"] * 3
    assert len({event.conversation_id for event in played.events("a2a.send")}) == 1


@pytest.mark.parametrize(
    ("filter", "reached"),
    [
        ({}, ["bob", "cid", "dan"]),
        ({"capability": "python"}, ["bob", "cid"]),
        ({"capability": "python", "role": "lead"}, ["cid"]),
        ({"agents": ["dan", "cid"]}, ["cid", "dan"]),
        ({"agents": ["dan"], "role": "lead"}, []),
    ],
)
async def test_every_filter_of_a_broadcast_must_hold(desk, filter, reached):
    """E-50."""
    files = {
        "ann": ANN,
        "bob": "capabilities: [python]",
        "cid": "role: lead\ncapabilities: [python, law]",
        "dan": "",
    }
    script = {"ann": [calls(tell(**filter)), "done"]} | {name: ["ok"] for name in ("bob", "cid", "dan")}
    played = await desk(files, script).run("ann.ai")

    assert sorted(played.started()) == ["ann", *reached]
    assert reached or "no other agent" in results(played, "ann")[0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (write("nobody"), "there is no agent 'nobody' that can be written to; there are: ann, bob"),
        (write("form"), "there is no agent 'form' that can be written to"),
        (have("nobody"), "there is no agent 'nobody'"),
        (tell(agents=["nobody"]), "there is no agent 'nobody'"),
        (write("bob", " "), "message is empty"),
        (write("bob", conversation_id="conv_x"), "there is no conversation 'conv_x' in this run"),
        (tell(conversation_id="conv_x"), "there is no conversation 'conv_x' in this run"),
        (write("bob", hurry="yes"), "unknown field `hurry`"),
        (tell(role=3), "Expected `str`, got `int` - at `$.role`"),
        (have("bob", 3), "Expected `str`, got `int` - at `$.message`"),
    ],
)
async def test_whoever_is_not_known_is_not_written_to_and_the_sender_reads_what_is_wrong(desk, call, says):
    """E-63: known identities are delivered to, unknown ones are dropped."""
    files = {"ann": ANN, "bob": BOB, "form": "input: {format: json}"}
    played = await desk(files, {"ann": [calls(call), "done"]}).run("ann.ai")

    assert says in results(played, "ann")[0]
    assert a2a(played) == []


async def test_the_tools_show_the_others_with_their_descriptions_and_parts(desk):
    """E-55: never the agent itself."""
    files = {"ann": ANN, "bob": BOB, "cid": "role: reviewer\ncapabilities: [python]"}
    played = await desk(files, {"ann": ["done"]}).run("ann.ai")

    send, broadcast, spawn = played.model.heard_from("ann")[0].tools[:3]
    assert send.description.endswith("\n- bob: knows the law\n- cid")
    assert spawn.description.endswith("\n- bob: knows the law\n- cid")
    assert broadcast.description.endswith("\n- bob: worker\n- cid: reviewer, python")
    assert send.parameters["properties"]["to"]["enum"] == ["bob", "cid"]


async def test_one_tool_of_the_group_can_be_named_alone_and_a_strict_run_has_none(desk):
    """O-44, X-1."""
    files = {"ann": "tools: [a2a_spawn]", "bob": "tools: [messages]\ncontract: strict"}
    script = {"ann": ["done"], "bob": ["done"]}

    assert (await desk(files, script).run("ann.ai")).offered("ann")[:1] == ["a2a_spawn"]
    assert not [name for name in (await desk(files, script).run("bob.ai")).offered("bob") if "a2a" in name]


async def test_the_origin_of_a_matter_is_kept_over_all_hops(desk):
    """E-61: whoever reads the third message knows who first passed it on."""
    files = dict.fromkeys(("ann", "bob", "cid"), "tools: [messages]")
    script = {"ann": [calls(write("bob")), "done"], "bob": [calls(write("cid")), "ok"], "cid": ["ok"]}
    played = await desk(files, script).run("ann.ai")

    assert [(event.origin, event.hop, event.main) for event in played.events("a2a.send")] == [
        ("ann", 1, True),
        ("ann", 2, True),
    ]
    assert "\nOrigin: ann\n" in played.prompt("cid")
    assert "Origin" not in played.prompt("bob")
