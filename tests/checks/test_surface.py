"""The check that everything is read by somebody, and that a class name means one thing."""

import pytest

from checks import surface

NOTHING = "[unread]\n[classes]\n"


@pytest.fixture
def allowing(write):
    def allowing(text: str = NOTHING) -> None:
        write(surface.ALLOWED, text)

    allowing()
    return allowing


def test_what_nobody_reads_is_found(repository, write, allowing, capsys):
    write("src/folkmoot/a.py", "class Used:\n    read: int\n    unread: int\n\n\ndef lonely(): ...\n")
    write("src/folkmoot/b.py", "from folkmoot.a import Used\n\nprint(Used(1, 2).read)\n")

    assert surface.main(repository) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.py:Used.unread: nobody reads it (unread)",
        "a.py:lonely: nobody uses it (unread)",
    ]


def test_a_class_name_in_a_second_module_is_found_unless_it_is_listed(repository, write, allowing, capsys):
    write("src/folkmoot/a.py", "class Message: ...\n")
    write("src/folkmoot/b.py", "class Message: ...\n")

    assert surface.main(repository) == 1
    assert capsys.readouterr().out == "Message: a.py, b.py (class names)\n"

    allowing('[unread]\n[classes]\nMessage = "a.py, b.py"\n')
    assert surface.main(repository) == 0


def test_what_is_listed_without_need_is_found(repository, write, allowing, capsys):
    write("src/folkmoot/a.py", "")
    allowing('[unread]\n"a.py:gone" = "because"\n[classes]\n')

    assert surface.main(repository) == 1
    assert "a.py:gone is allowed, and no longer needs to be" in capsys.readouterr().out
