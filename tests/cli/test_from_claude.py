"""`folkmoot init --from-claude`: sub-agents of Claude Code as agent files, with a word on what was lost."""

import pytest

from folkmoot.cli.from_claude import convert_agent

BILLING = """---
name: billing
description: Use it: for everything about money.
tools: Read, Grep, Glob, mcp__shop__refund, WebSearch
model: sonnet
color: red
---

You are the billing desk.
Be kind.
"""
SHIPPING = """---
name: Shipping Desk
description: >
  Parcels
  and delays.
tools: [Read, Bash]
model: inherit
maxTurns: 4
---
You are the shipping desk.
"""


@pytest.fixture
def moved(folkmoot, monkeypatch):
    def move(**agents):
        folder = folkmoot.folder / ".claude" / "agents"
        folder.mkdir(parents=True)
        for name, text in agents.items():
            (folder / f"{name}.md").write_text(text)
        return folkmoot("init", "--from-claude", ".claude/agents", "moved")

    return move


def test_agents_become_files_that_are_sound_with_one_that_calls_them(folkmoot, moved, monkeypatch):
    assert moved(billing=BILLING, shipping=SHIPPING).code == 0
    monkeypatch.chdir(folkmoot.folder / "moved")

    checked = folkmoot("check")
    assert (checked.code, "3 agents, no problems" in checked.err) == (0, True), checked.err
    assert folkmoot("graph").out == "main.ai\n├─ agent billing.ai\n└─ agent shipping-desk.ai\n"
    assert (folkmoot.folder / "moved" / "shipping-desk.ai").read_text() == (
        "---\ndescription: Parcels and delays.\ntools: [files.read, shell]\nmaxTurns: 4\n---\nYou are the shipping desk.\n"
    )


def test_what_could_not_be_carried_over_is_said_with_the_remedy(moved):
    said = moved(billing=BILLING).err

    for note in (
        "billing.md: tool mcp__shop__refund: declare the server 'shop' below `tools` in folkmoot.yaml, then name shop.refund\n",
        "billing.md: tool WebSearch: there is none like it\n",
        "billing.md: `color`: there is no such key\n",
    ):
        assert note in said
    assert "Read" not in said


def test_frontmatter_that_is_no_yaml_is_read_as_claude_code_does():
    agent = convert_agent("billing", BILLING)

    assert agent.file == "billing.ai"
    assert agent.text.startswith(
        "---\ndescription: 'Use it: for everything about money.'\nmodels: [sonnet]\n"
        "tools: [files.read, files.search, files.list]\n---\nYou are the billing desk.\nBe kind.\n"
    )


@pytest.mark.parametrize(
    ("head", "note"),
    [
        ("name: a", "it had every tool"),
        ("name: a\ntools: Task(b, c)", "tool Task(b, c): name the agents"),
        ("name: a\ntools: []\nmodel: gpt-5", "model gpt-5: write it as provider/model"),
    ],
)
def test_what_an_agent_had_without_naming_it_is_said_too(head, note):
    (only,) = convert_agent("a", f"---\n{head}\n---\nHello.\n").notes

    assert only.startswith(note)


def test_a_file_without_frontmatter_is_a_prompt():
    assert convert_agent("helper", "You help.\n").text == "---\ndescription: ''\n---\nYou help.\n"


def test_a_folder_without_agents_and_two_agents_of_one_name_are_refused(folkmoot, moved):
    nothing = folkmoot("init", "--from-claude", "nowhere", "moved")
    assert (nothing.code, "there is no *.md file in nowhere" in nothing.err) == (2, True)

    both = moved(a=BILLING, b=BILLING)
    assert (both.code, "same file" in both.err) == (2, True)
    assert not (folkmoot.folder / "moved").exists()


def test_a_template_beside_it_is_refused(folkmoot):
    done = folkmoot("init", "--from-claude", ".claude/agents", "--template", "research")

    assert (done.code, "leave --template out" in done.err) == (2, True)


def test_programs_get_the_notes_too(folkmoot, moved):
    moved(billing=BILLING)

    done = folkmoot("init", "--from-claude", ".claude/agents", "again", "--json").json

    assert done["files"] == [".gitignore", "billing.ai", "folkmoot.yaml", "main.ai"]
    assert len(done["notes"]) == 3
