"""Long results in few words."""

import pytest

from folkmoot.orchestration.call_agent import PROMPT
from tests.desk import blocks
from tests.orchestration.calling import ask, ask_all, calling, results

FILES = {"desk": "", "clerk": ""}
LONG = "All is well. " * 400
FAST = "models: {default: scripted/any, fast: scripted/small}"


def at_desk(desk, script, more="summarize_results: true"):
    settings = calling(more).replace("models: {default: scripted/any}", FAST)
    return desk(FILES, script, settings=settings)


def said_by_clerk(text, **more):
    return {"desk": [{"calls": [ask("count", "clerk")]}, "ok"], "clerk": [{"report": text}], **more}


async def test_by_default_a_long_result_stays_as_it_is(desk):
    """B-40, X-B5."""
    played = await at_desk(desk, said_by_clerk(LONG), more="").run("desk.ai")

    assert results(played)[0]["result"] == LONG
    assert played.events("result.summarized") == []


async def test_a_long_result_is_summarised_by_the_fast_model_and_kept_whole(desk):
    """B-40, B-47: one request more, in a session of its own below the call, accounted like every other."""
    at = at_desk(desk, said_by_clerk(LONG, summary=["Well."]))
    played = await at.run("desk.ai")

    [returned] = results(played)
    [event] = played.events("result.summarized")
    assert returned["result"] == "Well."
    assert returned["artifact"] == event.artifact
    assert await at.journal.artifact(event.artifact) == LONG.encode()
    assert (event.session, event.length, event.summary_length) == (returned["session_id"], len(LONG), 5)
    [heard] = played.model.heard_from("summary")
    assert (heard.model, heard.messages[0].text) == ("small", PROMPT)
    assert blocks(heard.messages[1].text)[1] == ("report", "clerk", LONG)
    assert [spec.name for spec in heard.tools] == ["agent__final_report"]
    [spent] = [entry for entry in played.result.accounting if entry.name == "scripted/small"]
    assert spent.call_path == "0/turn:1/call:1/summary"


@pytest.mark.parametrize(("length", "asked"), [(2000, 0), (2001, 1)])
async def test_a_result_is_long_when_it_has_more_than_2000_characters(desk, length, asked):
    """B-41."""
    played = await at_desk(desk, said_by_clerk("x" * length, summary=["short"])).run("desk.ai")

    assert len(played.model.heard_from("summary")) == asked


async def test_the_length_can_be_set(desk):
    """B-41."""
    more = "summarize_results: true, summary_max_length: 10"
    played = await at_desk(desk, said_by_clerk("eleven char", summary=["short"]), more).run("desk.ai")

    assert results(played)[0]["result"] == "short"
    assert "at most 10 characters" in played.prompt("summary")


@pytest.mark.parametrize(
    "fails", [{"error": {"message": "down", "retryable": False}}, {"report": LONG + LONG}]
)
async def test_a_summary_that_fails_or_grows_leaves_the_result_untouched(desk, fails):
    """B-48."""
    played = await at_desk(desk, said_by_clerk(LONG, summary=[fails])).run("desk.ai")

    [returned] = results(played)
    assert (returned["success"], returned["result"]) == (True, LONG)
    assert played.events("result.summarized") == []


async def test_missions_of_a_batch_are_summarised_one_by_one(desk):
    """B-47."""
    missions = [{"mission": "a", "specialist": "clerk"}] * 2
    said = said_by_clerk(LONG, summary=["Well."]) | {"desk": [{"calls": [ask_all(*missions)]}, "ok"]}
    played = await at_desk(desk, said).run("desk.ai")

    assert [each["result"] for each in results(played)[0]["results"]] == ["Well.", "Well."]


async def test_a_run_with_a_summary_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: no summary is paid for twice."""
    said = said_by_clerk(LONG, summary=["Well."])
    await at_desk(desk, said).run_cut_anywhere("desk.ai")
