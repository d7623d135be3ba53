"""The built-in tools in a run: named by agent files, asked for, recorded."""

import pytest

from folkmoot.domain.naming import BUILT_IN
from folkmoot.domain.settings import Builtins
from folkmoot.tools.builtin.toolset import builtin_tools
from tests.desk import SETTINGS


def call(tool, **arguments):
    return {"calls": [{"tool": tool, "arguments": arguments}]}


async def approve(item):
    return item.approve()


async def deny(item):
    return item.deny("not now")


async def played(at, answer):
    async with at.open() as moot:
        return await at.played(await moot.run("desk", "go", answer=answer))


def results(run):
    return [
        event.text for draft in run.drafts if (event := draft.event).type in ("tool.finished", "tool.failed")
    ]


def test_every_name_that_files_may_use_is_on_the_shelf():
    assert tuple(builtin_tools(Builtins(), {})) == BUILT_IN


def test_what_a_tool_does_is_said_by_the_tool():
    specs = {name: tool.spec(name) for name, tool in builtin_tools(Builtins(), {}).items()}

    assert {name: (spec.effect, spec.access, spec.asks) for name, spec in specs.items()} == {
        "files.read": ("pure", "read", ""),
        "files.list": ("pure", "read", ""),
        "files.search": ("pure", "read", ""),
        "files.write": ("keyed", "write", "medium"),
        "files.edit": ("once", "write", "medium"),
        "shell": ("once", "exec", "high"),
        "python": ("once", "exec", "high"),
        "web.fetch": ("pure", "egress", ""),
    }
    assert list(specs["files.read"].parameters["properties"]) == ["path", "offset", "limit"]
    assert specs["files.read"].name == "files__read"


async def test_an_agent_has_the_built_in_tools_that_its_file_names(desk, tmp_path):
    """Issue 5, D-32: reading needs nobody's word, writing and running do."""
    (tmp_path / "a.txt").write_text("hello")
    script = [
        call("files__read", path="a.txt"),
        call("files__write", path="b.txt", content="bye\n"),
        call("shell", argv=["cat", "b.txt"]),
        "ok",
    ]
    at = desk({"desk": "tools: [files, shell]"}, {"desk": script})
    asked = []

    async def answer(item):
        asked.append((item.tool, item.risk))
        return item.approve()

    run = await played(at, answer)

    assert run.offered("desk")[:6] == [
        "files__read",
        "files__list",
        "files__search",
        "files__write",
        "files__edit",
        "shell",
    ]
    assert asked == [("files__write", "medium"), ("shell", "high")]
    assert results(run) == ["hello", "wrote b.txt: +1 −0 lines, now 4 bytes", "exit code 0\nbye"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("files__write", {"path": "b.txt", "content": "x"}),
        ("shell", {"argv": ["touch", "b.txt"]}),
        ("python", {"code": "open('b.txt', 'w')"}),
    ],
)
async def test_a_write_or_a_command_that_is_denied_has_no_effect(desk, tmp_path, tool, arguments):
    """D-32."""
    at = desk({"desk": "tools: [files, shell, python]"}, {"desk": [call(tool, **arguments), "ok"]})
    run = await played(at, deny)

    assert results(run) == ["(tool failed: approval_denied: not now)"]
    assert not (tmp_path / "b.txt").exists()


async def test_an_agent_works_in_its_own_folder_and_nowhere_else(desk, tmp_path):
    """D-34: refused, recorded, without effect; also for an agent that it makes up."""
    (tmp_path / "secret.txt").write_text("s")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to(tmp_path)
    made = {"mission": "m", "agent_definition": {"system_prompt": "p", "tool_allowlist": ["files"]}}
    script = {
        "desk": [
            call("files__write", path="a.txt", content="mine"),
            call("files__write", path="../taken.txt", content="x"),
            call("files__write", path="link/taken.txt", content="x"),
            call("call_agent", **made),
            "ok",
        ],
        "custom": [
            call("files__read", path="../secret.txt"),
            call("files__read", path="secret.txt"),
            call("files__read", path="a.txt"),
            "ok",
        ],
    }
    settings = SETTINGS + "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
    run = await played(desk({"desk": "tools: [files]\nworkDir: out"}, script, settings=settings), approve)

    assert [text.partition(";")[0] for text in results(run)[:6]] == [
        "wrote a.txt: +1 −0 lines, now 4 bytes",
        "(tool failed: Refused: '../taken.txt' leads out of the working folder",
        "(tool failed: Refused: 'link/taken.txt' goes through a link, or through something that is no folder",
        "(tool failed: Refused: '../secret.txt' leads out of the working folder",
        "(tool failed: Absent: 'secret.txt' does not exist",
        "mine",
    ]
    assert (tmp_path / "out/a.txt").read_text() == "mine"
    assert not list(tmp_path.rglob("taken.txt"))


async def test_a_long_result_is_kept_whole_as_an_artifact(desk, tmp_path):
    """Issue 5: an artifact plus a pointer."""
    (tmp_path / "long.txt").write_text("".join(f"{n:050}\n" for n in range(500)))
    settings = SETTINGS + "builtins: {files: {readBytes: 100000}}\n"
    at = desk(
        {"desk": "tools: [files]"}, {"desk": [call("files__read", path="long.txt"), "ok"]}, settings=settings
    )
    run = await at.run("desk")
    [finished] = run.events("tool.finished")

    assert len(finished.text.encode()) < 13_000
    assert len(await at.journal.artifact(finished.artifact)) == 500 * 51 - 1


async def test_a_run_is_pinned_only_to_the_built_in_tools_that_it_names(desk):
    at = desk({"desk": "tools: [files.read]"}, {"desk": ["ok"]})
    async with at.open() as moot:
        run = await at.played(await moot.run("desk", "go"))
        pinned = await at.journal.artifact(run.drafts[0].event.tools)

    assert b"files__read" in pinned
    assert b"shell" not in pinned


async def test_a_working_folder_that_is_a_link_out_of_the_project_is_refused(desk, tmp_path):
    """D-34: a project from elsewhere may bring such a link with it."""
    (tmp_path.parent / "secret.txt").write_text("a secret")
    (tmp_path / "out").symlink_to("..")
    at = desk(
        {"desk": "tools: [files]\nworkDir: out"}, {"desk": [call("files__read", path="secret.txt"), "ok"]}
    )

    assert results(await at.run("desk")) == [
        "(tool failed: the working folder 'out' leads out of the project)"
    ]
