"""Agents that no file declares: made up by their caller, or general."""

import re

from tests.desk import look
from tests.fakes import fake
from tests.orchestration.calling import ask, calling, results

MADE = {"system_prompt": "Du bist Steuerberater.", "tool_allowlist": ["look"]}


file_write = fake("file_write(path)", "written", effect="once", access="write")
FILES = {"desk": "tools: [look, file_write]\nmaxTurns: 6", "clerk": "tools: [file_write]"}


def at_desk(desk, script, settings=None, files=FILES):
    return desk(files, script, settings=settings or calling(), tools=[look, file_write])


def offered(played, agent="custom", request=0):
    return [name for name in played.offered(agent, request) if name != "agent__final_report"]


async def test_an_agent_made_at_run_time_has_the_prompt_and_the_tools_it_was_given(desk):
    """B-7, B-15, B-17, B-20, O-28: and wins over a specialist that is named beside it."""
    call = ask("Ist das absetzbar?", "clerk", agent_definition=MADE)
    peek = {"calls": [{"tool": "look", "arguments": {"where": "EStG"}}]}
    played = await at_desk(desk, {"desk": [{"calls": [call]}, "ok"], "custom": [peek, "Ja."]}).run("desk.ai")

    [returned] = results(played)
    assert (returned["result"], returned["steps_taken"]) == ("Ja.", 2)
    assert re.fullmatch(r"run-1:sub_custom_[0-9a-f]{8}", returned["session_id"])
    heard = played.model.heard_from("custom")[0]
    assert [message.text for message in heard.messages] == ["Du bist Steuerberater.", "Ist das absetzbar?"]
    assert offered(played) == ["look"]
    [spawned] = played.events("sub_agent.spawned")
    assert (spawned.specialist, spawned.has_custom_definition) == ("custom", True)


async def test_without_specialist_and_definition_a_general_agent_does_it(desk):
    """B-9, X-B2: with the caller's model and tools, but not its agents, and nothing to call others with."""
    files = FILES | {"desk": "agents: [clerk.ai]\ntools: [look, file_write]\nmodels: [scripted/mine]"}
    played = await at_desk(
        desk, {"desk": [{"calls": [ask("find out")]}, "ok"], "custom": ["found"]}, files=files
    ).run("desk.ai")

    assert results(played)[0]["result"] == "found"
    heard = played.model.heard_from("custom")[0]
    assert heard.model == "mine"
    assert heard.messages[0].text.startswith("You are a sub-agent.")
    assert offered(played) == ["look", "file_write"]
    assert played.events("sub_agent.spawned")[0].has_custom_definition is False


async def test_what_a_caller_has_not_it_cannot_give(desk):
    """O-21, B-51: models only narrow, at every level."""
    wide = {"system_prompt": "Write.", "tool_allowlist": ["look", "file_write", "call_agent", "shell"]}
    narrow = wide | {"tool_allowlist": ["look", "call_agent"]}
    said = {
        "desk": [{"calls": [ask("a", agent_definition=narrow)]}, "ok"],
        "custom": {
            "rules": [
                {"when": "/^a$/", "calls": [ask("b", agent_definition=wide)]},
                {"when": "/^b$/", "report": "written"},
            ],
            "default": {"report": "done"},
        },
    }
    played = await at_desk(desk, said).run("desk.ai")

    assert offered(played, request=0) == ["look", "call_agent"]
    assert offered(played, request=1) == ["look", "call_agent"]


async def test_tools_may_be_named_as_in_files_or_as_on_the_wire_and_an_empty_list_means_none(desk):
    """B-7."""
    files = {"desk": "agents: [clerk.ai]\ntools: [look]", "clerk": ""}
    for names, expected in (
        ([], []),
        (["agent.clerk"], ["agent__clerk"]),
        (["agent__clerk"], ["agent__clerk"]),
    ):
        made = {"system_prompt": "x", "tool_allowlist": names}
        said = {"desk": [{"calls": [ask("a", agent_definition=made)]}, "ok"], "custom": ["y"]}
        played = await at_desk(desk, said, files=files).run("desk.ai")

        assert offered(played) == expected


async def test_the_allowlist_of_the_settings_holds_for_everybody_below(desk):
    """B-39, O-21: whatever a definition or a file says, and however deep."""
    settings = calling("sub_agent_tool_allowlist: [look]")
    files = {
        "desk": "tools: [look, file_write]",
        "clerk": "tools: [look, file_write]\nhandoff: editor.ai",
        "editor": "tools: [file_write]",
    }
    wide = {"system_prompt": "Write.", "tool_allowlist": ["look", "file_write"]}
    said = {
        "desk": [{"calls": [ask("a", "clerk"), ask("b", agent_definition=wide)]}, "ok"],
        "clerk": ["3"],
        "editor": ["edited"],
        "custom": ["y"],
    }
    played = await at_desk(desk, said, settings, files).run("desk.ai")

    calls = ["call_agent", "call_agents_parallel"]
    assert offered(played, "desk") == ["look", "file_write", *calls]
    assert offered(played, "clerk") == ["look", *calls]
    assert offered(played, "editor") == calls
    assert offered(played, "custom") == ["look"]


async def test_the_profile_of_the_settings_gives_model_options_and_prompt(desk):
    """B-36: the tools stay those of the caller."""
    settings = calling("sub_agent_profile: helper.ai")
    files = FILES | {"helper": "models: [scripted/small]\ntemperature: 0.5\nmaxTurns: 4\ntools: [file_write]"}
    said = {"desk": [{"calls": [ask("a"), ask("b", agent_definition=MADE)]}, "ok"], "custom": ["y"]}
    played = await at_desk(desk, said, settings, files).run("desk.ai")

    general, made = played.model.heard_from("custom")
    assert (
        (general.model, general.tuning.temperature) == (made.model, made.tuning.temperature) == ("small", 0.5)
    )
    assert general.messages[0].text == "You are helper."
    assert made.messages[0].text == "Du bist Steuerberater."
    assert [event.max_steps for event in played.events("sub_agent.executing")] == [4, 4]
    assert offered(played) == ["look", "file_write"]


async def test_a_definition_that_says_nothing_starts_nothing(desk):
    blank = [{"system_prompt": " "}, {"tool_allowlist": ["look"]}, {"system_prompt": "x", "model": "big"}]
    calls = [ask("a", agent_definition=each) for each in blank]
    played = await at_desk(desk, {"desk": [{"calls": calls}, "ok"]}).run("desk.ai")

    assert results(played) == [
        "(tool failed: agent_definition.system_prompt is empty)",
        "(tool failed: Object missing required field `system_prompt` - at `$.agent_definition`)",
        "(tool failed: Object contains unknown field `model` - at `$.agent_definition`)",
    ]
    assert played.started() == ["desk"]
