"""Somebody who looks at the page in a real browser, and notes everything that must never happen there."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Dialog, Page, Request, Response, async_playwright, expect

CHROMIUM = shutil.which("chromium")
"""Of the system."""
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 60_000
"""Milliseconds, for what comes or does not: a busy machine takes its time."""
expect.set_options(timeout=PATIENCE)
REFUSALS = ("Failed to load resource: the server responded with a status of", "Response Status Error Code ")
"""What a browser and htmx say of them."""
LISTEN = (
    "addEventListener('securitypolicyviolation', (e) => violated(`${e.violatedDirective}: ${e.blockedURI}`))"
)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM or "chromium", args=QUIET, timeout=PATIENCE
        )
        yield browser
        await browser.close()


class Visitor:
    """`page` is Playwright's; `scandals` is what was seen that a guarded page must not do."""

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        self.home = home
        self.scandals: list[str] = []
        self.expected: set[int] = set()
        """Statuses of refusals that a test provokes."""

    async def go(self, path: str) -> None:
        await self.page.goto(self.home + path)

    async def texts(self, selector: str) -> list[str]:
        """With spaces as they are shown; of a drawing too."""
        return [" ".join(text.split()) for text in await self.page.locator(selector).all_text_contents()]

    def request(self, request: Request) -> None:
        if not request.url.startswith(self.home + "/"):
            self.scandals.append(f"asked another origin: {request.url}")

    def response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.scandals.append(f"{response.status} from {response.url}")

    def console(self, message: Any) -> None:
        refusal = message.text.startswith(REFUSALS)
        if message.type in ("error", "warning") and not refusal:  # `response` looks at refusals
            self.scandals.append(f"console: {message.text}")

    async def dialog(self, dialog: Dialog) -> None:
        self.scandals.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()


@asynccontextmanager
async def visiting(browser: Browser, home: str, **look: Any) -> AsyncIterator[Visitor]:
    """`look` is Playwright's: `viewport`, `color_scheme`, `java_script_enabled`, …"""
    context = await browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **look})
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    visitor = Visitor(page, home)
    await context.expose_function(
        "violated", lambda what: visitor.scandals.append(f"against the policy: {what}")
    )
    await context.add_init_script(LISTEN)
    page.on("request", visitor.request)
    page.on("response", visitor.response)
    page.on("console", visitor.console)
    page.on("dialog", visitor.dialog)
    page.on("pageerror", lambda error: visitor.scandals.append(f"script: {error}"))
    page.on("popup", lambda popup: visitor.scandals.append(f"a window of its own: {popup.url}"))
    try:
        yield visitor
    finally:
        await context.close()
