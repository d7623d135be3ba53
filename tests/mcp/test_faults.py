"""A tool server that dies, hangs, floods or babbles: the call says so, and nothing else is touched."""

import asyncio

import pytest

from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed
from tests.http.doors import until
from tests.mcp.conftest import marked, use

QUICK = 4.0
"""Seconds: a call that hangs takes so long, and a server must have started by then."""


def cancelled(shop) -> int:
    """How many calls the server was told to cancel."""
    return sum("notifications/cancelled" in line for line in shop.noted("heard"))


async def test_a_server_that_dies_before_the_handshake_is_named_with_its_last_words(shop):
    shop.echo("dies at once")

    with pytest.raises(ServerFailed) as raised:
        await shop.servers.ready(["rogue.echo"])

    said = str(raised.value)
    assert raised.value.exit_code == 3
    assert said.startswith("the tool server 'rogue' did not start: ")
    for part in ("exit code 1", "I have no licence", "rogue.py 'dies at once'", "run this command by hand"):
        assert part in said


async def test_a_program_that_does_not_exist_is_named_with_the_remedy(shop):
    shop.tools(ToolSource("mcp", command=("no-such-server",)))

    with pytest.raises(
        ServerFailed, match=r"No such file or directory \(no-such-server\); install it, or correct"
    ):
        await shop.servers.ready(["rogue.echo"])


async def test_a_server_that_hangs_at_its_start_is_given_up_and_ended(shop):
    shop.echo("hangs at once", timeout=QUICK)

    with pytest.raises(ServerFailed, match=r"did not start: it did not answer within 4 s \("):
        await shop.servers.ready(["rogue.echo"])
    assert not marked(shop.owner)


async def test_a_server_that_dies_in_mid_call_is_told_to_the_model_and_started_anew_for_the_next(shop):
    echo = shop.echo()

    lost = await use(echo, do="die", text="one")
    again = await use(echo, text="two")

    assert lost.failed
    assert "the tool server 'rogue' was lost" in lost.text
    assert "exit code 7" in lost.text
    assert "Whether the call had an effect is not known" in lost.text
    assert again.text == "two"
    assert shop.noted("effects") == ["one", "two"]  # what it did before it died was not done again
    assert len(shop.noted("started")) == 2


async def test_a_server_that_is_lost_three_times_in_a_row_is_left_alone(shop):
    echo = shop.echo()

    for _ in range(3):
        await use(echo, do="die")
    refused = await use(echo, text="hello?")

    assert refused.failed
    assert "lost 3 times in a row and is left alone for 30 s" in refused.text
    assert len(shop.noted("started")) == 3


async def test_a_call_that_hangs_ends_at_its_time_limit_and_the_next_one_gets_a_new_server(shop):
    echo = shop.echo(timeout=QUICK)

    hung = await use(echo, do="hang")
    again = await use(echo, text="well")

    assert hung.failed
    assert "it did not answer within 4 s" in hung.text
    assert again.text == "well"


async def test_a_call_without_an_answer_is_cancelled_at_the_server(shop):
    echo = shop.echo(timeout=QUICK)

    await use(echo, do="say nothing")
    await shop.servers.close()

    assert cancelled(shop) == 1


async def test_a_call_whose_caller_is_cancelled_is_cancelled_at_the_server_and_others_go_on(shop):
    echo = shop.echo()
    call = asyncio.create_task(use(echo, do="say nothing", text="first"))
    other = await use(echo, text="second")  # the server takes them one after the other

    call.cancel()
    await asyncio.wait({call})
    third = await use(echo, text="third")

    assert call.cancelled()
    assert cancelled(shop) == 1
    assert (other.text, third.text) == ("second", "third")
    assert len(shop.noted("started")) == 1


async def test_a_line_of_100_mb_ends_the_server_and_nothing_else(shop):
    echo = shop.echo()

    flooded = await use(echo, do="flood")
    again = await use(echo, text="dry")

    assert flooded.failed
    assert "it wrote a line of more than 16,000,000 bytes" in flooded.text
    assert again.text == "dry"


async def test_noise_on_stdout_is_passed_over(shop):
    assert (await use(shop.echo("noise"), text="still heard")).text == "still heard"


async def test_a_server_that_only_babbles_is_given_up(shop):
    shop.echo("nothing but noise")

    with pytest.raises(ServerFailed, match="it wrote 10,000 lines that are no messages"):
        await shop.servers.ready(["rogue.echo"])


async def test_an_answer_that_is_no_json_is_as_none_and_said_so(shop):
    wrong = await use(shop.echo(timeout=QUICK), do="break off")

    assert wrong.failed
    assert "it writes to stdout what is no message" in wrong.text


async def test_an_answer_that_is_no_result_is_refused(shop):
    wrong = await use(shop.echo(), do="answer wrongly")

    assert wrong.failed
    assert wrong.text.startswith("the server 'rogue' answered wrongly")


async def test_a_second_answer_to_the_same_call_is_for_nobody(shop):
    echo = shop.echo()

    first = await use(echo, do="answer twice")
    second = await use(echo, text="own")

    assert (first.text, second.text) == ("first", "own")


async def test_progress_keeps_a_call_alive_beyond_its_time_limit(shop):
    echo = shop.echo(timeout=QUICK)  # it takes 5 s, with a sign of life every half

    assert (await use(echo, do="go on")).text == "at last"


async def test_a_dying_server_takes_no_other_with_it(shop):
    dying, living = shop.echo("a", name="dying"), shop.echo("b", name="living")

    lost, fine = await asyncio.gather(use(dying, do="die"), use(living, text="fine"))

    assert lost.failed
    assert "'dying'" in lost.text
    assert fine.text == "fine"


@pytest.mark.parametrize("how", ["", "die", "hang"])
async def test_what_a_server_started_goes_with_it_however_it_ends_and_wherever_it_went(shop, how):
    """B-14"""
    echo = shop.echo("grandchild", "stubborn", timeout=QUICK)
    await shop.servers.ready(["rogue.echo"])
    await until(lambda: len(marked(shop.owner)) == 3)  # a process that has just begun has no environment yet

    await use(echo, do=how)
    await shop.servers.close()

    assert not marked(shop.owner)
