FILES = {
    "desk": "description: The desk.\nadvisors: [risk.ai]\nrouter: {destinations: [billing.ai]}\nmaxTurns: 2",
    "risk": "description: Risks.\nmaxTurns: 1",
    "billing": "description: Money.\nsplit: auto",
}


def test_the_list_tells_who_works_with_whom(folkmoot):
    """D-3."""
    folkmoot.write(FILES, {})

    rows = folkmoot("agents", "list", "--json").json
    usual = {"type": "worker", "capabilities": [], "tools": [], "status": "ready"}
    assert rows == [
        {"id": "billing", **usual, "file": "billing.ai", "description": "Money.", "terminal": True},
        {"id": "desk", **usual, "file": "desk.ai", "description": "The desk.", "terminal": False},
        {"id": "risk", **usual, "file": "risk.ai", "description": "Risks.", "terminal": True},
    ]
    assert "advisor risk, route billing" in folkmoot("agents", "list").out


def test_one_agent_is_shown_with_its_references_models_and_worst_case(folkmoot):
    folkmoot.write(FILES, {})

    shown = folkmoot("agents", "show", "desk", "--json").json
    assert shown["terminal"] is False
    assert (shown["advisors"], shown["destinations"], shown["handoff"]) == (["risk.ai"], ["billing.ai"], None)
    assert shown["models"] == ["s/demo"]
    assert shown["worstCaseModelRequests"] == 2 * 3 + 1 * 3 + (2 * 3 + 10) * 3
    assert folkmoot("agents", "show", "risk.ai", "--json").json["referredToBy"] == ["desk.ai"]
    text = folkmoot("agents", "show", "desk").out
    assert "terminal: no\n" in text
    assert "advisors: risk.ai\n" in text


def test_a_folder_without_agents_says_how_to_begin(folkmoot):
    assert "folkmoot init" in folkmoot("agents", "list").err


def test_an_id_that_several_agents_have_names_none_of_them(folkmoot):
    """Nobody may be asked in another's place."""
    folkmoot.write({}, {"desk": [{"report": "fine"}]})
    for place in ("a", "b"):
        (folkmoot.folder / place).mkdir()
        (folkmoot.folder / place / "desk.ai").write_text("---\ndescription: x\n---\nYou are x.\n")
    for command in (["run", "desk", "hi"], ["agents", "show", "desk"], ["explain", "desk"]):
        done = folkmoot(*command)
        assert done.code == 2
        assert "several agents have the id 'desk'; name one by its file: a/desk.ai, b/desk.ai" in done.err

    assert folkmoot("run", "b/desk.ai", "hi", "-q").out == "fine\n"
    assert folkmoot("runs", "fork", "last", "--at", "1", "-q").out == "fine\n"
