"""The screens of runs, over HTTP as a browser without JavaScript sees them."""

import asyncio
import re
from contextlib import asynccontextmanager
from html import unescape

import aiohttp
import pytest

from bench.page import RUN, STEPS, write
from folkmoot import tool
from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.decision import DecisionProposed, DecisionVoted, Option, Proposal
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunStarted, SessionStarted, ToolStarted
from folkmoot.domain.inbox_events import ApprovalRequested
from folkmoot.domain.plan import Plan, PlanCreated, StepCompleted, StepStarted
from folkmoot.domain.trace import trace_id
from folkmoot.engine.local import encode_graph
from folkmoot.http.pages.run import AT_ONCE, GROUP
from folkmoot.ports import NewRun
from tests.browser.serving import serving
from tests.desk import SETTINGS, look
from tests.orchestration.test_nested_teams import FILES as NESTED
from tests.orchestration.test_nested_teams import SAID as NESTED_SAID
from tests.views.test_timeline import FILES, SCRIPT


class Visitor:
    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self.address = session, address

    async def get(self, path, status=200, **headers):
        async with self._session.get(self.address + path, headers=headers) as answer:
            text = await answer.text()
            assert answer.status == status, text
            return unescape(text) if "html" in answer.content_type else text

    async def post(self, path, **form):
        """The status and where it leads to, or the page."""
        headers = {"origin": self.address}
        async with self._session.post(
            self.address + path, data=form, headers=headers, allow_redirects=False
        ) as answer:
            return answer.status, answer.headers.get("location") or unescape(await answer.text())

    async def live(self, path, until, **headers):
        """What a stream sends, up to the message that holds a text."""
        heard = ""
        async with self._session.get(self.address + path, headers=headers) as answer:
            async for line in answer.content:
                heard += line.decode()
                if until in heard and line == b"\n":
                    break
        return heard


@pytest.fixture
def visit():
    @asynccontextmanager
    async def visiting(project):
        async with project.open() as moot, serving(moot) as address, aiohttp.ClientSession() as session:
            visitor = Visitor(session, address)
            visitor.moot = moot
            yield visitor

    return visiting


def rows(page):
    return [int(seq) for seq in re.findall(r'id="op-(\d+)"', page)]


def titles(page):
    return re.findall(r'class="title cut" id="title-[^"]+" href="/runs/[^"]+">([^<]+)<', page)


async def test_a_project_without_runs_says_how_to_begin(desk, visit):
    async with visit(desk(FILES, SCRIPT)) as visitor:
        page = await visitor.get("/runs")

    assert "Nothing has run here yet" in page
    assert 'folkmoot run billing "…"' in page


async def test_a_run_is_listed_with_its_title_its_agents_and_what_went_wrong(desk, visit):
    """E-78: titled by its goal."""
    project = desk({"a": ""}, {"a": [{"error": {"message": "gone", "retryable": False}}]})
    await project.run("a.ai", "[Goal] Check the orders\nand say so")
    async with visit(project) as visitor:
        page = await visitor.get("/runs")

    assert titles(page) == ["Check the orders"]
    assert "no model answered" in page
    assert 'class="state failed' in page


async def test_the_address_says_which_runs_are_shown(desk, visit):
    project = desk(
        {"a": "", "b": ""}, {"a": ["one", "two"], "b": [{"error": {"message": "x", "retryable": False}}]}
    )
    async with visit(project) as visitor:
        for name, agent in (("r-1", "a"), ("r-2", "b"), ("r-3", "a")):
            project.identity = type(project.identity)(name, "seed")
            await visitor.moot.run(agent, f"{name} asks")
        found = {
            address: titles(await visitor.get(f"/runs{address}"))
            for address in (
                "",
                "?agent=b",
                "?state=completed",
                "?q=R-3",
                "?sort=started",
                "?since=24h&state=failed",
            )
        }
        refused = await visitor.get("/runs?sort=size", status=400)
        none = await visitor.get("/runs?q=nothing+like+it")

    assert found == {
        "": ["r-3 asks", "r-2 asks", "r-1 asks"],
        "?agent=b": ["r-2 asks"],
        "?state=completed": ["r-3 asks", "r-1 asks"],
        "?q=R-3": ["r-3 asks"],
        "?sort=started": ["r-1 asks", "r-2 asks", "r-3 asks"],
        "?since=24h&state=failed": ["r-2 asks"],
    }
    assert "no such list of runs" in refused
    assert "Show all 3" in none


async def test_a_run_shows_its_tree_and_each_step_its_exact_prompt(desk, visit):
    """B-61, D-30: children below their parents; the envelope of who advised is marked with its nonce."""
    project = desk(FILES, SCRIPT)
    played = await project.run("desk.ai")
    asked = next(
        n for n, d in enumerate(played.drafts, 1) if d.event.type == "llm.request" and d.agent_id == "desk"
    )
    async with visit(project) as visitor:
        page = await visitor.get("/runs/run-1")
        chosen = await visitor.get(f"/runs/run-1?op={asked}")
        drawer = await visitor.get(f"/runs/run-1?op={asked}", **{"HX-Request": "true"})

    levels = [int(level) for level in re.findall(r'aria-level="(\d)"', page)]
    assert levels == [1, 2, 3, 2, 2, 2, 3, 3, 4, 3, 3, 3, 4]
    assert 'class="op k-advisor failed"' in page
    assert "You are desk." in chosen
    assert 'aria-selected="true" tabindex="0"' in chosen
    assert drawer.strip().startswith('<aside class="drawer')
    assert re.search(r'<b>original_user_request</b>__<span class="nonce">[0-9a-f]{12}</span>', drawer)
    assert "I want my money back" in drawer


async def test_a_run_that_is_sent_to_opentelemetry_shows_its_trace_there(desk, visit):
    """Issue 8: trace ids in the page; the link says nothing of this page to the other side."""
    sink = "sinks: {t: {kind: otel, url: 'http://127.0.0.1:4318'%s}}\n"
    linked = sink % ", traceUrl: 'https://traces.example/?a=1&id={traceId}'"
    project = desk({"a": ""}, {"a": ["one", "two"]}, settings=SETTINGS + linked)
    await project.run("a.ai", "hello")
    async with visit(project) as visitor:
        page = await visitor.get("/runs/run-1")
    (project.folder / "folkmoot.yaml").write_text(SETTINGS + sink % "")
    async with visit(project) as visitor:
        unlinked = await visitor.get("/runs/run-1")
    (project.folder / "folkmoot.yaml").write_text(SETTINGS)
    async with visit(project) as visitor:
        unsent = await visitor.get("/runs/run-1")

    trace = trace_id("run-1")
    address = f"https://traces.example/?a=1&id={trace}"
    assert f'href="{address}" rel="noopener noreferrer nofollow">{trace}</a>' in page
    assert f'<span class="mono">{trace}</span>' in unlinked
    assert trace not in unsent


async def test_replay_shows_the_run_as_it_was(desk, visit):
    """Pain 20: what had not begun is faded, what had not ended is open."""
    project = desk(FILES, SCRIPT)
    played = await project.run("desk.ai")
    at = next(
        n for n, d in enumerate(played.drafts, 1) if d.event.type == "llm.request" and d.agent_id == "desk"
    )
    async with visit(project) as visitor:
        page = await visitor.get(f"/runs/run-1?at={at}")

    later = [int(seq) for seq in re.findall(r'class="op [^"]* later" role="row" id="op-(\d+)"', page)]
    assert later == [seq for seq in rows(page) if seq > at]
    assert re.search(rf'class="op k-model runs" role="row" id="op-{at}"', page)


async def test_whatever_agents_say_is_text_and_never_markup(desk, visit):
    evil = "<script>alert(1)</script><img src=//evil.example/x>"
    project = desk({"a": ""}, {"a": [evil]})
    await project.run("a.ai", evil)
    async with visit(project) as visitor:
        for path in ("/runs", "/runs/run-1", "/runs/run-1?op=3", "/runs/run-1/fork?at=1"):
            async with visitor._session.get(visitor.address + path) as answer:
                page = await answer.text()
            assert "alert(1)" in page
            assert "<script>alert" not in page
            assert "<img" not in page


async def test_a_run_of_5000_steps_comes_in_groups(desk, visit):
    """The first answer holds the first rows only; each group is fetched by where it begins and ends."""
    project = desk({"boss": "", "clerk": ""}, {})
    async with visit(project) as visitor:
        await write(visitor.moot, STEPS)
        page = await visitor.get(f"/runs/{RUN}")
        groups = re.findall(r'hx-get="(/runs/[^"]+)" hx-trigger="intersect once"', page)
        second, last = await visitor.get(groups[0]), await visitor.get(groups[-1])

    assert len(rows(page)) == AT_ONCE * GROUP
    assert len(page) < 200_000
    assert len(groups) == 98
    assert len(rows(second)) == GROUP
    assert not {*rows(second)} & {*rows(page)}
    assert len(rows(last)) == 1


async def test_what_happens_in_a_run_is_sent_to_a_page_that_is_open(desk, visit):
    """B-61, pain 11: a late child comes behind the last row of its parent; who reconnects misses nothing."""
    project = desk(FILES, SCRIPT)
    await project.run("desk.ai")
    async with visit(project) as visitor:
        page = await visitor.get("/runs/run-1")
        heard = await visitor.live("/runs/run-1/live?after=5", "event: over")
        nothing_new = await visitor.live("/runs/run-1/live", "event: over", **{"Last-Event-ID": "9999"})

    assert set(rows(heard)) == set(rows(page))
    assert re.search(r"^id: \d+$", heard, re.MULTILINE)
    assert 'id="facts" hx-swap-oob="true"' in heard
    assert "event: over" in nothing_new


async def test_a_row_that_begins_comes_behind_the_last_one_of_its_parent(desk, visit):
    """B-61, pain 11: while the run is under way, each of its two calls held until the page has heard of the one before."""
    doors, begun = [asyncio.Event(), asyncio.Event()], asyncio.Event()

    @tool(effect="pure", access="read")
    async def wait(door: int) -> str:
        """Wait at a door."""
        begun.set()
        await doors[door].wait()
        return "open"

    said = [{"calls": [{"tool": "wait", "arguments": {"door": door}}]} for door in (0, 1)]
    project = desk({"a": "tools: [wait]"}, {"a": [*said, "done"]}, tools=[wait])
    async with visit(project) as visitor:
        _, address = await visitor.post("/start", agent="a.ai", request="go")
        await begun.wait()
        await project.clock.advance(7)
        page = await visitor.get(address)
        (stream,) = re.findall(r'sse-connect="([^"]+)"', page)
        heard = ""
        async with asyncio.timeout(60), visitor._session.get(visitor.address + stream) as answer:
            async for line in answer.content:
                heard += line.decode()
                if line == b"\n":
                    doors[0].set()
                if 'hx-swap-oob="afterend' in heard and line == b"\n":
                    doors[1].set()
                if "event: over" in heard:
                    break

    shown = rows(page)
    fresh = re.findall(
        r'hx-swap-oob="afterend:#op-(\d+)">\s*(?:data: )?\s*(?:data: )?<div class="op [^"]*" role="row" id="op-(\d+)"',
        heard,
    )
    assert int(fresh[0][0]) == shown[-1] < int(fresh[0][1])
    assert 'Elapsed <b>7.0 s</b><span class="quiet">7.0 s active' in page
    assert re.search(r'data-words="Event \d+ · live"', heard)
    assert re.search(r'data-words="Event \d+"', heard)


async def test_a_run_is_started_from_the_page(desk, visit):
    project = desk({"a": "description: Says hello."}, {"a": ["hello"]})
    async with visit(project) as visitor:
        form = await visitor.get("/start")
        status, address = await visitor.post("/start", agent="a.ai", request="say it")
        page = await visitor.live(f"{address}/live", "event: over")
        asks = [
            entry.event.request async for entry in visitor.moot.events() if entry.event.type == "run.started"
        ]

    assert "Says hello." in form
    assert (status, asks) == (303, ["say it"])
    assert "Completed" in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"agent": "a.ai", "request": ""}, "say what the agent shall do"),
        ({"agent": "nobody.ai", "request": "x"}, "nobody.ai"),
    ],
)
async def test_what_cannot_start_is_said_in_the_form(desk, visit, given, words):
    async with visit(desk({"a": ""}, {"a": ["hello"]})) as visitor:
        status, page = await visitor.post("/start", **given)

    assert status in (404, 409)
    assert words in re.search(r'role="alert".*?</p>', page, re.DOTALL)[0]
    assert given["request"] in page


async def test_a_run_is_forked_from_the_page_with_another_prompt(desk, visit):
    """Pain 20."""
    project = desk({"a": ""}, {"a": ["one", "two"]})
    await project.run("a.ai", "count")
    project.identity = type(project.identity)("run-2", "seed")
    async with visit(project) as visitor:
        form = await visitor.get("/runs/run-1/fork?at=1")
        status, address = await visitor.post(
            "/runs/run-1/fork", at="1", request="count on", **{"prompt:a": "You are bold."}
        )
        await visitor.live(f"{address}/live", "event: over")
        refused = await visitor.post("/runs/run-1/fork", at="99")

    assert "You are a." in form
    assert (status, address) == (303, "/runs/run-2")
    asked = project.model.heard[-1]
    assert [message.text for message in asked.messages] == ["You are bold.", "count on"]
    assert refused[0] == 409
    assert "there is no entry 99" in refused[1]


async def test_a_waiting_run_leads_to_what_it_waits_for_and_can_be_cancelled(desk, visit):
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    calls = {"calls": [{"tool": "pay", "arguments": {"amount": 3}}]}
    settings = SETTINGS + "rules: [{tool: pay, decision: ask}]\n"
    project = desk({"a": "tools: [pay]"}, {"a": [calls, "ok"]}, tools=[pay], settings=settings)
    await project.run("a.ai")
    await project.clock.advance(90)
    async with visit(project) as visitor:
        listed, page = await visitor.get("/runs"), await visitor.get("/runs/run-1")
        resumed = await visitor.post("/runs/run-1/resume")
        cancelled = await visitor.post("/runs/run-1/cancel")
        after = await visitor.get("/runs/run-1")

    assert "asks to call pay" in listed
    assert "1 m 30 s" in listed
    assert "Elapsed <b>1 m 30 s</b>" in page
    assert "k-wait waits" in page
    (asked,) = set(re.findall(r'href="(/inbox/ap_[^"]+)"', page))
    assert (resumed, cancelled) == ((303, asked), (303, "/runs/run-1"))
    assert "Cancelled" in after
    assert 'action="/runs/run-1/cancel"' not in after


@pytest.mark.parametrize(
    "path",
    ["/runs/none", "/runs/none/rows?first=1", "/runs/none/fork", "/runs/none/live", "/runs/run-1?op=400"],
)
async def test_what_there_is_not_is_not_found(desk, visit, path):
    project = desk({"a": ""}, {"a": ["one"]})
    await project.run("a.ai")
    async with visit(project) as visitor:
        assert "there is no" in await visitor.get(path, status=404)


async def test_every_kind_of_thing_that_happens_has_its_row_in_order_of_time(desk, visit):
    """D-30: plan created, step started and completed, tool call, handoff, decision, approval."""
    proposal = Proposal(
        topic="Which colour?", options=(Option("o1", "red"), Option("o2", "blue")), participants=()
    )
    happened = (
        (PlanCreated(Plan("p1", "a", "go", ())), "plan"),
        (StepStarted("p1", "s1"), "step s1"),
        (ToolStarted(1, 1, "files__read", {"path": "a"}, "pure", "read", "k", "allowed"), "files.read"),
        (ApprovalRequested("q1", 1, 2, "files__write", {}, "h", "low"), "approval · files.write"),
        (DecisionProposed("d1", proposal), "put to the vote"),
        (DecisionVoted("ada", "o1"), "vote · ada"),
        (HandoffRequested("chain", "a", "b"), "handoff → b"),
        (StepCompleted("p1", "s1", success=True), "step s1"),
    )
    project = desk({"a": ""}, {"a": ["one"]})
    async with visit(project) as visitor:
        graph = visitor.moot.moot.journal.keep(encode_graph(visitor.moot.graph))
        events = (
            RunStarted("a.ai", "go", graph, "seed"),
            SessionStarted("a.ai", "go"),
            *(e for e, _ in happened),
        )
        drafts = [
            Draft(f"2026-01-01T00:00:{second:02}.000Z", event, "run-1", "0", "a", "ws_1")
            for second, event in enumerate(events)
        ]
        await visitor.moot.moot.journal.append("run-1", NewRun("test", 0.0), drafts)
        page = await visitor.get("/runs/run-1")

    names = re.findall(r'class="who"[^>]*>([^<]+)<', page)
    assert names == ["a", *(name for _, name in happened)]
    lefts = [float(x) for x in re.findall(r'<svg class="lane"[^>]*><[^>]*? x1?="([0-9.]+)%"', page)]
    assert len(lefts) == len(names)
    assert lefts == sorted(lefts)


async def test_the_stage_that_failed_is_named_on_the_page_and_in_the_api(desk, visit):
    """A-44, O-15, K-125: also when it is the first of a chain."""
    project = desk(
        {"a": "handoff: b.ai", "b": ""}, {"a": [{"error": {"message": "gone", "retryable": False}}]}
    )
    await project.run("a.ai")
    async with visit(project) as visitor:
        pages = [await visitor.get(path) for path in ("/runs", "/runs/run-1", "/api/runs/run-1")]

    assert all("'a' failed (stage 1 of a -> b): no model answered" in page for page in pages)


async def test_a_team_within_a_team_stands_below_its_member_in_the_tree(desk, visit):
    """A-30, A-105, O-48, K-122: once for each cycle of the outer team."""
    project = desk(NESTED, NESTED_SAID, tools=[look])
    await project.run("board")
    async with visit(project) as visitor:
        page = await visitor.get("/runs/run-1")

    row = re.compile(
        r'class="op k-(?:team|session)"[^>]*aria-level="(\d)".*?class="who"[^>]*>([^<]+)<', re.DOTALL
    )
    tree = ["  " * int(level) + who for level, who in row.findall(page) if who != "broadcast"]
    inner = ["coder", "tester", "build", "coder", "tester", "build"]
    assert tree == [
        "  board",
        *("    build", *(f"      {who}" for who in inner)),
        *("    sales", "      clerk", "      prices"),
        "    board",
        *("    build", "      coder", "      build"),
        *("    sales", "    board"),
    ]
