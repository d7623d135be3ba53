"""The check that lets no package grow."""

from checks import lines


def written(write, **sizes):
    write(lines.SIZES, "".join(f"{name} {size}\n" for name, size in sizes.items()))


def test_a_package_that_has_grown_fails_and_one_that_has_shrunk_does_not(repository, write, capsys):
    """Issue 15: the ratchet only falls."""
    write("src/folkmoot/ports.py", "a = 1\n" * 10)
    write("src/folkmoot/domain/deep/agent.py", "a = 1\n" * 20)
    written(write, ports=10, domain=25, files=2, tests=0)
    assert lines.main(repository) == 0
    assert capsys.readouterr().out == "  30 lines in 2 files, 0 lines of tests\n"

    write("src/folkmoot/ports.py", "a = 1\n" * 11)
    assert lines.main(repository) == 1
    assert "ports has 11 lines, checks/sizes.txt allows 10" in capsys.readouterr().out


def test_a_new_package_more_files_and_more_tests_fail(repository, write, capsys):
    write("src/folkmoot/new/a.py", "a = 1\n")
    write("tests/test_a.py", "a = 1\n" * 3)
    written(write, files=0, tests=2)

    assert lines.main(repository) == 1
    told = capsys.readouterr().out
    assert "new has 1 lines, checks/sizes.txt allows 0" in told
    assert "there are 1 files, checks/sizes.txt allows 0" in told
    assert "tests has 3 lines, checks/sizes.txt allows 2" in told


def test_what_was_won_is_written_down_and_nothing_else(repository, write):
    write("src/folkmoot/ports.py", "a = 1\n" * 10)
    write("src/folkmoot/app.py", "a = 1\n" * 30)
    written(write, ports=20, app=25, gone=5, files=9, tests=9)

    assert lines.main(repository, lower=True) == 1, "app has grown"
    assert (repository / lines.SIZES).read_text() == "app 25\nfiles 2\nports 10\ntests 0\n"


def test_long_files_and_functions_are_named_but_let_through(repository, write, capsys):
    long = "async def long():\n" + "    a = 1\n" * 40 + "def short():\n" + "    a = 1\n" * 39
    write("src/folkmoot/app.py", long)
    write("src/folkmoot/cli/run.py", "a = 1\n" * 301)
    written(write, app=99, cli=999, files=2, tests=0)

    assert lines.main(repository) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  src/folkmoot/app.py: long has 41 lines, aim 40",
        "  src/folkmoot/cli/run.py: 301 lines, aim 300",
    ]


def test_a_file_that_nobody_reads_any_more_fails(repository, write, capsys):
    write("src/folkmoot/cli/main.py", "a = 1\n" * 401)
    written(write, cli=999, files=1, tests=0)

    assert lines.main(repository) == 1
    assert "src/folkmoot/cli/main.py: over 400 lines" in capsys.readouterr().out
