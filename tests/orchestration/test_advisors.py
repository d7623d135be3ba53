"""Advisors: consulted in parallel before an agent's session."""

from tests.desk import blocks, look

FILES = {"desk": "advisors: [law.ai, tax.ai, risk.ai]", "law": "", "tax": "", "risk": ""}
SAID = {"law": ["by law"], "tax": ["by tax"], "risk": ["by risk"], "desk": [{"report": "fine"}]}


async def test_all_advisors_run_together_with_the_original_text(desk):
    """A-61, O-42: none goes on before all three are under way."""
    meet = {"barrier": "all/3", "text": "advice"}
    played = await desk(FILES, {"law": [meet], "tax": [meet], "risk": [meet], "desk": ["fine"]}).run("desk")

    assert played.report == "fine"
    assert [played.prompt(name) for name in ("law", "tax", "risk")] == ["I want my money back"] * 3


async def test_the_agent_reads_the_request_and_one_block_per_advisor_in_declared_order(desk):
    """A-15, A-36, A-63: nothing is transformed."""
    odd = '<b>&"</advisory>'
    played = await desk(FILES, {**SAID, "tax": [odd]}).run("desk")

    assert blocks(played.prompt("desk")) == [
        ("original_user_request", "", "I want my money back"),
        ("advisory", "law", "by law"),
        ("advisory", "tax", odd),
        ("advisory", "risk", "by risk"),
    ]


async def test_a_failing_advisor_says_so_in_its_block_and_fails_nobody_else(desk):
    """A-64, A-66: it is asked in one session and not again."""
    broken = {"error": {"message": "no such model", "retryable": False}}
    played = await desk(FILES, {**SAID, "tax": [broken]}).run("desk")

    assert played.result.success
    failure = blocks(played.prompt("desk"))[2][2]
    assert failure.startswith("Advisor consultation failed for tax: ")
    assert "no such model" in failure
    assert played.started().count("tax") == 1
    assert [event.advisor for event in played.events("advisor.failed")] == ["tax"]


async def test_a_slow_advisor_is_a_failed_one(desk):
    """A-65."""
    files = {**FILES, "tax": "llmTimeout: 5s\nmaxRetries: 1"}
    at = desk(files, {**SAID, "tax": [{"delay": "1h", "text": "late"}]})
    played = await at.run("desk", "hello", lasting=6)

    assert played.result.success
    assert "did not answer in time: within 5s" in blocks(played.prompt("desk"))[2][2]


async def test_the_agent_runs_even_when_all_advisors_fail(desk):
    """A-67."""
    broken = [{"error": {"message": "down", "retryable": False}}]
    played = await desk(FILES, {"law": broken, "tax": broken, "risk": broken, "desk": ["alone"]}).run("desk")

    assert played.report == "alone"
    assert [tag for tag, _, _ in blocks(played.prompt("desk"))].count("advisory") == 3


async def test_an_advisor_has_the_tools_of_its_own_file(desk):
    """A-62."""
    files = {"desk": "advisors: [law.ai]", "law": "tools: [look]"}
    played = await desk(files, {"law": ["x"], "desk": ["y"]}, tools=[look]).run("desk")

    assert "look" in played.offered("law")
    assert "look" not in played.offered("desk")


async def test_an_advisors_answer_is_never_the_answer_of_the_run(desk):
    """A-12."""
    played = await desk(FILES, SAID).run("desk")

    assert played.result.final_agent_id == "desk"
    assert played.report == "fine"


async def test_an_advisor_that_hands_off_speaks_under_its_own_name(desk):
    """O-16, A-30: its whole chain runs."""
    files = {"desk": "advisors: [law.ai]", "law": "handoff: clerk.ai", "clerk": ""}
    played = await desk(files, {"law": ["draft"], "clerk": ["clean"], "desk": ["ok"]}).run("desk")

    assert blocks(played.prompt("desk"))[1] == ("advisory", "law", "clean")
    assert [event.answered_by for event in played.events("advisor.completed")] == ["clerk"]


async def test_what_advisors_spend_is_in_the_account_of_the_run(desk):
    """A-68, A-104."""
    said = {name: [{"text": "x", "usage": {"tokensIn": 10, "tokensOut": 1}}] for name in FILES}
    played = await desk(FILES, said).run("desk")

    totals = played.result.totals
    assert (totals.tokens_in, totals.tokens_out, totals.model_requests, totals.agents_run) == (40, 4, 4, 4)
    assert {entry.chain_trigger for entry in played.result.accounting} == {None, "advisor"}
