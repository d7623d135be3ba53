"""Templates become pages: everything is escaped, and nothing is inline. Forms of pages, and what goes wrong there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from folkmoot.domain.category import LABELS
from folkmoot.domain.duration import moment
from folkmoot.domain.message import visible
from folkmoot.engine.claims import draw_id_seed
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.http.problems import CHAT, HttpError, ProblemDetails, as_bad_request, status_of
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.operations.actor import account_name, by_account, by_name
from folkmoot.operations.operation import OperationType, fields_of, read_operation
from folkmoot.views.figures import age, clock_time, counted, length, money, spent, tokens

SCREENS = (
    ("runs", "runs", "Runs", True),
    ("inbox", "inbox", "Inbox", True),
    ("conversations", "talks", "Conversations", True),
    ("tasks", "tasks", "Tasks", True),
    ("work-sessions", "plan", "Work sessions", False),
    ("chat", "k-advisor", "Chat", False),
    ("decisions", "decide", "Decisions", False),
    ("graph", "graph", "Graph", False),
    ("team", "team", "Team", False),
    ("costs", "cost", "Costs", False),
    ("events", "events", "Events", False),
)
"""Address, icon and words of each screen of the rail, and whether it is a tab on a phone."""
Show = Callable[[Request], Awaitable[Response]]
Handle = Callable[[Request, Exception], Awaitable[Response]]


class _SafeMarkdownRenderer(RendererHTML):
    """Markdown of agents as HTML that does nothing by itself: links show where they lead; images are named and never
    loaded."""

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        tokens[at].attrSet("rel", "noopener noreferrer nofollow")
        tokens[at].attrSet("class", "link")
        return self.renderToken(tokens, at, options, env)

    def link_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        opened = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
        address = str(opened.attrGet("href") or "")
        shown = "".join(token.content for token in tokens[tokens.index(opened) : at])
        aside = "" if shown == address else f" <span class='quiet mono'>{escape(address)}</span>"
        return f"</a>{aside}"

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        return f"<span class='quiet'>[image: {escape(token.content)} {escape(str(token.attrGet('src') or ''))}]</span>"


@cache
def _markdown_parser() -> MarkdownIt:
    return MarkdownIt(
        "commonmark", {"html": False, "breaks": True}, renderer_cls=_SafeMarkdownRenderer
    ).enable("table")


def render_markdown(text: str) -> Markup:
    return Markup(_markdown_parser().render(text))


@cache
def template_environment() -> Environment:
    folder = Path(__file__).parent.parent / "templates"
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"SCREENS": SCREENS, "LABELS": LABELS}
    made.filters |= {"age": age, "at": clock_time, "markdown": render_markdown, "visible": _escape_hidden}
    made.filters |= {
        "length_of": length,
        "counted": counted,
        "money": money,
        "tokens": tokens,
        "json": _to_json,
    }
    made.filters["spent"] = lambda times: spent(*times)
    return made


def _escape_hidden(text: str) -> str:
    """Line by line, with every character that could hide something spelled out."""
    return "\n".join(map(visible, text.split("\n")))


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def render_fragment(template: str, **values: Any) -> str:
    return template_environment().get_template(template).render(**values)


def render_page(request: Request, template: str, **values: Any) -> HTMLResponse:
    """A whole page in the frame; its template says the title, and the screen that is marked in the rail. What became of
    a form in it is shown."""
    moot = get_server_state(request).moot
    agents = sorted(agent.id for agent in moot.graph.agents.values())
    common = {
        "project": moot.folder.resolve().name,
        "an_agent": agents[0] if agents else "hello",
        "now": moot.moot.clock.now(),
        "form": getattr(request.state, "form", PageForm()),
        "problem": getattr(request.state, "problem", ""),
    }
    return HTMLResponse(render_fragment(template, **common | values))


def read_number(request: Request, name: str) -> int:
    """A whole number in the address; 0 if it is not there. Raises `Refused`."""
    given = request.query_params.get(name) or "0"
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise HttpError(400, f"{name} must be a whole number, not {given[:80]!r}")
    return int(given)


def read_moment(request: Request, name: str) -> str:
    """A moment in the address, in UTC; empty if it is not there. Raises `Refused`."""
    with as_bad_request():
        return moment(request.query_params.get(name, ""), get_server_state(request).clock.now())


def form_route(path: str, perform: Callable[[Request, PageForm], Awaitable[str]], show: Show) -> Route:
    """A form: `perform` gives the address where to look on; what it refuses is shown on its page."""

    async def post(request: Request) -> Response:
        form = request.state.form = await read_form(request)

        async def again(problem: str) -> Response:
            request.state.problem = problem
            return await show(request)

        return await perform_and_redirect(perform(request, form), again)

    return Route(path, post, methods=["POST"])


def with_error_pages(handle: Handle) -> Handle:
    """What goes wrong with a page is told on a page; programs get problem details."""

    async def handled(request: Request, error: Exception) -> Response:
        answer = await handle(request, error)
        is_page = not request.url.path.startswith(("/api/", CHAT))
        if not is_page or "text/html" not in request.headers.get("accept", ""):
            return answer
        problem = msgspec.json.decode(answer.body, type=ProblemDetails)
        shown = render_page(request, "problem.html", problem=problem)
        shown.status_code = answer.status_code
        return shown

    return handled


MOST_FIELDS = 50


class PageForm(dict[str, str]):
    """What somebody filled in; a field that was not there is empty."""

    def __missing__(self, field: str) -> str:
        return ""


async def read_form(request: Request) -> PageForm:
    """Of a field that comes twice the last counts."""
    try:
        written = (await request.body()).decode()
        pairs = parse_qsl(written, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise HttpError(400, f"the form cannot be read: {error}") from error
    return PageForm((name, value.replace("\r\n", "\n").strip()) for name, value in pairs)


async def perform_and_redirect(deed: Awaitable[str], again: Callable[[str], Awaitable[Response]]) -> Response:
    """Do it and lead to the address that it gives; or show the page again, with what was wrong and what to do."""
    try:
        return RedirectResponse(await deed, status_code=303)
    except FolkmootError as error:
        response = await again(str(error))
        response.status_code = status_of(error)
        return response


def author_name(form: PageForm) -> str:
    """Who is recorded to have said it: by the name they give, else whoever runs this server."""
    return form["by"] or account_name()


def find_form(name: str, operations: Iterable[OperationType]) -> OperationType:
    for operation in operations:
        if operation.form and operation.command == name:
            return operation
    raise WrongUse(f"there is no form {name!r}; use one of the buttons")


async def perform_form(operation: OperationType, house: ServerState, form: PageForm, **given: Any) -> Any:
    """What comes of a form that somebody sent."""
    wanted = read_operation(operation, {**_parse_fields(operation, form), **given})
    graph = house.moot.graph
    actor = (
        by_name(form["by"], graph, "page", draw_id_seed())
        if form["by"]
        else by_account("page", draw_id_seed())
    )
    return await wanted.run(house.project, actor)


def _parse_fields(operation: OperationType, form: PageForm) -> dict[str, Any]:
    """Fields that are left empty are not given; several things stand in lines, or names between blanks."""
    found: dict[str, Any] = {}
    for field in fields_of(operation):
        if not (text := form[field.json_name]):
            continue
        if field.is_list:
            apart = text.replace(",", " ").split() if field.spelling.metavar else text.split("\n")
            found[field.name] = [each for line in apart if (each := line.strip())]
        else:
            found[field.name] = True if field.is_flag else text
    return found
