"""Screenshots of every screen, light and dark, for the documentation: `python -m tests.browser.screenshots`."""

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Browser

from checks.files import ROOT
from folkmoot import Folkmoot
from folkmoot.ports import Filter
from tests.browser.example import lived_in
from tests.browser.serving import serving
from tests.browser.visitor import chromium, visiting

FOLDER = ROOT / "docs" / "screens"
WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}}
PHONES = ("runs", "inbox", "events")


async def screens(moot: Folkmoot) -> dict[str, str]:
    """The address that shows each screen best."""
    runs = await moot.runs()
    waits = [item for item in await moot.inbox() if item.is_open and item.kind == "approval"]
    decided = [each.id for each in (await moot.moot.decisions.all()).values() if each.status == "committed"]
    talks = await moot.find(Filter(role="conversation.main", limit=1))
    failed = await moot.find(Filter(types=("tool.failed",), limit=1))
    return {
        "runs": "/runs",
        "run": f"/runs/{runs[0].run_id}",
        "conversations": f"/conversations/{talks[0].draft.conversation_id}",
        "tasks": "/tasks",
        "inbox": f"/inbox/{waits[0].id}",
        "decisions": f"/decisions/{decided[0]}",
        "team": "/team",
        "graph": "/graph?agent=billing.ai",
        "costs": "/costs",
        "events": f"/events?at={failed[0].seq}",
        "start": "/start",
    }


async def take(browser: Browser, home: str, name: str, address: str) -> None:
    """Nothing where the screen is not there."""
    looks = [("light", WIDE), ("dark", WIDE), *([("phone", PHONE)] if name in PHONES else [])]
    for look, size in looks:
        scheme = "dark" if look == "dark" else "light"
        async with visiting(browser, home, color_scheme=scheme, **size) as visitor:
            answer = await visitor.page.goto(home + address)
            if answer is None or answer.status != 200:
                print(f"{name}: {answer and answer.status}")
                return
            await visitor.page.wait_for_timeout(300)
            await visitor.page.screenshot(path=FOLDER / f"{name}-{look}.png", animations="disabled")


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with lived_in(Path(folder, "shop")) as moot, serving(moot) as home, chromium() as browser:
            for name, address in (await screens(moot)).items():
                await take(browser, home, name, address)


if __name__ == "__main__":
    asyncio.run(main())
