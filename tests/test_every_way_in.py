"""The same answer whichever way somebody comes in: of every template of `folkmoot init`, of every example, and of
agents that report in every form. Each project has one server, which all but Python and the terminal go through."""

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import httpx
import mcp
import openai
import pytest
import yaml
from a2a.types import GetTaskRequest
from playwright.async_api import expect

from checks.files import ROOT
from folkmoot import Folkmoot, Surroundings
from folkmoot.cli.init import TEMPLATES
from folkmoot.http.pages.rendering import render_markdown
from folkmoot.protocols.mcp import ABOUT
from folkmoot.protocols.mcp_offers import RESUME
from folkmoot.views.inbox import whole_call
from tests.a2a_server.conftest import client_of, message, report, sent, state
from tests.browser.visitor import chromium, visiting
from tests.chat_apis.serving import PROGRAM, Server, called, environment, served, write
from tests.examples import copied, hasten

WAITS = 6
"""The exit code of a command whose run waits for somebody."""
GOAL = "Add a health check to the shop"
ENDS = ("run.completed", "run.failed", "run.cancelled")
FORMS = {
    "plain": "description: Reports text.",
    "letter": "output: {format: markdown}",
    "spaced": "output: {format: markdown}",
    "talker": "description: Says more than its report.",
    "worded": "description: Has no report but its words.",
    "rows": "output: {format: json, schema: {type: object, properties: {n: {type: integer}}}}",
    "listed": "output: {format: json, schema: {type: array}}",
    "claimer": "output: {claims: true}",
    "noted": "output: {format: markdown}",
    "router": "router: {destinations: [letter.ai]}",
    "chained": "advisors: [plain.ai]\nhandoff: letter.ai",
    "team": "team: {members: [member.ai], supervisor: letter.ai}",
    "member": "description: Speaks to its team.",
    "by-plan": "planningStrategy: plan_and_execute\noutput: {format: markdown}",
}
"""Frontmatter by id, of agents that report in every form."""
STEP = {"action_type": "SYNTHESIZE", "rationale": "r", "expected_outputs": ["o"], "stop_condition": "s"}
SAID: dict[str, Any] = {
    "plain": [{"report": "Plain words."}],
    "letter": [{"report": "# Dear customer\n\nit is **true**.\n"}],
    "spaced": [{"report": "\n  indented\n\n\n"}],
    "talker": [{"begins": "Let me ", "text": "see.", "calls": [{"tool": "no_such"}], "report": "It is so."}],
    "worded": [{"begins": "In my ", "text": "own words."}],
    "rows": [{"text": "Here:", "report": {"n": 3}}],
    "listed": [{"report": [1, {"two": "zwei €"}]}],
    "claimer": [{"report": "Nobody knows.", "claims": [{"text": "It is known."}]}],
    "noted": [{"report": "*Noted.*", "metadata": {"by": "me"}, "text": "Here it is."}],
    "router": [{"route": "letter"}],
    "chained": [{"report": "A draft."}],
    "member": [{"broadcast": {"message": "done", "final": True}}],
    "by-plan/planner": [{"report": {"steps": [STEP]}}],
    "by-plan/executor": [{"report": "As *planned*."}],
}


class Case(NamedTuple):
    agent: str
    request: str


class Told(NamedTuple):
    text: str
    approved: tuple[str, ...] = ()
    """The calls that a person approved before the answer came."""


@dataclass
class Project:
    cases: Sequence[Case]
    answers: Sequence[Told]
    """What Python gives in each case; everything else is held against it."""
    printed: Sequence[Told]
    """What the terminal gives."""
    server: Server
    http: httpx.Client
    openai: openai.OpenAI
    anthropic: anthropic.Anthropic

    def get(self, path: str) -> Any:
        return self.http.get(path).raise_for_status().json()

    def approve(self, run: str) -> tuple[str, ...]:
        """Everything that the run waits for; the calls that were approved, none if it waits for nothing."""
        waiting = self.waiting(run)
        for id in waiting:
            self.http.post(f"/api/approvals/{id}/approve", json={}).raise_for_status()
        return tuple(waiting.values())

    def waiting(self, run: str) -> dict[str, str]:
        """The calls that the run waits for, by id."""
        items = [self.get(f"/api/inbox/{id}") for id in self.get(f"/api/runs/{run}")["waiting"]]
        return {item["id"]: item["call"] for item in items}

    def ended(self, run: str, *also: str) -> dict[str, Any]:
        """The run when it has ended, or when one of these events has come."""
        with self.http.stream("GET", f"/api/runs/{run}/stream") as events:
            for line in events.iter_lines():
                if line.startswith("event: ") and line.removeprefix("event: ") in (*ENDS, *also):
                    break
        found: dict[str, Any] = self.get(f"/api/runs/{run}")
        return found


def by_python(folder: Path, case: Case) -> Told:
    async def run() -> Told:
        approved = []
        async with Folkmoot.open(folder, around=Surroundings(env=environment(folder))) as moot:
            result = await moot.run(case.agent, case.request)
            if result.status == "waiting":
                for item in await moot.inbox(result.run_id):
                    approved.append(whole_call(item))
                    await moot.reply(item.approve("a person"))
                result = await moot.resume(result.run_id)
            assert result.success, result.error
            return Told(result.final_report.content, tuple(approved))

    return asyncio.run(run())


def by_command(folder: Path, case: Case) -> Told:
    done = subprocess.run(
        [*PROGRAM, "run", case.agent, case.request, "--quiet"],
        cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != WAITS:
        assert done.returncode == 0, done.stderr
        return Told(done.stdout)
    (item,) = json.loads(called(folder, "approvals", "list", "--json"))
    return Told(called(folder, "approvals", "approve", item["id"], "--resume"), (item["call"],))


Ask = Callable[[Project, str, Any], tuple[str, str]]
"""Sends a conversation; the id of the answer, and its text."""


def in_a_chat(ask: Ask, project: Project, case: Case) -> Told:
    talk = [{"role": "user", "content": case.request}]
    id, text = ask(project, case.agent, talk)
    if approved := project.approve(re.split("[-_]", id, maxsplit=1)[1]):
        talk += [{"role": "assistant", "content": text}, {"role": "user", "content": "And now?"}]
        _, text = ask(project, case.agent, talk)
    return Told(text, approved)


def chat(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    said = project.openai.chat.completions.create(model=agent, messages=talk)
    return said.id, said.choices[0].message.content or ""


def chat_streamed(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    chunks = list(project.openai.chat.completions.create(model=agent, messages=talk, stream=True))
    return chunks[0].id, "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def responses(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    said = project.openai.responses.create(model=agent, input=talk)
    return said.id, said.output_text


def responses_streamed(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    events = list(project.openai.responses.create(model=agent, input=talk, stream=True))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text
    return events[-1].response.id, text


def messages(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    said = project.anthropic.messages.create(model=agent, max_tokens=1000, messages=talk)
    return said.id, "".join(block.text for block in said.content)


def messages_streamed(project: Project, agent: str, talk: Any) -> tuple[str, str]:
    with project.anthropic.messages.stream(model=agent, max_tokens=1000, messages=talk) as stream:
        text = "".join(stream.text_stream)
        return stream.get_final_message().id, text


def by_mcp(project: Project, case: Case) -> Told:
    async def call() -> Told:
        async with mcp.Client(f"{project.server.address}mcp") as client:
            result, approved = await client.call_tool(case.agent, {"request": case.request}), ()
            if result.is_error:
                run = (result.meta or {})[ABOUT]["runId"]
                approved = project.approve(run)
                assert approved, result
                result = await client.call_tool(RESUME, {"run": run})
            assert not result.is_error, result
            return Told(result.content[0].text, approved)

    return asyncio.run(call())


def by_a2a(project: Project, case: Case) -> Told:
    async def send() -> Told:
        async with client_of(f"{project.server.address}a2a/{case.agent}") as client:
            task, approved = await sent(client, message(case.request)), ()
            if state(task) == "auth_required":
                approved = project.approve(task.id)
                project.ended(task.id)
                task = await client.get_task(GetTaskRequest(id=task.id))
            assert state(task) == "completed", task
            return Told(report(task), approved)

    return asyncio.run(send())


def by_api(project: Project, case: Case) -> Told:
    asked = {"agent": case.agent, "request": case.request}
    answer = project.http.post("/api/runs", json=asked).raise_for_status()
    return _read(project, answer.json()["runId"])


def by_page(project: Project, case: Case) -> Told:
    """The form for starting a run leads to the page of the run."""
    agent = next(row["file"] for row in project.get("/api/agents") if row["id"] == case.agent)
    home = _sent(project, "/start", agent=agent, request=case.request)
    return _read(project, home.rpartition("/")[2])


def by_page_chat(project: Project, case: Case) -> Told:
    """The page shows the report as HTML: what its Markdown comes to, whatever the report's own format is."""
    home = _sent(project, "/chat", agent=case.agent, text=case.request)
    (run,) = re.findall(r'href="/runs/([^"]+)"', project.http.get(home).text)
    told = _read(project, run)
    assert render_markdown(told.text) in project.http.get(home).text
    return told


def _sent(project: Project, form: str, **fields: str) -> str:
    """Where a form of the page leads to."""
    home = project.server.address.rstrip("/")
    answer = project.http.post(form, data=fields, headers={"origin": home})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def _read(project: Project, run: str) -> Told:
    """What the API gives of a run that was only started."""
    found = project.ended(run, "run.parked")
    if approved := project.approve(run):
        found = project.ended(run)
    assert found["status"] == "completed", found
    return Told(found["finalReport"]["content"], approved)


CHATS = (chat, chat_streamed, responses, responses_streamed, messages, messages_streamed)
WAYS: Mapping[str, Callable[[Project, Case], Told]] = {
    **{ask.__name__: partial(in_a_chat, ask) for ask in CHATS},
    "mcp": by_mcp,
    "a2a": by_a2a,
    "api": by_api,
    "page": by_page,
    "page_chat": by_page_chat,
}
PROJECTS = [
    *TEMPLATES,
    *sorted({path.name for path in (ROOT / "examples").iterdir()} - {*TEMPLATES}),
    "forms",
]
"""A template is the example of its name, file by file (tests/cli/test_templates.py)."""


def made(name: str, folder: Path) -> list[Case]:
    """A project, and what it is asked: what its template says one may ask, and what its scenarios do."""
    if name == "forms":
        write(folder, FORMS, SAID)
        return [Case(agent, "What is it?") for agent in FORMS if agent != "member"]
    if name in TEMPLATES:
        called(folder, "init", "--template", name)
        cases = [Case(TEMPLATES[name].agent, TEMPLATES[name].request)]
    else:
        copied(name, folder)
        called(folder, "trust", "--yes")
        cases = []
    hasten(folder)
    for file in folder.glob("*.test.yaml"):
        held = yaml.safe_load(file.read_text())
        cases += [
            Case(each.get("agent", held.get("agent")), each["request"])
            for each in held["scenarios"]
            if "script" not in each
        ]
    return list(dict.fromkeys(Case(case.agent.removesuffix(".ai"), case.request) for case in cases))


@pytest.fixture(scope="module", params=PROJECTS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp(request.param)
    cases = made(request.param, folder)
    # Before the server is there: it might be quicker to go on with what is approved.
    answers = [by_python(folder, case) for case in cases]
    printed = [by_command(folder, case) for case in cases]
    with (
        served(folder) as server,
        httpx.Client(base_url=server.address, timeout=60) as http,
        openai.OpenAI(base_url=server.base, api_key="-", max_retries=0) as of_openai,
        anthropic.Anthropic(base_url=server.address, api_key="-", max_retries=0) as of_anthropic,
    ):
        yield Project(cases, answers, printed, server, http, of_openai, of_anthropic)


def test_the_terminal_prints_what_python_gives_and_ends_it_with_one_line_end(project: Project):
    for case, answer, printed in zip(project.cases, project.answers, project.printed, strict=True):
        assert printed == answer._replace(text=answer.text.removesuffix("\n") + "\n"), case


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_the_same_whichever_way_somebody_comes_in(project: Project, way: str):
    """K-31. Where a call needs approval, all wait for the same one, and give the same answer after it."""
    for case, answer in zip(project.cases, project.answers, strict=True):
        assert WAYS[way](project, case) == answer, case


@pytest.mark.parametrize("project", ["desk"], indirect=True)
def test_a_browser_shows_the_same_answer(project: Project):
    """K-31: whether a run was started by the form for that, or by writing to the agent."""
    (case, *_), (answer, *_) = project.cases, project.answers

    async def browse() -> tuple[str, str]:
        async with chromium() as browser, visiting(browser, project.server.address.rstrip("/")) as visitor:
            page = visitor.page
            await visitor.go("/start")
            await page.locator(f'input[value="{case.agent}.ai"]').check()
            await page.get_by_role("textbox", name="Request").fill(case.request)
            await page.get_by_role("button", name="Start").click()
            await expect(page.locator(".head .state").first).to_contain_text("completed", ignore_case=True)
            run = re.search(r"/runs/([^/?#]+)", page.url)
            await visitor.go("/chat?new=1")
            await page.locator("select[name=agent]").select_option(case.agent)
            await page.locator(".composer textarea").fill(case.request)
            await page.get_by_role("button", name="Send").click()
            await expect(page.locator(".turns header").last).to_contain_text("completed")
            shown = await page.locator(".turns .prose").inner_html()
            assert visitor.scandals == []
            return run[1] if run else "", shown

    run, shown = asyncio.run(browse())
    assert _read(project, run) == answer
    assert shown == str(render_markdown(answer.text)).replace("<br />", "<br>")


@pytest.mark.parametrize("project", ["collaboration"], indirect=True)
def test_a_team_ends_with_the_same_summary_whichever_way_it_is_given_its_goal(
    project: Project, tmp_path: Path
):
    """Chat, MCP and A2A clients reach its agents one by one."""
    made("collaboration", tmp_path)
    printed = called(tmp_path, "collaborate", GOAL, "--quiet")
    by_api = project.http.post("/api/collaborations", json={"goal": GOAL}).raise_for_status().json()["id"]
    by_form = _sent(project, "/work-sessions", goal=GOAL).rpartition("/")[2]

    for id in (by_api, by_form):
        wanted = {"run": id, "type": "work_session.completed", "after": 0}
        with project.http.stream("GET", "/api/stream", params=wanted) as events:
            assert any(line.startswith("event: ") for line in events.iter_lines())
        summary = project.get(f"/api/collaborations/{id}")["summary"]
        assert summary.removesuffix("\n") + "\n" == printed
