"""A script in a YAML file: what is in it, and where its faults are."""

import pytest

from folkmoot.errors import DeclarationError
from folkmoot.models.script import ScriptedReply, read_script_file


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        file = tmp_path / "answers.yaml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_script_file(tmp_path, "answers.yaml")

    return write_and_read


@pytest.fixture
def problems(read):
    def of(text):
        with pytest.raises(DeclarationError) as caught:
            read(text)
        return [str(problem) for problem in caught.value.problems]

    return of


def test_a_script_is_read(read):
    script = read(
        """
agents:
  greeter:
    - Hello.
    - calls: [{tool: files.read, arguments: {path: a, n: 5, ok: true, f: 0.5, none: null, word: yes, date: 2026-01-01}}]
    - report: |
        Two
        lines.
"""
    )

    turns = script.agents["greeter"].turns
    assert turns[0] == (ScriptedReply(text="Hello."),)
    assert turns[1][0].calls[0].arguments == {
        "path": "a", "n": 5, "ok": True, "f": 0.5, "none": None, "word": "yes", "date": "2026-01-01",
    }  # fmt: skip
    assert turns[2] == (ScriptedReply(report="Two\nlines.\n"),)
    assert script.file == "answers.yaml"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}", "---\n"])
def test_an_empty_file_is_an_empty_script(read, text):
    assert read(text).agents == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agents:\n  a:\n    - txt: hi\n", "answers.yaml:3:7: unknown key 'txt' in `agents.a[0]`; did you mean 'text'?"),
        ("agents:\n  a:\n    - text: hi\n      calls:\n        - {tool: x, args: 1}\n", "answers.yaml:5:21: unknown key 'args' in `agents.a[0].calls[0]`"),
        ("agents:\n  a:\n    - text: hi\n      text: ho\n", "answers.yaml:4:7: the key 'text' stands here twice"),
        ("agents:\n  a: [x]\n  a: [y]\n", "answers.yaml:3:3: the key 'a' stands here twice"),
        ("agents:\n  a:\n    - 5\n", "answers.yaml:3:7: `agents.a[0].text` must be a string, not 5; put it in quotes"),
        ("agents: {a: [x\n", "answers.yaml:2:1: this is not YAML: "),
        ("agents:\n\t- x\n", "answers.yaml:2:1: this is not YAML: "),
        ("agents: !!python/object/apply:os.system [x]\n", "answers.yaml:1:9: the YAML tag "),
        ("agents: {a: [!secret x]}\n", "answers.yaml:1:14: the YAML tag '!secret' is not allowed here"),
        ("agents: {[a]: x}\n", "answers.yaml:1:10: a key must be a word"),
        ("agents: *nowhere\n", "answers.yaml:1:9: "),
        ("a: 1\n---\nb: 2\n", "answers.yaml:2:1: a second YAML document begins here"),
        ("[" * 5000, "answers.yaml:1:51: more than 50 levels"),
        ("x: &x [*x]\n", "answers.yaml:1:8: "),
        (b"a: \xff\n", "answers.yaml:1:4: the byte 0xff is not UTF-8"),
        (b"a: \x00\n", "answers.yaml:1:"),
        (b"#" * (5 * 1024 * 1024 + 1), "answers.yaml:1:1: the file has 5,242,881 bytes, more than 5,242,880"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line_and_column(problems, text, problem):
    assert any(found.startswith(problem) for found in problems(text)), problems(text)


def test_a_bomb_of_aliases_is_defused(problems):
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    assert "more than 100,000 values" in problems("\n".join(lines))[0]


def test_an_answer_may_be_used_again_by_its_name(read):
    script = read("agents: {a: [&done {report: Done.}], b: [Well., *done]}")

    assert script.agents["b"].turns[1] == (ScriptedReply(report="Done."),)


def test_a_fault_inside_something_used_again_is_named_where_it_is_written(problems):
    assert problems("agents: {a: [&x {txt: hi}], b: [*x]}") == [
        "answers.yaml:1:18: unknown key 'txt' in `agents.a[0]`; did you mean 'text'?",
        "answers.yaml:1:18: unknown key 'txt' in `agents.b[0]`; did you mean 'text'?",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DeclarationError, match=r"gone\.yaml:1:1: the file cannot be read: No such file"):
        read_script_file(tmp_path, "gone.yaml")
