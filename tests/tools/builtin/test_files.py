"""Reading, writing, editing, listing."""

import asyncio

import pytest

from folkmoot.domain.settings import Builtins, FileLimits
from folkmoot.domain.sources import Change
from folkmoot.tools.builtin.files import before_and_after, change
from tests.tools.builtin.using import Using


@pytest.fixture
def using(tmp_path):
    return Using(tmp_path)


async def test_a_long_file_is_read_in_pages_that_say_what_is_left(using):
    """Issue 5: lines shown, lines left."""
    (using.folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 2311)))

    first = await using.text("files.read", path="long.txt")
    last = await using.text("files.read", path="long.txt", offset=2001, limit=10_000)

    assert first.startswith("line 1\n")
    assert first.endswith("line 500\n[lines 1–500 of 2,310; 1,810 left]")
    assert last.endswith("line 2310\n[lines 2,001–2,310 of 2,310; 0 left]")
    assert (
        await using.refusal("files.read", path="long.txt", offset=3000) == "'long.txt' has only 2,310 lines"
    )


async def test_a_page_has_whole_lines_and_fits_into_a_result(using):
    (using.folder / "wide.txt").write_text("x" * 5_000 + "\n" + "y" * 5_000 + "\n" + "z" * 5_000 + "\n")
    (using.folder / "one.txt").write_text("ä" * 20_000)

    assert (await using.text("files.read", path="wide.txt")).endswith("y\n[lines 1–2 of 3; 1 left]")
    assert (await using.text("files.read", path="one.txt")).endswith(
        "ä\n[this line goes on for 14,000 characters]"
    )


async def test_a_short_file_is_read_as_it_is(using):
    (using.folder / "short.txt").write_text("one\r\ntwo\u2028three")
    (using.folder / "empty.txt").write_text("")

    assert await using.text("files.read", path="short.txt") == "one\r\ntwo\u2028three"
    assert await using.text("files.read", path="empty.txt") == ""


async def test_bytes_that_are_no_text_are_said_to_be_none(using):
    """Issue 5: invalid UTF-8."""
    (using.folder / "latin.txt").write_bytes(b"caf\xe9 \xff")
    (using.folder / "image.png").write_bytes(b"\x89PNG\0\0")

    assert await using.text("files.read", path="latin.txt") == (
        "caf\ufffd \ufffd\n[some bytes are not UTF-8 and stand as \ufffd]"
    )
    assert "is binary (6 bytes)" in await using.refusal("files.read", path="image.png")
    assert "is not UTF-8 at byte 3" in await using.refusal("files.edit", path="latin.txt", old="c", new="d")
    assert (using.folder / "latin.txt").read_bytes() == b"caf\xe9 \xff"


async def test_a_write_says_how_much_it_changed(using):
    """O-8."""
    new = await using.text("files.write", path="notes/a.txt", content="one\ntwo\nthree\n")
    again = await using.text("files.write", path="notes/a.txt", content="one\n2\nthree\nfour\n")

    assert new == "wrote notes/a.txt: +3 −0 lines, now 14 bytes"
    assert again == "wrote notes/a.txt: +2 −1 lines, now 17 bytes"
    assert (using.folder / "notes/a.txt").read_text() == "one\n2\nthree\nfour\n"


async def test_a_write_that_is_repeated_after_a_crash_leaves_the_same_file(using):
    for lines in ("+1 −0", "+0 −0"):
        assert (
            await using.text("files.write", path="a", content="x\n") == f"wrote a: {lines} lines, now 2 bytes"
        )

    assert (using.folder / "a").read_text() == "x\n"


async def test_an_edit_replaces_the_one_place_that_is_meant(using):
    (using.folder / "a.py").write_text("x = 1\ny = 1\n")

    assert "stands 2 times in it" in await using.refusal("files.edit", path="a.py", old="= 1", new="= 2")
    assert "does not stand in it" in await using.refusal("files.edit", path="a.py", old="z", new="= 2")
    assert "does not stand in it" in await using.refusal("files.edit", path="a.py", old="", new="= 2")
    assert await using.text("files.edit", path="a.py", old="y = 1", new="y = 2") == (
        "wrote a.py: +1 −1 lines, now 12 bytes"
    )
    assert (using.folder / "a.py").read_text() == "x = 1\ny = 2\n"


async def test_edits_of_one_file_side_by_side_lose_nothing(using):
    """The calls of one answer run concurrently."""
    (using.folder / "a.txt").write_text("".join(f"<{n}>\n" for n in range(30)))

    await asyncio.gather(
        *(using("files.edit", path="a.txt", old=f"<{n}>", new=f"done {n}") for n in range(30))
    )

    assert (using.folder / "a.txt").read_text() == "".join(f"done {n}\n" for n in range(30))


async def test_a_file_does_not_grow_beyond_its_limit(tmp_path):
    using = Using(tmp_path, Builtins(files=FileLimits(file_bytes=10)))

    assert "would have 11 bytes" in await using.refusal("files.write", path="a", content="x" * 11)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a.txt", "content": "one\nzwei\nthree\n"}, Change("a.txt", added=1, removed=1)),
        ({"path": "new.txt", "content": "x\n" * 201}, Change("new.txt", added=201)),
        ({"path": "a.txt", "old": "two", "new": "2\n2\n2"}, Change("a.txt", added=3, removed=1)),
        ({"path": "a.txt", "content": ""}, Change("a.txt", removed=3)),
        ({"path": "a.txt", "content": "z\n" * 3000}, Change("a.txt", added=3000, removed=3)),
    ],
)
def test_what_a_call_changes_is_counted_in_lines(tmp_path, arguments, expected):
    """O-8, D-33."""
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")

    assert change(arguments["path"], *before_and_after(arguments, tmp_path, 10_000_000)) == expected


async def test_a_folder_is_listed_with_types_and_sizes(using):
    (using.folder / "sub/deep").mkdir(parents=True)
    (using.folder / "sub/deep/b.txt").write_text("bb")
    (using.folder / "a.txt").write_text("x" * 1234)
    (using.folder / "link").symlink_to("/etc")
    (using.folder / ".folkmoot").mkdir()
    (using.folder / "two\nlines").write_text("")

    assert await using.text("files.list") == (
        "a.txt  1,234 bytes\nlink  link, not followed\nsub/\ntwo\\nlines  0 bytes"
    )
    assert (await using.text("files.list", path="sub", deep=True)) == "sub/deep/\nsub/deep/b.txt  2 bytes"
    assert await using.text("files.list", path="sub/deep") == "sub/deep/b.txt  2 bytes"
    assert "does not exist" in await using.refusal("files.list", path="nowhere")


async def test_a_long_list_ends_with_what_is_left(using):
    for n in range(510):
        (using.folder / f"{n:03}").write_text("")

    listed = await using.text("files.list")

    assert listed.endswith("499  0 bytes\n[500 of 510 names; 10 left: list a folder below]")
