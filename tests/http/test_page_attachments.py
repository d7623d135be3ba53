"""What goes with a request, and what a model thought, on the page of a run."""

import re

import aiohttp

from tests.browser.serving import serving
from tests.files import PHOTO, PNG
from tests.http.test_page_runs import Visitor


async def test_a_run_shows_what_was_attached_and_what_was_thought(desk):
    """Issue 8: names and sizes, nothing of it loaded by the page; thoughts are folded, and no part of the report."""
    project = desk({"a": ""}, {"a": [{"thought": "<b>Looks</b> like a parcel.", "report": "A parcel."}]})
    async with (
        project.open() as moot,
        serving(moot) as address,
        aiohttp.ClientSession() as session,
    ):
        result = await moot.run("a.ai", "What is it?", attachments=[PHOTO])
        visitor = Visitor(session, address)
        request = await visitor.get(f"/runs/{result.run_id}")
        model = max(int(seq) for seq in re.findall(r'id="op-(\d+)"', request))
        async with session.get(f"{address}/runs/{result.run_id}?op={model}") as answer:
            raw = await answer.text()
        (link,) = {*re.findall(r"/api/artifacts/[0-9a-f]{64}", request)}
        async with session.get(address + link) as kept:
            content = await kept.read()

    shown = f'attached <a class="link" href="{link}">photo.png</a> · image/png · {len(PNG)} bytes'
    assert shown in request
    assert shown in raw
    assert "<img" not in request + raw
    assert (
        "&lt;b&gt;Looks&lt;/b&gt; like a parcel."
        in re.findall(r"<details><summary>thought.*?</details>", raw, re.DOTALL)[0]
    )
    assert content == PNG
    assert result.final_report.content == "A parcel."
