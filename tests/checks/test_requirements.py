"""The check that finds requirements which no test names."""

import pytest

from checks import requirements


def a_test(docstring):
    return f'def test_something():\n    """{docstring}"""\n'


def test_a_finished_requirement_that_no_test_names_is_listed(repository, write, capsys):
    write("checks/finished.txt", "Z-1..Z-4")
    write("tests/room/test_it.py", a_test("Z-1 and Z-3."))

    code = requirements.main(repository)

    assert code == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["  Z-2", "  Z-4"]


def test_all_is_well_when_each_is_named(repository, write, capsys):
    write("checks/finished.txt", "# what is done\nZ-1..Z-2  # the first\nY-7\n")
    write("tests/test_it.py", a_test("Z-1") + a_test("Z-2, Y-7: both at once."))

    code = requirements.main(repository)

    assert (code, capsys.readouterr().out) == (0, "3 finished requirements, each named by a test\n")


@pytest.mark.parametrize(
    "text", ["Z-1..Z-3", "Z-1 .. Z-3", "Z-1 … Z-3", "Z-1…3", "Z-1–Z-3", "Z-1, Z-2 (also Z-3)", "(Z-1)Z-2,Z-3"]
)
def test_ids_are_read_one_by_one_and_as_ranges(text):
    assert list(requirements.ids_in(text)) == ["Z-1", "Z-2", "Z-3"]


def test_words_that_only_look_like_ids_are_left_alone():
    assert list(requirements.ids_in("UTF-8, X-A11, a-1 and Z-")) == []


@pytest.mark.parametrize(
    "source",
    [
        '"""Z-1"""\n',
        'def helper():\n    """Z-1"""\n',
        'class TestIt:\n    """Z-1"""\n',
        'def test_it():\n    text = "Z-1"\n',
        "def test_it():\n    # Z-1\n    pass\n",
    ],
)
def test_only_the_docstring_of_a_test_counts(write, repository, source):
    write("tests/test_it.py", source)

    assert requirements.unnamed(["Z-1"], repository / "tests") == ["Z-1"]


def test_async_tests_and_methods_count(write, repository):
    source = 'class TestIt:\n    async def test_it(self):\n        """Z-1"""\n'
    write("tests/deep/er/test_it.py", source)

    assert requirements.unnamed(["Z-1"], repository / "tests") == []


@pytest.mark.parametrize("line", ["Z-1 Z-2", "everything", "Z-1..", "Z"])
def test_a_line_that_is_no_id_is_refused_with_its_number(line):
    with pytest.raises(ValueError, match=r"finished\.txt:2: "):
        requirements.read_finished(f"Z-9\n{line}\n")
