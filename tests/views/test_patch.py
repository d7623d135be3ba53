"""What a call would change in a file is told line by line."""

from folkmoot.views.drawer import patch


def shown(before, after):
    return [(line.form, line.old, line.new, line.text) for line in patch("a.md", before, after).lines]


def test_a_changed_line_stands_with_its_neighbours_and_both_numbers():
    """D-26."""
    before = "".join(f"line {n}\n" for n in range(1, 11))
    lines = shown(before, before.replace("line 5\n", "line five\nand more\n"))

    assert lines[0] == ("hop", "", "", "lines 2 to 9 of 11")
    assert ("del", "5", "", "line 5") in lines
    assert ("add", "", "5", "line five") in lines
    assert ("add", "", "6", "and more") in lines
    assert ("", "6", "7", "line 6") in lines
    assert len(lines) == 1 + 3 + 3 + 3


def test_a_new_file_is_all_added_and_the_same_text_changes_nothing():
    made = patch("a.md", "", "one\ntwo\n")
    assert (made.added, made.removed) == (2, 0)
    assert patch("a.md", "one\n", "one\n").lines == ()


def test_nothing_hides_in_a_line():
    """What could turn or swallow text is spelled out."""
    [_, line] = shown("", "pay \u202e bob\n")
    assert line[3] == "pay \\u202e bob"
