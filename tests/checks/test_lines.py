"""The check that prints how large the house is."""

from checks import lines


def test_core_and_package_are_counted_against_their_aims(repository, write, capsys):
    write("src/folkmoot/ports.py", "a = 1\n" * 10)
    write("src/folkmoot/domain/deep/agent.py", "a = 1\n" * 20)
    write("src/folkmoot/cli/main.py", "a = 1\n" * 30)

    code = lines.main(repository)

    assert code == 0
    assert capsys.readouterr().out == (
        "  core         30 lines, aim 4,000\n"
        "  package      60 lines, aim 12,000\n"
    )  # fmt: skip


def test_long_files_are_named_but_let_through(repository, write, capsys):
    write("src/folkmoot/domain/agent.py", "a = 1\n" * 201)
    write("src/folkmoot/cli/main.py", "a = 1\n" * 300)
    write("src/folkmoot/cli/run.py", "a = 1\n" * 301)

    code = lines.main(repository)

    assert code == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  src/folkmoot/cli/run.py: 301 lines, aim 300",
        "  src/folkmoot/domain/agent.py: 201 lines, aim 200",
    ]


def test_long_functions_are_named(repository, write, capsys):
    write(
        "src/folkmoot/app.py",
        "async def long():\n" + "    a = 1\n" * 40 + "def short():\n" + "    a = 1\n" * 39,
    )

    code = lines.main(repository)

    assert code == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["  src/folkmoot/app.py: long has 41 lines, aim 40"]


def test_a_file_that_nobody_reads_any_more_fails(repository, write, capsys):
    write("src/folkmoot/cli/main.py", "a = 1\n" * 400)
    assert lines.main(repository) == 0

    write("src/folkmoot/cli/main.py", "a = 1\n" * 401)
    assert lines.main(repository) == 1
    assert "src/folkmoot/cli/main.py: over 400 lines" in capsys.readouterr().out
