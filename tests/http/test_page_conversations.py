"""Conversations are threads of what main agents wrote to each other, with a category that people may set."""

from tests.http.page import browsing
from tests.orchestration.messages import ANN, calls, have, write

FILES = {"ann": ANN, "bob": "tools: [messages]", "cid": "", "dan": "agents: [cid.ai]"}
LAW = "[Goal] Refund order 48213\nThe customer waits; what does the law say?"
SCRIPT = {
    "ann": [calls(write("bob", LAW)), calls(have("cid", "count the secret beans")), "done"],
    "bob": ["**Fourteen** days."],
    "cid": ["seven beans"],
}


async def thread(page):
    await page.house.moot.run("ann.ai", "I want my money back")
    [row] = await page.house.folds.threads()
    return row


async def test_a_thread_shows_its_turns_and_says_in_one_line_what_it_is_about(desk):
    """E-77, E-78, E-83, E-84."""
    async with browsing(desk(FILES, SCRIPT)) as page:
        row = await thread(page)

        shown = await page.get(f"/conversations/{row.id}")

        assert "<h1>Refund order 48213</h1>" in shown.html
        assert "ann, bob · 2026-01-01 00:00 UTC · just now" in shown.words
        turns = shown.between('id="turns"', "</section>")
        assert turns.index("The customer waits") < turns.index("Fourteen days.")
        assert "<strong>Fourteen</strong>" in shown.html


async def test_what_agents_have_others_do_is_never_rendered_there(desk):
    """E-6, E-7, X-E1: a run with both kinds; the other one stands in the work session."""
    async with browsing(desk(FILES, SCRIPT)) as page:
        row = await thread(page)

        for address in ("/conversations", f"/conversations/{row.id}", "/conversations?q=beans"):
            shown = await page.get(address)
            assert "secret beans" not in shown.html
            assert "seven beans" not in shown.html
        assert "cid" in (await page.get(f"/work-sessions/{row.work_session}")).words


async def test_the_list_is_narrowed_by_category_and_by_words_in_the_address(desk):
    """E-10, E-11: ten categories with labels; an unknown one is refused."""
    async with browsing(desk(FILES, SCRIPT)) as page:
        row = await thread(page)
        assert row.about.category == "customer_community"
        assert "refund" in row.about.sub_tags

        fits = await page.get("/conversations?category=customer_community")
        assert "customer/community 1" in fits.words
        assert f"/conversations/{row.id}?category=customer_community" in fits.html
        other = await page.get("/conversations?category=legal_compliance")
        assert f"/conversations/{row.id}" not in other.html
        assert f"/conversations/{row.id}" in (await page.get("/conversations?q=FOURTEEN")).html
        assert f"/conversations/{row.id}" not in (await page.get("/conversations?q=nobody")).html
        refused = await page.get("/conversations?category=cooking")
        assert refused.status == 400
        assert "there is no category" in refused.html


async def test_a_person_sets_the_category_for_good(desk):
    """E-12: manual, over a reclassification and a restart."""
    at = desk(FILES, SCRIPT)
    async with browsing(at) as page:
        row = await thread(page)
        assert "set by rule" in (await page.get(f"/conversations/{row.id}")).words

        sent = await page.send(f"/conversations/{row.id}/category", category="legal_compliance", by="eve")
        assert (sent.status, sent.location) == (303, f"/conversations/{row.id}")
        wrong = await page.send(f"/conversations/{row.id}/category", category="cooking")
        assert wrong.status == 404
        assert "there is no category" in wrong.words

    async with browsing(at) as page:
        shown = await page.get(f"/conversations/{row.id}")
        assert "set by hand" in shown.words
        [row] = await page.house.folds.threads()
        assert (row.about.category, row.about.category_source) == ("legal_compliance", "manual")


async def test_markdown_of_agents_does_nothing_by_itself(desk):
    """DESIGN 8: no HTML, no image, and a link shows where it leads."""
    evil = "<script>x()</script> ![i](http://evil.example/i.png) [bank](http://evil.example/) [j](javascript:x())"
    script = {"ann": [calls(write("bob", evil)), "done"], "bob": ["no"]}
    async with browsing(desk(FILES, script)) as page:
        row = await thread(page)
        shown = await page.get(f"/conversations/{row.id}")

        turns = shown.html.partition('id="turns"')[2]
        assert "<script" not in turns
        assert "<img" not in turns
        assert "javascript:" not in turns.replace("[j](javascript:x())", "")
        assert 'href="http://evil.example/" rel="noopener noreferrer nofollow"' in turns
        assert "bank http://evil.example/" in shown.words
