"""`folkmoot docs`, and the way from an error to its page."""

import re


def test_the_contents_are_listed_by_group(folkmoot):
    done = folkmoot("docs")

    assert done.code == 0
    assert done.out.startswith("Start\n  ")
    assert re.search(r"^  security +Security$", done.out, re.MULTILINE)


def test_a_page_or_a_section_of_it_is_printed(folkmoot):
    assert folkmoot("docs", "trust").out.startswith("# Verify, share and clean up\n")
    assert folkmoot("docs", "trust.md").out == folkmoot("docs", "trust").out
    section = folkmoot("docs", "trust#verify").out
    assert section.startswith("## Verify\n")
    assert "## One file to share" not in section
    assert folkmoot("docs", "cli").out.startswith("# Commands")


def test_a_terminal_gets_it_rendered(folkmoot):
    code, written = folkmoot.on_a_terminal("docs", "trust#verify")

    assert code == 0
    assert "## Verify" not in written
    assert "Verify" in written


def test_words_are_searched_for(folkmoot):
    assert "running#budgets" in folkmoot("docs", "budget exceeded").out
    found = folkmoot("docs", "budget exceeded", "--json").json
    assert {"topic", "title", "excerpt"} == found[0].keys()


def test_wrong_topics_say_what_there_is(folkmoot):
    nothing = folkmoot("docs", "zzyzx")
    section = folkmoot("docs", "trust#nowhere")

    assert (nothing.code, section.code) == (2, 2)
    assert "`folkmoot docs` lists all" in nothing.err
    assert "it has: verify, one-file-to-share" in section.err


def test_an_error_ends_with_a_command_that_shows_its_page(folkmoot):
    folkmoot.write({"a": "handoff: a.ai"}, {})

    for arguments in (("check",), ("run", "a.ai", "x")):
        last = folkmoot(*arguments).err.splitlines()[-1]
        command = re.fullmatch("more: folkmoot (docs .+)", last)[1]
        assert folkmoot(*command.split()).out.startswith("## Agents wait for each other")


def test_programs_get_it_as_a_field(folkmoot):
    folkmoot.write({"a": "modles: x"}, {})
    page = "troubleshooting#a-file-or-a-setting-is-wrong"

    assert folkmoot("check", "--json").json["help"] == page
    assert folkmoot("run", "a.ai", "x", "--json").json["help"] == page
    folkmoot.write({"a": "description: a"}, {})
    assert folkmoot("run", "b.ai", "x", "--json").json["help"] == "troubleshooting#there-is-no-such-agent"
    assert folkmoot("docs", "zzyzx", "--json").json["help"] == ""


def test_a_run_that_failed_leads_to_why(folkmoot):
    folkmoot.write({"a": "budget: {tokens: 1}"}, {"a": ["hi"]})

    assert "\nmore: folkmoot docs running#budgets\n" in folkmoot("run", "a.ai", "x").err


def test_an_answer_that_broke_its_schema_leads_to_reports(folkmoot):
    schema = "maxTurns: 1\noutput: {format: json, schema: {type: object, required: [sum]}}"
    folkmoot.write({"a": schema}, {"a": [{"report": {}}]})
    done = folkmoot("run", "a.ai", "x")

    assert done.code == 5
    assert "\nmore: folkmoot docs agents#reports\n" in done.err
