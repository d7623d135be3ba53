"""The front desk: what a project may do, and what is refused before anything runs."""

import pytest

from folkmoot import (
    DeclarationError,
    FakeClock,
    Folkmoot,
    ScriptedModel,
    Surroundings,
    Untrusted,
    WrongUse,
    tool,
)
from folkmoot.engine.workshop import load_project
from folkmoot.orchestration.kit import InheritedLimits
from folkmoot.tools.consent import ConsentStore
from folkmoot.tools.wanted import wanted_items
from tests.desk import SETTINGS, write

PSP = '''
from folkmoot import tool


@tool(effect="pure", access="read")
async def balance(account: str) -> str:
    """The balance of an account."""
    return f"{account} has 7"


@tool(effect="keyed", access="write")
def refund(order: int, idempotency_key: str) -> str:
    """Pay back."""
    return idempotency_key
'''
WITH_TOOLS = SETTINGS + "tools: {psp: {kind: python, module: tools/psp.py}}\n"


@pytest.fixture
def around(tmp_path):
    return Surroundings(env={})


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "psp.py").write_text(PSP)
    return folder


def allow(folder, around):
    wanted = wanted_items(folder, load_project(folder).graph)
    ConsentStore().grant(folder, wanted)


async def test_functions_of_a_python_module_are_tools_after_trust(project, around):
    """DESIGN 8: Python tools; a source stands for all its tools, a dotted name for one."""
    write(project, {"a": "tools: [psp]", "b": "tools: [psp.refund]"}, WITH_TOOLS, mine=False)
    call = {"calls": [{"tool": "psp.balance", "arguments": {"account": "x"}}]}
    model = ScriptedModel({"a": [call, "ok"], "b": ["ok"]})
    with pytest.raises(Untrusted, match=r"run the Python module tools/psp.py\nallow it with: folkmoot trust"):
        async with Folkmoot.open(project, around=around):
            pass
    allow(project, around)
    async with Folkmoot.open(project, models={"scripted": model}, around=around) as moot:
        await moot.run("a.ai", "hi")
        await moot.run("b.ai", "hi")

    assert [spec.name for spec in model.heard_from("a")[0].tools][:2] == ["psp__balance", "psp__refund"]
    assert [spec.name for spec in model.heard_from("b")[0].tools][:1] == ["psp__refund"]
    assert model.heard_from("a")[1].messages[-1].text == "x has 7"


async def test_a_python_module_is_run_once_when_its_project_is_opened(project, around):
    trace = project.parent / "trace"
    counting = f"with open({str(trace)!r}, 'a') as trace:\n    trace.write('run ')\n"
    (project / "tools" / "psp.py").write_text(PSP + counting)
    write(project, {"a": "tools: [psp]"}, WITH_TOOLS)
    allow(project, around)
    async with Folkmoot.open(project, around=around):
        pass

    assert trace.read_text() == "run "


async def test_an_unknown_agent_is_answered_with_the_nearest_one(desk):
    async with desk({"front-desk": ""}, {}).open() as moot:
        with pytest.raises(WrongUse, match=r"no agent 'frontdesk.ai'; did you mean 'front-desk.ai'"):
            await moot.run("frontdesk.ai", "hi")


async def test_an_empty_request_is_refused(desk):
    async with desk({"a": ""}, {}).open() as moot:
        with pytest.raises(WrongUse, match="nothing to ask"):
            await moot.run("a", "  ")


@pytest.mark.parametrize(("request_", "message"), [("hi", "takes JSON"), ('{"n": "x"}', r"\$\.n")])
async def test_a_request_must_be_what_the_agent_takes(desk, request_, message):
    schema = "input: {format: json, schema: {type: object, properties: {n: {type: integer}}}}"
    at = desk({"a": schema}, {"a": ["ok"]})
    async with at.open() as moot:
        with pytest.raises(WrongUse, match=message):
            await moot.run("a", request_)
        assert (await moot.run("a", '{"n": 1}')).success


async def test_what_a_strict_run_cannot_hold_is_refused_before_anything_runs(desk):
    """X-1: every key that would pass free text on, with its file."""
    at = desk(
        {
            "root": "advisors: [a.ai]\nhandoff: a.ai\ncontract: strict",
            "a": "router: {destinations: [b.ai]}",
            "b": "",
        },
        {},
    )
    async with at.open() as moot:
        with pytest.raises(DeclarationError) as refused:
            await moot.run("root", "hi")
    assert [(each.file, each.message.split()[0]) for each in refused.value.problems] == [
        ("root.ai", "`advisors`"),
        ("root.ai", "`handoff`"),
        ("a.ai", "`router`"),
    ]
    assert at.model.heard == []


async def test_a_fault_of_our_own_ends_the_run_and_is_recorded(desk):
    at = desk({"a": "output: {format: json, schema: {}}"}, {"a": ["x"]})
    async with at.open() as moot:
        moot._project.kits._kits["a.ai", "", InheritedLimits()] = None
        result = await moot.run("a", "hi")

    assert (result.status, result.stop_reason) == ("failed", "SYSTEM_ERROR")
    types = (await at.played(result)).types
    assert types[-2:] == ["system.error", "run.failed"]


async def test_descendants_beyond_the_budget_are_not_begun_and_say_so(desk):
    files = {"a": "advisors: [b.ai, c.ai]\nbudget: {descendants: 1}", "b": "", "c": ""}
    played = await desk(files, {"a": ["ok"], "b": ["advice"], "c": ["more"]}).run("a")

    assert played.started() == ["b", "a"]
    assert "1 descendants of 'a'" in played.prompt("a")
    assert [event.limit for event in played.events("budget.exceeded")] == ["1 descendants of 'a'"]


async def test_runs_are_listed_newest_first_and_survive_reopening(tmp_path, around):
    write(tmp_path, {"a": ""})
    model = ScriptedModel({"a": ["ok"]})
    async with Folkmoot.open(tmp_path, models={"scripted": model}, around=around) as moot:
        first = await moot.run("a", "one")
    async with Folkmoot.open(tmp_path, models={"scripted": model}, around=around) as moot:
        second = await moot.run("a", "two")
        rows = await moot.runs()
        again = await moot.result(first.run_id)

    assert [(row.run_id, row.status, row.request) for row in rows] == [
        (second.run_id, "completed", "two"),
        (first.run_id, "completed", "one"),
    ]
    assert again.to_json() == first.to_json()


async def test_settings_of_a_tool_source_hold_for_all_its_tools(project, around):
    write(
        project, {"a": "tools: [psp]"}, WITH_TOOLS.replace("psp.py}", "psp.py, effect: once, access: exec}")
    )
    allow(project, around)
    model = ScriptedModel({"a": ["ok"]})
    async with Folkmoot.open(project, models={"scripted": model}, around=around) as moot:
        await moot.run("a", "hi")

    assert {(spec.effect, spec.access) for spec in model.heard[0].tools[:2]} == {("once", "exec")}


async def test_a_run_is_resumed_with_the_project_it_was_started_with_even_if_the_files_are_broken_now(
    tmp_path, around
):
    """DESIGN 4: never what lies on the disk by then."""
    write(tmp_path, {"a": ""})
    model = ScriptedModel({"a": ["ok"]})
    async with Folkmoot.open(tmp_path, models={"scripted": model}, around=around) as moot:
        run_id = (await moot.run("a", "hi")).run_id
    (tmp_path / "a.ai").write_text("---\nmodles: x\n---\n")
    (tmp_path / "folkmoot.yaml").write_text("nonsense: true")
    async with Folkmoot.reopen(tmp_path, run_id, models={"scripted": model}, around=around) as moot:
        assert (await moot.resume(run_id)).success
        assert (await moot.run("a", "again")).success

    with pytest.raises(WrongUse, match="there is no run 'nope'"):
        async with Folkmoot.reopen(tmp_path, "nope", around=around):
            pass


async def test_a_faulty_script_is_a_problem_of_its_file_before_anything_runs(tmp_path, around):
    write(tmp_path, {"a": ""})
    (tmp_path / "script.yaml").write_text("agents: {a: [{reprot: hi}]}")

    with pytest.raises(DeclarationError, match=r"script.yaml:1:\d+: unknown key 'reprot'"):
        async with Folkmoot.open(tmp_path, around=around):
            pass
    assert not (tmp_path / ".folkmoot").exists()


async def test_an_agent_whose_models_all_lack_their_key_is_refused_before_anything_runs(tmp_path, around):
    write(tmp_path, {"a": "advisors: [b.ai]\nmodels: scripted/x", "b": "models: openai/gpt-5-mini"})
    async with Folkmoot.open(tmp_path, around=around) as moot:
        with pytest.raises(DeclarationError, match=r"b.ai.*set the environment variable OPENAI_API_KEY"):
            await moot.run("a", "hi")
        assert await moot.runs() == []


async def test_following_one_run_shows_that_run_alone(desk):
    at = desk({"a": ""}, {"a": ["ok"]})
    async with at.open() as moot:
        await moot.run("a", "one")
        at.identity = type(at.identity)("run-2", "seed")
        await moot.run("a", "two")
        followed = moot.events("run-2", follow=True)
        seen = [(await anext(followed)).stream for _ in range(6)]

    assert seen == ["run-2"] * 6


async def test_calls_that_were_refused_are_no_tool_calls(desk):
    wrong = {"calls": [{"tool": "nothing"}], "report": ""}
    played = await desk({"a": ""}, {"a": [wrong, "ok"]}).run("a")

    assert len(played.events("tool.failed")) == 2
    assert played.result.totals.tool_calls == 0


async def test_a_fault_amid_a_session_ends_the_session_too(desk):
    """C6: every child reaches a terminal event."""

    class Stopped(FakeClock):
        stands = False

        def monotonic(self) -> float:
            if self.stands:
                raise RuntimeError("the clock stands still")
            return super().monotonic()

    @tool(effect="pure", access="read")
    async def stop() -> str:
        """Stop the clock."""
        clock.stands = True
        return "stopped"

    clock = Stopped()
    at = desk({"a": "tools: [stop]"}, {"a": [{"calls": [{"tool": "stop"}]}, "ok"]}, tools=[stop])
    at.clock = clock
    async with at.open() as moot:
        result = await moot.run("a", "hi")

    assert (await at.played(result)).types[-3:] == ["system.error", "session.cancelled", "run.failed"]
