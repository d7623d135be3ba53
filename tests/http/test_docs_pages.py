"""The documentation in a served project."""

import json
import re

import pytest

from folkmoot.http.problems import problem_response
from folkmoot.site.pages import load_documentation
from tests.http.page import browsing


@pytest.fixture
async def page(desk):
    async with browsing(desk({"clerk": "description: A clerk."}, {})) as opened:
        yield opened


async def test_every_page_is_served_and_leads_to_the_next(page):
    address = "/docs"
    for id, *_ in load_documentation().entries:
        shown = await page.get(address)
        address = re.search(r'<a rel="next" href="([^"]+)"', shown.html)[1]
        assert (shown.status, address) == (200, f"/docs/{id}")

    last = await page.get(address)
    assert 'rel="next"' not in last.html
    assert f'<a rel="prev" href="/docs/{load_documentation().entries[-2][0]}">' in last.html
    assert 'rel="prev"' not in (await page.get(f"/docs/{load_documentation().entries[0][0]}")).html


async def test_a_search_needs_no_script(page):
    found = await page.get("/docs?q=budget+exceeded")
    nothing = await page.get("/docs?q=%3Cscript%3Ezzyzx")

    assert 'href="/docs/running#budgets"' in found.html
    assert "Nothing has all of “<script>zzyzx”" in nothing.words
    assert "<script>zzyzx" not in nothing.html


@pytest.mark.parametrize(
    "path", ["nowhere", "trust/x", "../pyproject.toml", "screens/../README.md", "screens"]
)
async def test_a_wrong_address_is_a_page_with_the_contents(page, path):
    shown = await page.get(f"/docs/{path}")

    assert shown.status == 404
    assert "There is no such page" in shown.words
    assert 'href="/docs/quickstart"' in shown.html


async def test_pictures_are_served(page):
    shown = await page.get("/docs/page")
    linked = set(re.findall(r'href="/docs/(screens/[^"]+)"', shown.html))

    assert linked
    assert linked <= load_documentation().pictures
    assert (await page.head(f"/docs/{sorted(linked)[0]}")).type == "image/png"


async def test_the_page_and_the_documentation_lead_to_each_other(page):
    assert 'href="/docs"' in (await page.get("/runs")).html
    assert 'href="/docs"' in (await page.get("/more")).html
    assert 'href="/"' in (await page.get("/docs")).html


async def test_a_problem_has_the_page_that_explains_it_as_its_type(page):
    shown = await page.get("/api/agents/nobody")
    refused = json.loads(problem_response(421, "another name").body)

    assert json.loads(shown.html)["type"] == "/docs/troubleshooting#there-is-no-such-agent"
    assert refused["type"] == "/docs/serving#what-is-guarded"
    assert "type" not in json.loads(problem_response(404, "nothing").body)
