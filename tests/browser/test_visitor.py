"""What the tests of the page rely on: a visitor notices whatever a guarded page must not do."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.browser.serving import listening
from tests.browser.visitor import visiting

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:"


@pytest.mark.parametrize(
    ("body", "policy", "scandal"),
    [
        ("<script>document.title = 'got in'</script>", POLICY, "against the policy: script-src-elem: inline"),
        ('<p style="color: red">', POLICY, "against the policy: style-src-attr: inline"),
        ('<img src="http://127.0.0.1:9/x">', POLICY, "against the policy: img-src: http://127.0.0.1:9/x"),
        ('<img src="http://127.0.0.1:9/x">', "", "asked another origin: http://127.0.0.1:9/x"),
        ("<script>alert('hello')</script>", "", "a dialog: hello"),
        ("<script>throw Error('no')</script>", "", "script: no"),
        ("<script>console.error('broken')</script>", "", "console: broken"),
        ('<link rel="stylesheet" href="/lost">', POLICY, "500 from {home}/lost"),
    ],
)
async def test_a_visitor_notices(browser, body, policy, scandal):
    async def page(_):
        return HTMLResponse(
            f"<!doctype html><title>x</title><link rel=icon href=data:,>{body}", headers=headers
        )

    headers = {"content-security-policy": policy} if policy else {}
    lost = Route("/lost", lambda _: Response(status_code=500))
    async with (
        listening(Starlette(routes=[Route("/", page), lost])) as home,
        visiting(browser, home) as visitor,
    ):
        await visitor.go("/")
        await visitor.page.evaluate("new Promise((done) => setTimeout(done))")

    assert scandal.format(home=home) in visitor.scandals
