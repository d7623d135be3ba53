"""Finding lines."""

import pytest

from folkmoot.domain.settings import Builtins, FileLimits
from tests.tools.builtin.using import Using


@pytest.fixture
def using(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("one\nTwo (2)\nthree\n")
    (tmp_path / "sub/b.txt").write_text("two (2) again\n")
    (tmp_path / "image.png").write_bytes(b"two\0")
    return Using(tmp_path)


async def test_a_text_is_found_as_it_is_in_all_files(using):
    assert await using.text("files.search", text="two (2)", ignore_case=True) == (
        "a.txt:2: Two (2)\nsub/b.txt:1: two (2) again\n[1 files were not searched: binary or too large]"
    )
    assert await using.text("files.search", text="two", path="sub/b.txt") == "sub/b.txt:1: two (2) again"


async def test_a_regular_expression_is_one_only_if_it_is_said_to_be(using):
    assert await using.text("files.search", text="^t.*e$", path="a.txt", regex=True) == "a.txt:3: three"
    assert "no line of 1 files holds it" in await using.text("files.search", text="^t.*e$", path="a.txt")
    assert "is no regular expression" in await using.refusal("files.search", text="(", regex=True)


async def test_a_search_without_a_result_says_what_to_try(using):
    assert (await using.text("files.search", text="seven")).startswith(
        "[no line of 2 files holds it; try `ignore_case` or a shorter text; files.list shows what is there]"
    )
    assert "nothing to search for" in await using.refusal("files.search", text="")
    assert "does not exist" in await using.refusal("files.search", text="x", path="nowhere")


async def test_a_regular_expression_that_never_ends_is_ended(tmp_path):
    """Issue 5: catastrophic backtracking holds nobody up."""
    (tmp_path / "a.txt").write_text("a" * 60 + "b\n")
    using = Using(tmp_path, Builtins(files=FileLimits(search_time=0.5)))

    assert "took longer than 0.5 s" in await using.refusal("files.search", text="(a+)+$", regex=True)


async def test_many_hits_end_with_how_many_there_are(using):
    (using.folder / "many.txt").write_text("hit\n" * 250)

    found = await using.text("files.search", text="hit", path="many.txt")

    assert found.endswith("many.txt:100: hit\n[100 of 250 lines; 150 left: search in a folder below]")
