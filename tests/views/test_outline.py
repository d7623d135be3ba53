from folkmoot.views.optree import Line, outline
from folkmoot.views.timeline import timeline
from tests.desk import SETTINGS
from tests.views.test_timeline import FILES, SCRIPT


async def test_the_op_tree_is_read_from_top_to_bottom(desk):
    """A-105, A-106: advisors before the turns of their agent, route and handoff after them."""
    used = {"usage": {"tokensIn": 7, "tokensOut": 2}}
    script = {**SCRIPT, "desk": [{"route": "billing", **used}], "clerk": [{"text": "found", **used}]}
    script["billing"] = [SCRIPT["billing"][0] | used, SCRIPT["billing"][1] | used]
    script["editor"] = [{"text": "Dear customer", **used}]
    played = await desk(FILES, script).run("desk.ai")

    answered = "scripted/any, 7 tokens in, 2 out, 0 ms"
    assert list(outline(played.result.op_tree)) == [
        Line(0, "desk completed", "completed"),
        Line(1, "risk (advisor) failed: no model answered after 1 attempt; the last: gone", "failed"),
        Line(2, "turn 1: scripted/any gave no answer: gone", "failed"),
        Line(1, f"turn 1: {answered}"),
        Line(1, "billing (route) completed", "completed"),
        Line(2, f"turn 1: {answered}"),
        Line(2, 'turn 1: agent__clerk(prompt="look", reason="r"): found [runtime: 0 tool calls]'),
        Line(3, "clerk (agent) completed", "completed"),
        Line(4, f"turn 1: {answered}"),
        Line(2, f"turn 2: {answered}"),
        Line(2, "editor (handoff) completed", "completed"),
        Line(3, f"turn 1: {answered}"),
    ]


async def test_a_long_result_is_cut_and_a_request_without_answer_is_open(desk):
    script = {"a": [{"calls": [{"tool": "nothing", "arguments": {"text": "word " * 50}}]}, "done"]}
    played = await desk({"a": "description: a"}, script).run("a.ai")
    tree = played.result.op_tree
    tree.turns[0].ops[0].response, tree.turns[0].ops[0].status = None, "open"

    lines = list(outline(tree))

    assert lines[1] == Line(1, "turn 1: scripted/any, no answer yet", "running")
    assert lines[2].text.endswith("…")
    assert len(lines[2].text) < 150


async def test_an_answer_that_was_cut_off_or_empty_is_marked_and_nothing_that_cost_is_free(desk):
    """Whoever reads half an answer must not take it for a whole one."""
    half = {
        "text": "Half of wh",
        "stop": "length",
        "usage": {"tokensIn": 1, "tokensOut": 1},
        "costUsd": 0.00001,
    }
    nothing = half | {"text": "", "stop": "content_filter"}
    long = {"calls": [{"tool": "n" * 500, "arguments": {}}]}
    played = await desk({"a": "description: a"}, {"a": [nothing, long, half]}).run("a.ai")

    turns = [line.text for line in outline(played.result.op_tree)][1:]
    assert turns[0] == "turn 1: scripted/any, 1 tokens in, 1 out, <$0.0001, 0 ms, empty (content_filter)"
    assert len(turns[2]) < 200
    assert turns[-1] == "turn 3: scripted/any, 1 tokens in, 1 out, <$0.0001, 0 ms, cut off (length)"
    assert [line for line in timeline(played.drafts) if "answer" in line] == [
        "a has an answer that is empty (content_filter)",
        "a has an answer that is cut off (length)",
    ]


async def test_the_missions_of_one_call_stand_below_it(desk):
    """B-23: each once, as a session."""
    settings = "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
    missions = [{"mission": "a", "specialist": "clerk"}, {"mission": "b", "specialist": "clerk"}]
    call = {"tool": "call_agents_parallel", "arguments": {"missions": missions}}
    said = {"desk": [{"calls": [call]}, "ok"], "clerk": ["3"]}
    played = await desk({"desk": "", "clerk": ""}, said, settings=SETTINGS + settings).run("desk.ai")

    lines = [line for line in outline(played.result.op_tree) if "tokens in" not in line.text]
    assert [(line.depth, line.text.partition("(")[0].strip()) for line in lines] == [
        (0, "desk completed"),
        (1, "turn 1: call_agents_parallel"),
        (2, "clerk"),
        (2, "clerk"),
    ]
