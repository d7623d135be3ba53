"""What a person sees: the program on a real terminal."""

import re

import pytest

FILES = {
    "desk": "advisors: [risk.ai]\nhandoff: editor.ai",
    "risk": "maxRetries: 1",
    "editor": "output: {format: markdown}",
}
SCRIPT = {
    "desk": [{"text": "Let me see", "calls": [{"tool": "nothing"}]}, {"report": "facts"}],
    "risk": [{"error": "gone \x1b[2J"}],
    "editor": [{"report": "# Hello\n\n- **one** [link](https://example.org)\n"}],
}
COLOUR = re.compile(r"\x1b\[[0-9;]*3\dm")
LAST = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@pytest.fixture
def desk(folkmoot):
    folkmoot.write(FILES, SCRIPT)
    return folkmoot


def plain(written):
    """Without colours and movements."""
    return LAST.sub("", written)


def test_the_live_tree_ends_with_every_agent_its_cause_and_its_state(desk):
    """A-106, B-59: the tree shows each child below its parent, with its cause, and failures stand out."""
    thinking, *rest = SCRIPT["desk"]
    desk.write({}, {**SCRIPT, "desk": [{**thinking, "delay": "2s"}, *rest]})  # long enough to be drawn
    code, written = desk.on_a_terminal("run", "desk.ai", "x")
    assert code == 0
    assert COLOUR.search(written)
    assert "\x1b[?25h" in written  # the cursor is back
    screen = plain(written)
    assert re.search(r"✔ desk +.*tokens", screen)
    assert re.search(r"├─ ✘ risk +advisor +no model answered", screen)
    assert re.search(r"└─ ✔ editor +handoff", screen)
    assert re.search(r"turn 1  s/demo", screen)
    assert "gone \\u001b[2J" in " ".join(screen.split())


def test_markdown_is_rendered_on_a_terminal_and_raw_in_a_pipe(desk):
    _, written = desk.on_a_terminal("run", "desk.ai", "x", "-q")

    assert "• one link (https://example.org)" in plain(written)
    assert desk("run", "desk.ai", "x", "-q").out == SCRIPT["editor"][0]["report"]


def test_no_color_is_obeyed(desk):
    _, written = desk.on_a_terminal("run", "desk.ai", "x", NO_COLOR="1")

    assert not COLOUR.search(written)
    assert "✔ desk" in plain(written)


def test_forced_colours_in_a_pipe_force_no_tree(desk, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert "desk starts\n" in desk("run", "desk.ai", "x").err


def test_a_dumb_terminal_gets_lines(desk):
    _, written = desk.on_a_terminal("run", "desk.ai", "x", TERM="dumb")

    assert "\x1b" not in written
    assert "desk starts\r\n" in written


def test_a_terminal_that_knows_no_unicode_gets_lines_it_can_show(desk):
    _, written = desk.on_a_terminal("run", "desk.ai", "x", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert "desk starts\r\n" in written
    assert "✔" not in written


def test_nothing_to_ask_on_a_terminal_is_wrong_use_and_does_not_wait(desk):
    code, written = desk.on_a_terminal("run", "desk.ai")

    assert code == 2
    assert "there is nothing to ask" in written


def test_lists_are_cut_to_the_width_of_the_terminal(desk):
    desk("run", "desk.ai", "word " * 100, "-q")

    _, written = desk.on_a_terminal("runs", "list")

    assert all(len(line) <= 120 for line in plain(written).splitlines())
    assert "…" in written


def test_an_exported_journal_shows_no_raw_control_characters(desk):
    desk("run", "desk.ai", "\x9b31m", "-q")

    _, written = desk.on_a_terminal("log", "export")

    assert "\x9b" not in written
    assert "\\u009b31m" in written
