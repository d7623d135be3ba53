import pytest

from folkmoot.domain.naming import agent_tool, wire_name
from tests.loader.making import SETTINGS, error, errors, loaded

PSP = SETTINGS + "tools: {psp: {kind: python, module: tools/psp.py}}\n"


def files(declared, settings=PSP, **more):
    return {"a.ai": declared, "folkmoot.yaml": settings, "tools/psp.py": "", **more}


def test_tools_come_from_a_source_of_the_project_or_from_python(tmp_path):
    found = loaded(tmp_path, files("tools: [psp, clock, disk.read]"), tools=["clock", "disk.read"])

    assert found.graph.agents["a.ai"].tools == ("psp", "clock", "disk.read")


@pytest.mark.parametrize("name", ["psp.refund", "disk"])
def test_one_tool_of_a_source_or_all_of_them_may_be_named(tmp_path, name):
    found = loaded(tmp_path, files(f"tools: {name}"), tools=["disk.read", "disk.write"])

    assert found.graph.agents["a.ai"].tools == (name,)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("pspp", "did you mean 'psp'?"), ("clok", "did you mean 'clock'?"), ("zzz", "declare it under `tools`")],
)
def test_a_tool_that_nobody_declares_is_an_error_with_a_hint(tmp_path, name, hint):
    message = error(tmp_path, files(f"tools: [psp, {name}]"), tools=["clock"])

    assert message.startswith(f"a.ai:2:14: there is no tool {name!r}")
    assert hint in message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("time: {kind: mcp}", "'time' needs either `command`, a list of words, or `url`"),
        (
            "time: {kind: mcp, command: [x], url: 'http://h'}",
            "needs either `command`, a list of words, or `url`",
        ),
        ("time: {kind: mcp, url: 'ftp://h'}", "`tools.time.url` must begin with http:// or https://"),
        ("time: {kind: mcp, url: 'http://h', env: [A]}", "`env` goes only with `command`"),
        ("time: {kind: mcp, command: [x], headers: {A: b}}", "`headers` goes only with `url`"),
        (
            "time: {kind: mcp, command: [x], env: ['A=secret']}",
            "`tools.time.env[0]` must be the name of an environment variable",
        ),
        ("time: {kind: mcp, command: [x], cwd: ../other}", "`cwd` must be a folder of the project"),
        (
            "time: {kind: mcp, url: 'http://h', headers: {Authorization: abc}}",
            "write ${NAME} for an environment variable",
        ),
        ("psp: {kind: python}", "'psp' needs `module`, a file of the project"),
        ("psp: {kind: python, module: nowhere.py}", "the module 'nowhere.py' does not exist"),
        ("psp: {kind: python, module: /etc/x.py}", "must be a path relative to this file"),
        ("a.b: {kind: python, module: tools/psp.py}", "a source of tools cannot be called 'a.b'"),
        ("agent: {kind: python, module: tools/psp.py}", "a source of tools cannot be called 'agent'"),
    ],
)
def test_a_source_of_tools_is_checked_where_it_is_declared(tmp_path, source, message):
    found = error(tmp_path, files("description: x", f"{SETTINGS}tools:\n  {source}\n"))

    assert found.startswith("folkmoot.yaml:3:")
    assert message in found


def test_a_source_that_is_wrong_is_not_missed_by_the_agents(tmp_path):
    found = errors(tmp_path, files("tools: [psp.refund]", f"{SETTINGS}tools: {{psp: {{kind: pyton}}}}\n"))

    assert [line.split(":")[0] for line in found] == ["folkmoot.yaml"]


def test_two_tools_of_one_name_on_the_wire_are_refused(tmp_path):
    """O-39."""
    message = error(tmp_path, files("tools: [disk.read, disk__read]"), tools=["disk.read", "disk__read"])

    assert message.startswith(
        "a.ai:2:20: the tool 'disk__read' is called 'disk__read' by the model, and so is the tool"
    )


def test_two_agents_of_one_name_on_the_wire_are_refused(tmp_path):
    """O-39, A-114."""
    more = {"x/b.ai": "description: x", "y/c.ai": "toolName: b"}

    message = error(tmp_path, files("agents: [x/b.ai, y/c.ai]", **more))

    assert message.startswith(
        "a.ai:2:18: the agent 'y/c.ai' is called 'agent__b' by the model, and so is the agent 'x/b.ai'"
    )


@pytest.mark.parametrize("name", ["final_report", "batch", "ask_clarification"])
def test_an_agent_cannot_be_called_like_a_tool_of_the_runtime(tmp_path, name):
    """O-39."""
    assert "by the model, and so is the" in error(
        tmp_path, files("agents: [b.ai]", **{"b.ai": f"toolName: {name}"})
    )


def test_a_tool_and_an_agent_cannot_have_one_name(tmp_path):
    """O-39."""
    found = error(
        tmp_path, files("agents: [b.ai]\ntools: [agent.b]", **{"b.ai": "description: b"}), tools=["agent.b"]
    )

    assert "the agent 'b.ai' is called 'agent__b' by the model, and so is the tool 'agent.b'" in found


@pytest.mark.parametrize(
    ("name", "wire"),
    [("files.read", "files__read"), ("a b/ä", "a_b__"), ("up-to_8", "up-to_8"), ("x" * 64, "x" * 64)],
)
def test_names_on_the_wire_hold_what_every_provider_takes(name, wire):
    """O-39."""
    assert wire_name(name) == wire


def test_a_long_name_is_cut_and_stays_its_own(tmp_path):
    """O-39."""
    first, second = wire_name("x" * 65), wire_name("x" * 66)

    assert len(first) == len(second) == 64
    assert first != second
    assert agent_tool("legal.counsel") == "agent__legal__counsel"


@pytest.mark.parametrize("name", ["ask_user", "ask_parent"])
def test_asking_needs_no_declaration(tmp_path, name):
    """Issue 3: an agent gets these tools by naming them."""
    assert loaded(tmp_path, files(f"tools: [{name}]")).graph.agents["a.ai"].tools == (name,)


@pytest.mark.parametrize("brought", ["python", "settings"])
@pytest.mark.parametrize("name", ["ask_user", "ask_parent"])
def test_asking_cannot_be_replaced(tmp_path, brought, name):
    settings = PSP.replace("psp:", f"{name}:") if brought == "settings" else PSP
    given = [name] if brought == "python" else []
    message = error(tmp_path, files(f"tools: [{name}]", settings), tools=given)

    assert message == f"a.ai:2:9: '{name}' is a tool of the runtime; give yours another name"


@pytest.mark.parametrize("name", ["files", "files.read", "shell", "python", "web", "web.fetch"])
def test_a_built_in_tool_needs_no_declaration(tmp_path, name):
    """Issue 5."""
    assert loaded(tmp_path, files(f"tools: [{name}]")).graph.agents["a.ai"].tools == (name,)


@pytest.mark.parametrize("name", ["files", "shell", "python", "web"])
def test_a_source_cannot_be_called_like_a_built_in_tool(tmp_path, name):
    """Issue 5: whoever reads `tools: [shell]` must know which one is meant."""
    message = error(tmp_path, files("description: x", PSP.replace("psp:", f"{name}:")))

    assert f"a source of tools cannot be called '{name}'" in message


def test_a_built_in_tool_cannot_be_replaced_from_python(tmp_path):
    message = error(tmp_path, files("tools: [shell]"), tools=["shell"])

    assert message == "a.ai:2:9: 'shell' is a tool of the runtime; give yours another name"


def test_a_misspelt_built_in_tool_gets_a_hint(tmp_path):
    message = error(tmp_path, files("tools: [files.raed]"))

    assert message == "a.ai:2:9: there is no tool 'files.raed'; did you mean 'files.read'?"


def test_a_built_in_tool_named_twice_is_refused(tmp_path):
    """O-39."""
    message = error(tmp_path, files("tools: [files, files.read]"))

    assert "is called 'files__read' by the model, and so is" in message


@pytest.mark.parametrize("folder", ["/tmp", "..", "a/../..", "~/x", ".git/hooks", "x/.folkmoot"])
def test_a_working_folder_lies_inside_the_project(tmp_path, folder):
    """D-34."""
    assert error(tmp_path, files(f"workDir: {folder}")) == (
        f"a.ai:2:10: `workDir` cannot be {folder!r}; name a folder inside the project, relative to it"
    )


def test_the_limits_of_built_in_tools_are_settings(tmp_path):
    settings = (
        SETTINGS + "builtins: {shell: {time: 5s, env: [HOME]}, web: {allow: [10.0.0.0/8, a.example]}}\n"
    )
    found = loaded(tmp_path, files("tools: [shell]\nworkDir: out", settings)).graph

    assert (found.settings.builtins.shell.time, found.settings.builtins.shell.env) == (5.0, ("HOME",))
    assert found.settings.builtins.web.allow == ("10.0.0.0/8", "a.example")
    assert found.agents["a.ai"].work_dir == "out"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("web: {allow: [http://a.example]}", "'http://a.example' is no host, address or network"),
        ("web: {allow: ['127.1']}", "'127.1' is no host, address or network"),
        ("web: {allow: ['*']}", "'*' is no host, address or network"),
        ("shell: {env: [A=b]}", "`builtins.shell.env[0]` must be the name of an environment variable"),
        ("python: {processes: 0}", "`builtins.python.processes`"),
    ],
)
def test_a_wrong_limit_of_a_built_in_tool_is_an_error(tmp_path, said, message):
    found = error(tmp_path, files("description: x", f"{SETTINGS}builtins: {{{said}}}\n"))

    assert found.startswith("folkmoot.yaml:2:")
    assert message in found
