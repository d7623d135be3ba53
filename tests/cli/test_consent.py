"""A project, or a journal, that came from somebody else does nothing on this machine before its user agreed."""

import json
import os
import re
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import SETTINGS, interrupted, wait_for

PORT = "{port}"
"""Stands for a port on which somebody listens."""
TOUCH = {"calls": [{"tool": "shell", "arguments": {"argv": ["touch", "was-here"]}}]}
MODULE = "from pathlib import Path\nfrom folkmoot import tool\nPath('was-here').touch()\n\n@tool\ndef t() -> str:\n    return ''\n"
SERVER = "from pathlib import Path\nPath('was-here').touch()\n"
PYTHON_TOOL = "tools: {t: {kind: python, module: t.py}}\n"
READING = (
    ("check",),
    ("explain", "a"),
    ("graph",),
    ("config", "show"),
    ("agents", "list"),
)

WAYS = {
    "a rule that allows a program": (
        "rules: [{tool: shell, arguments: {argv: {regex: '.*'}}, decision: allow}]\n",
        "tools: [shell]",
        {},
    ),
    "an agent with `shell`": ("", "tools: [shell]", {}),
    "an agent with `python`": ("", "tools: [python]", {}),
    "a gate without taint": ("gate: {taint: off}\n", "", {}),
    "files of the project that are trusted": ("gate: {trusted: ['**']}\n", "", {}),
    "clients that are trusted": ("gate: {untrustedClients: false}\n", "", {}),
    "a tool server that is trusted": (
        "tools: {t: {kind: mcp, command: [python3, s.py], untrusted: false}}\n",
        "",
        {"s.py": SERVER},
    ),
    "a remote agent that is trusted": ("", "remote: {url: 'http://127.0.0.1:1/', untrusted: false}", {}),
    "a gate that escalates less": ("gate: {escalate: {lines: 100000}}\n", "", {}),
    "agents that call agents unasked": (
        "orchestration: {enable_agent_tool: true, auto_approve: true}\n",
        "",
        {},
    ),
    "agents as approvers": ("approvals: {approvers: [parent, human]}\n", "", {}),
    "a lowered risk": ("rules: [{tool: 'files.*', decision: ask, risk: low}]\n", "", {}),
    "a writing tool declared as reading": (
        "tools: {t: {kind: mcp, command: [python3, s.py], access: read}}\n",
        "",
        {"s.py": SERVER},
    ),
    "a Python module": (PYTHON_TOOL, "tools: [t]", {"t.py": MODULE}),
    "a tool server": ("tools: {t: {kind: mcp, command: [python3, s.py]}}\n", "tools: [t]", {"s.py": SERVER}),
    "a tool server that gets a variable": (
        "tools: {t: {kind: mcp, url: 'http://127.0.0.1:{port}/', headers: {x: '${AWS_SECRET_ACCESS_KEY}'}}}\n",
        "tools: [t]",
        {},
    ),
    "any variable for a port of this machine": (
        "providers: {s: {kind: openai, baseUrl: 'http://127.0.0.1:{port}/v1', apiKeyEnv: AWS_SECRET_ACCESS_KEY,"
        " price: free, contextWindow: 9000}}\nmodels: {default: s/m}\n",
        "",
        {},
    ),
    "a variable for what agents write": ("secrets: [AWS_SECRET_ACCESS_KEY]\n", "", {}),
    "a variable for programs": ("builtins: {shell: {env: [AWS_SECRET_ACCESS_KEY]}}\n", "", {}),
    "a journal elsewhere": ("storage: {url: 'postgresql://127.0.0.1:{port}/db', project: p}\n", "", {}),
    "a sink with a variable": (
        "sinks: {s: {kind: otel, url: 'http://127.0.0.1:{port}', headersEnv: {x: AWS_SECRET_ACCESS_KEY}}}\n",
        "",
        {},
    ),
    "a sink that writes a file": ("sinks: {s: {kind: ndjson, path: notes.ndjson}}\n", "", {}),
    "agents that fetch from this machine": ("builtins: {web: {allow: [127.0.0.1]}}\n", "", {}),
}


class Listener:
    """Takes connections on a port of this machine, and counts them."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self._socket.accept()[0].close()
            except OSError:
                return
            self.connections += 1

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def listener():
    listening = Listener()
    yield listening
    listening.close()


@pytest.fixture
def foreign(folkmoot, listener, monkeypatch):
    """A project of somebody else, by the way in which it tries to act."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a key of this user")
    monkeypatch.setenv("PGPASSWORD", "a password of this user")

    def made(way: str):
        settings, frontmatter, files = WAYS[way]
        own = "" if "providers:" in settings else SETTINGS
        script = {"a": [TOUCH, {"report": "done"}] if "shell" in frontmatter else [{"report": "done"}]}
        folkmoot.write(
            {"a": frontmatter or "description: a"},
            script,
            own + settings.replace(PORT, str(listener.port)),
            mine=False,
        )
        for name, text in files.items():
            (folkmoot.folder / name).write_text(text)
        return folkmoot

    return made


@pytest.mark.parametrize("way", WAYS)
def test_a_foreign_project_acts_only_after_consent_and_names_what_to_type(foreign, listener, way):
    """K-1, K-3, K-4: nothing is run, no address is reached and no variable leaves; exit 4 and the command."""
    folkmoot = foreign(way)

    for command in (
        ("run", "a.ai", "x"),
        ("collaborate", "x"),
        ("watch", "--once"),
        ("sinks", "run", "--once"),
    ):
        done = folkmoot(*command)
        assert done.code == 4, (command, done.err)
        assert "folkmoot trust" in done.err, command
    done = folkmoot("doctor")
    assert "folkmoot trust" in done.out + done.err
    assert listener.connections == 0
    assert not (folkmoot.folder / "was-here").exists()


@pytest.mark.parametrize("way", WAYS)
def test_looking_at_a_foreign_project_needs_no_consent_and_connects_nowhere(foreign, listener, way):
    folkmoot = foreign(way)

    for command in READING:
        assert folkmoot(*command).code == 0, command
    for command in (("runs", "list"), ("verify",), ("runs", "show", "last"), ("runs", "replay", "last")):
        done = folkmoot(*command)
        assert (
            (done.code == 4 and "folkmoot trust" in done.err)
            if way == "a journal elsewhere"
            else done.code != 4
        )
    assert listener.connections == 0
    assert not (folkmoot.folder / "was-here").exists()


def test_what_was_allowed_is_asked_again_when_its_value_changes(foreign):
    """K-1: each rule is an item of its own, by its content."""
    folkmoot = foreign("a rule that allows a program")
    assert folkmoot("trust", "--yes").code == 0
    assert folkmoot("run", "a.ai", "x", "-q").code == 0
    assert (folkmoot.folder / "was-here").exists()

    settings = folkmoot.folder / "folkmoot.yaml"
    settings.write_text(settings.read_text().replace("regex: '.*'", "regex: '.+'"))
    done = folkmoot("run", "a.ai", "x")
    assert done.code == 4
    assert '"regex":".+"' in done.err
    assert "run programs" not in done.err


IMPORTING = """
from parts.far import word
from folkmoot import tool

@tool
def t() -> str:
    return word
"""
SERVING = """
from mcp.server import MCPServer
from parts.far import word

server = MCPServer("t")

@server.tool()
def t() -> str:
    return word

server.run()
"""
BEHIND = {
    "module": (PYTHON_TOOL, "t.py", IMPORTING),
    "server": (f"tools: {{t: {{kind: mcp, command: [{sys.executable}, ./s.py]}}}}\n", "s.py", SERVING),
}


@pytest.mark.parametrize("kind", BEHIND)
def test_a_pulled_change_of_any_file_behind_a_tool_asks_again(folkmoot, kind):
    """K-5: what a trusted module imports, and what a trusted command names, counts by its content."""
    settings, file, text = BEHIND[kind]
    folkmoot.write({"a": "tools: [t]"}, {"a": [{"report": "done"}]}, SETTINGS + settings, mine=False)
    (folkmoot.folder / file).write_text(text)
    (folkmoot.folder / "parts").mkdir()
    far = folkmoot.folder / "parts" / "far.py"
    far.write_text("word = 'fine'\n")
    assert folkmoot("trust", "--yes").code == 0
    assert folkmoot("run", "a.ai", "x", "-q").code == 0

    far.write_text("from pathlib import Path\nPath('was-here').touch()\nword = 'fine'\n")

    done = folkmoot("run", "a.ai", "x", "-q")
    assert (done.code, "parts/far.py" in done.err) == (4, True)
    assert folkmoot("trust", "--not-mine", "--json").json[0]["status"] == "changed"
    assert not (folkmoot.folder / "was-here").exists()


@pytest.fixture
def own_state(tmp_path, monkeypatch):
    """Where nothing but the test's own project was ever allowed."""
    monkeypatch.setenv("FOLKMOOT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def shows(written: str, *lines: str) -> bool:
    """Whether these lines stand on the terminal one below the other."""
    return "\n".join(lines) in re.sub(" +\r?\n|\r\n", "\n", written)


@pytest.mark.parametrize("kind", BEHIND)
def test_what_changed_in_the_files_behind_a_tool_is_shown_line_by_line_before_the_question(folkmoot, kind):
    """K-5: `y` runs it, and everything else runs nothing. No character of a line moves or hides another."""
    settings, file, text = BEHIND[kind]
    folkmoot.write({"a": "tools: [t]"}, {"a": [{"report": "done"}]}, SETTINGS + settings, mine=False)
    (folkmoot.folder / file).write_text(text)
    (folkmoot.folder / "parts").mkdir()
    far = folkmoot.folder / "parts" / "far.py"
    far.write_text("# one\nword = 'fine'\n")
    assert folkmoot("trust", "--yes").code == 0
    (folkmoot.folder / file).write_text(text.replace("import word", "import word\nfrom parts import new"))
    (folkmoot.folder / "parts" / "new.py").write_text("x = 1\n")
    far.write_text("# one\nword = 'other'  # \x1b[2K\u202e\u200b\n" + "# and more\n" * 30)

    code, refused = folkmoot.on_a_terminal("run", "a.ai", "x", "-q", when=[("Allow this?", b"\n")])

    assert code == 4
    assert "wants to (* changed since it was allowed):" in refused
    assert shows(
        refused,
        "       parts/far.py changed",
        "         -word = 'fine'",
        "         +word = 'other'  # \\u001b[2K\\u202e\\u200b",
        *["         +# and more"] * 18,
        "       parts/new.py is new",
        f"       {file} changed",
        "       … and 14 more changed lines",
    )
    untold = folkmoot("trust")
    assert (untold.code, "         -word = 'fine'\n" in untold.err) == (4, True)
    code, _ = folkmoot.on_a_terminal("run", "a.ai", "x", "-q", when=[("Allow this?", b"y\n")])
    assert code == 0
    assert folkmoot("trust").err.endswith("wants nothing that is not allowed already\n")


def test_of_a_rule_or_an_address_the_old_value_is_shown_with_the_new_one(folkmoot):
    """Rules have one name: an old one is shown once, for what came in its place, and a new one is just new."""
    rules = "rules: [{tool: shell, arguments: {argv: {regex: 'ls'}}, decision: allow}%s]\n"
    elsewhere = "providers: {s: {kind: openai, baseUrl: 'https://one.example/v1', apiKeyEnv: KEY, price: free, contextWindow: 9000}}\nmodels: {default: s/m}\n"
    folkmoot.write({"a": "description: a"}, {}, elsewhere + rules % "", mine=False)
    assert folkmoot("trust", "--yes").code == 0
    changed = elsewhere.replace("one.example", "two.example") + rules.replace("'ls'", "'.*'") % ""
    (folkmoot.folder / "folkmoot.yaml").write_text(changed)

    code, asked = folkmoot.on_a_terminal("trust", when=[("Allow this?", b"y\n")])

    assert code == 0
    assert '  1. * call without approval what fits the rule {"arguments":{"argv":{"regex":".*"}}' in asked
    assert (
        '       was: call without approval what fits the rule {"arguments":{"argv":{"regex":"ls"}}' in asked
    )
    was = "was: send requests of provider 's' to https://one.example/v1 with the key in $KEY"
    assert shows(asked, "https://two.example/v1 with the key in $KEY", f"       {was}")
    added = changed.replace("allow}]", "allow}, {tool: shell, access: read, decision: allow}]")
    (folkmoot.folder / "folkmoot.yaml").write_text(added)
    done = folkmoot("trust")
    assert (done.code, "was:" in done.err, "*" in done.err) == (4, False, False)


def test_a_file_whose_text_is_not_kept_is_named_alone(folkmoot, own_state):
    """Too large, or allowed by an earlier release."""
    settings, file, text = BEHIND["module"]
    folkmoot.write({"a": "tools: [t]"}, {"a": [{"report": "done"}]}, SETTINGS + settings, mine=False)
    (folkmoot.folder / file).write_text(text)
    (folkmoot.folder / "parts").mkdir()
    far = folkmoot.folder / "parts" / "far.py"
    far.write_text("word = 'fine'\n" + "#" * 65536)
    assert folkmoot("trust", "--yes").code == 0
    far.write_text("word = 'other'\n")
    assert folkmoot("trust").err.splitlines()[2:4] == [
        "       parts/far.py changed",
        f"allow it with: folkmoot trust {folkmoot.folder} --yes",
    ]

    (store,) = (own_state / "consent").glob("*.json")
    old = json.loads(store.read_text())
    old["grants"] = {
        id: {"name": grant["name"], "text": grant["text"]} for id, grant in old["grants"].items()
    }
    store.write_text(json.dumps(old))
    assert folkmoot("trust").err.splitlines()[2].startswith("       what changed is not known")
    assert folkmoot("trust", "--yes").code == 0
    assert folkmoot("run", "a.ai", "x", "-q").code == 0


def test_kept_texts_are_for_their_user_alone_and_go_with_what_allowed_them(folkmoot, own_state):
    folkmoot.write_with_tool("t", "@tool\ndef t() -> str:\n    return ''\n", trusted=False)

    def kept() -> list[Path]:
        return [*(own_state / "consent").glob("*/*")]

    assert folkmoot("trust", "--yes").code == 0
    (first,) = kept()
    consent = own_state / "consent"
    assert {path.stat().st_mode & 0o077 for path in (consent, *consent.rglob("*"))} == {0}
    with (folkmoot.folder / "t.py").open("a") as module:
        module.write("# more\n")
    assert folkmoot("trust", "--yes").code == 0
    (second,) = kept()
    assert second != first
    assert folkmoot("trust", "--revoke", "all").code == 0
    assert kept() == []


def test_single_items_are_allowed_revoked_exported_and_imported(foreign, monkeypatch):
    folkmoot = foreign("a rule that allows a program")
    first, second = folkmoot("trust", "--not-mine", "--json").json

    assert folkmoot("trust", "--allow", first["id"]).code == 0
    assert [item["status"] for item in folkmoot("trust", "--not-mine", "--json").json] == ["allowed", "new"]
    assert folkmoot("run", "a.ai", "x").code == 4
    assert folkmoot("trust", "--allow", "nothing").code == 2
    folkmoot("trust", "--allow", second["id"])
    assert folkmoot("trust", "--allow", "nothing").code == 2
    assert folkmoot("trust", "--export", "grants.json").code == 0

    monkeypatch.setenv("FOLKMOOT_STATE", str(folkmoot.folder / "another machine"))
    assert folkmoot("run", "a.ai", "x").code == 4
    assert folkmoot("trust", "--import", "grants.json").code == 0
    assert folkmoot("run", "a.ai", "x", "-q").code == 0
    assert folkmoot("trust", "--revoke", "all").code == 0
    assert folkmoot("run", "a.ai", "x").code == 4
    (folkmoot.folder / "bad.json").write_text("[]")
    assert folkmoot("trust", "--import", "bad.json").code == 2


def test_nothing_is_asked_in_a_folder_of_ones_own_and_the_doctor_says_so(foreign):
    folkmoot = foreign("a rule that allows a program")

    assert folkmoot("trust", "--mine").code == 0
    assert folkmoot("run", "a.ai", "x", "-q").code == 0
    found = {finding["id"]: finding["text"] for finding in folkmoot("doctor", "--json").json}
    assert found["trust"].startswith("this folder is yours")
    assert folkmoot("trust", "--not-mine").code == 0
    assert folkmoot("run", "a.ai", "x").code == 4


def test_what_init_makes_in_a_new_folder_is_ones_own_and_elsewhere_is_not(folkmoot, monkeypatch):
    folkmoot("init", "desk", "--template", "support-desk")
    (folkmoot.folder / "shared").mkdir()
    (folkmoot.folder / "shared" / "notes.txt").write_text("somebody's")
    folkmoot("init", "shared", "--template", "support-desk")

    for folder, code in (("desk", 6), ("shared", 4)):
        tools = folkmoot.folder / folder / "tools.py"
        tools.write_text(tools.read_text() + "\n# changed\n")
        asked = folkmoot(
            "--project", folder, "run", "support.ai", "I was charged twice for order 1042.", "-q"
        )
        assert asked.code == code, asked.err


@pytest.fixture
def somebody(foreign, monkeypatch):
    """A project with a run that was interrupted in another installation, where everything was allowed."""
    folkmoot = foreign("a rule that allows a program")
    ours = os.environ["FOLKMOOT_STATE"]
    monkeypatch.setenv("FOLKMOOT_STATE", str(folkmoot.folder / "state of somebody else"))
    folkmoot("trust", "--mine")
    script = folkmoot.folder / "script.yaml"
    answers = json.dumps({"agents": {"a": [{**TOUCH, "barrier": "nobody comes/2"}, {"report": "done"}]}})
    script.write_text(answers)
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a starts")
    process.kill()
    process.communicate()
    script.write_text(answers.replace('"barrier": "nobody comes/2"', '"delay": "0ms"'))
    monkeypatch.setenv("FOLKMOOT_STATE", ours)
    return folkmoot


@pytest.mark.parametrize("arrived", ["in the project's folder", "as a bundle"])
def test_runs_of_another_installation_do_not_continue_by_themselves(somebody, arrived):
    """K-2: opening is not enough; an adopted run works under what is allowed here, not where it began."""
    folkmoot = somebody
    run = folkmoot("runs", "list", "--json").json[0]["runId"]
    if arrived == "as a bundle":
        folkmoot("log", "export", run, "--bundle", "run.zip")
        shutil.rmtree(folkmoot.folder / ".folkmoot")
        assert folkmoot("journal", "import", "run.zip").code == 0
    folkmoot("trust", "--yes")
    server = folkmoot.started("serve", "--port", "0")
    said = wait_for(server.stderr, "folkmoot journal adopt")
    interrupted(server)

    assert f"run {run}: completed" not in said
    assert not (folkmoot.folder / "was-here").exists()
    assert folkmoot("verify").code == 0
    refused = folkmoot("runs", "resume", run)
    assert (refused.code, f"folkmoot journal adopt {run}" in refused.err) == (4, True)
    assert folkmoot("runs", "list", "--json").json[0]["status"] == "interrupted"

    assert folkmoot("trust", "--revoke", "all").code == 0
    assert [each["runId"] for each in folkmoot("journal", "adopt", "--json").json] == [run]
    assert folkmoot("runs", "resume", run).code == 4
    assert not (folkmoot.folder / "was-here").exists()
    folkmoot("trust", "--yes")
    assert folkmoot("runs", "resume", run, "-q").code == 0
    assert (folkmoot.folder / "was-here").exists()
    assert folkmoot("journal", "adopt", "--json").json == []


def test_a_changed_copy_of_ones_own_run_is_not_taken_for_ones_own(folkmoot):
    """K-2: the proof of a run covers its id and the files it is pinned to."""
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "done"}]})
    folkmoot("run", "a.ai", "x", "-q")
    started = json.loads(folkmoot("log", "export", "last").out.splitlines()[0])["data"]

    assert re.fullmatch("[0-9a-f]{32}", started["origin"])
    folkmoot("run", "a.ai", "x", "-q")
    other = json.loads(folkmoot("log", "export", "last").out.splitlines()[0])["data"]
    assert (other["graph"], other["origin"] == started["origin"]) == (started["graph"], False)
