"""A secret reaches the tool it is meant for, and nothing that is kept or shown."""

from folkmoot import Folkmoot, Surroundings
from folkmoot.journal.codec import data_of
from tests.desk import SETTINGS
from tests.fakes import fake

TOKEN = "s3cr3t-t0k3n-value"
LISTED = SETTINGS + "secrets: [API_TOKEN]"


class Service:
    def __init__(self):
        self.got = []

        query = fake("query(token)", "hello {token} " + "x" * 20_000, calls=self.got)
        self.tools = [query, fake("broken", ValueError(f"401 for {TOKEN}"))]


def opened(at, env):
    around = Surroundings(env=env, clock=at.clock, journal=at.journal, identify=lambda _: at.identity)
    return Folkmoot.open(at.folder, tools=at.tools, models={"scripted": at.model}, around=around)


async def test_a_call_names_a_secret_its_tool_gets_the_value_and_the_journal_has_neither(desk):
    """Issue 5: redacted in journal, errors and tool output; a recorded call stays executable."""
    service = Service()
    calls = [{"tool": "query", "arguments": {"token": "{{secret:API_TOKEN}}"}}, {"tool": "broken"}]
    at = desk(
        {"desk": "tools: [query, broken]"},
        {"desk": [{"calls": calls}, f"the token is {TOKEN}"]},
        tools=service.tools,
        settings=LISTED,
    )
    async with opened(at, {"API_TOKEN": TOKEN}) as moot:
        played = await at.played(await moot.run("desk", f"use {TOKEN}"))
        assert (await moot.replay("run-1")).divergence == ""
    artifacts = [await at.journal.artifact(each.artifact) for each in played.events("tool.finished")]

    assert service.got == [TOKEN]
    assert artifacts[0].startswith(b"hello {{secret:API_TOKEN}} xx")
    assert not any(TOKEN.encode() in data_of(draft) for draft in played.drafts)
    assert not any(TOKEN in message.text for request in at.model.heard for message in request.messages)
    (failed,) = played.events("tool.failed")
    assert failed.text == "(tool failed: ValueError: 401 for {{secret:API_TOKEN}})"
    assert played.report == "the token is {{secret:API_TOKEN}}"
    assert played.events("tool.started")[0].arguments == {"token": "{{secret:API_TOKEN}}"}


async def test_a_name_that_the_project_does_not_list_is_refused_to_a_tool(desk):
    service = Service()
    call = {"tool": "query", "arguments": {"token": "{{secret:OPENAI_API_KEY}}"}}
    at = desk(
        {"desk": "tools: [query]"}, {"desk": [{"calls": [call]}, "ok"]}, tools=service.tools, settings=LISTED
    )
    async with opened(at, {"API_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-1234567890"}) as moot:
        played = await at.played(await moot.run("desk", "x"))

    assert service.got == []
    assert (
        "there is no secret 'OPENAI_API_KEY' that an argument may use" in played.events("tool.failed")[0].text
    )


async def test_what_a_person_answers_while_nobody_runs_the_run_is_redacted_too(desk):
    asking = {"tool": "ask_user", "arguments": {"question": "Which token?"}}
    at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [asking]}, "ok"]}, settings=LISTED)
    async with opened(at, {"API_TOKEN": TOKEN}) as moot:
        (question,) = (await moot.run("desk", "x")).inbox
        await moot.reply(question.answer(f"take {TOKEN}"))
        played = await at.played(await moot.resume("run-1"))

    assert played.events("question.answered")[0].text == "take {{secret:API_TOKEN}}"
    assert played.events("tool.finished")[0].text == "take {{secret:API_TOKEN}}"
