"""How people name a run or a record."""

import pytest

from folkmoot.domain.naming import RUN, Reference
from folkmoot.errors import NotFound, WrongUse

TASK = Reference("task", "task_", "folkmoot tasks list --all")
IDS = ("task_1a", "task_1b", "task_2", "task_22")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("task_1a", "task_1a"),
        ("1a", "task_1a"),
        ("task_1b", "task_1b"),
        ("task_2", "task_2"),
        ("22", "task_22"),
        ("last", "task_22"),
    ],
)
def test_an_id_its_beginning_and_last_name_one_with_and_without_the_prefix(name, meant):
    """The same for every kind of record."""
    assert TASK.resolve(IDS, name) == meant


def test_what_fits_several_names_them_and_what_fits_none_says_what_lists_them():
    with pytest.raises(
        WrongUse, match="2 tasks begin with '1': task_1a, task_1b; write more of the id"
    ) as several:
        TASK.resolve(IDS, "1")
    with pytest.raises(NotFound, match="there is no task '3'; `folkmoot tasks list --all` shows") as none:
        TASK.resolve(IDS, "3")
    assert (several.value.code, none.value.code) == ("ambiguous_id", "task_not_found")


@pytest.mark.parametrize("name", ["", "task_", "last"])
def test_nothing_and_the_prefix_alone_name_nothing(name):
    with pytest.raises(NotFound):
        (TASK if name != "last" else RUN).resolve(() if name == "last" else IDS, name)
