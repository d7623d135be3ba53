"""Python functions as tools."""

import asyncio
import threading
from typing import Annotated, Literal

import msgspec
import pytest

from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.ports import Site
from folkmoot.tools.registry import tool

SITE = Site("run", "run", "0", 2, 1)


@tool(effect="keyed", access="write")
def refund(
    order: Annotated[int, msgspec.Meta(description="The order's number.")],
    speed: Literal["slow", "fast"] = "slow",
    *,
    idempotency_key: str,
) -> dict[str, object]:
    """Pay an order back."""
    return {"order": order, "speed": speed, "key": idempotency_key}


@tool
async def greet(name: str) -> str:
    """Say hello."""
    return f"hello {name}"


def test_a_tools_schema_comes_from_the_signature():
    spec = refund.spec("psp.refund")

    assert spec.name == "psp__refund"
    assert spec.description == "Pay an order back."
    assert (spec.effect, spec.access) == ("keyed", "write")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "order": {"type": "integer", "description": "The order's number."},
            "speed": {"enum": ["fast", "slow"], "default": "slow"},
        },
        "required": ["order"],
        "additionalProperties": False,
    }


def test_an_undeclared_effect_is_the_most_careful_one():
    assert (greet.effect, greet.access) == ("once", "exec")


async def test_a_sync_function_runs_and_its_value_becomes_json_with_the_key_of_the_call():
    result = await refund.call(ToolCall("1", "psp__refund", {"order": 7}), SITE)

    assert result == ToolResult('{"order":7,"speed":"slow","key":"run/0/turn:2/call:1"}')


async def test_an_async_function_runs_and_its_text_stays_text():
    assert await greet.call(ToolCall("1", "greet", {"name": "Ann"}), SITE) == ToolResult("hello Ann")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (ToolCall("1", "x", {"order": "seven"}), "Expected `int`, got `str` - at `$.order`"),
        (ToolCall("1", "x", {}), "missing required field `order`"),
        (ToolCall("1", "x", {"order": 1, "idempotency_key": "mine"}), "unknown field `idempotency_key`"),
        (ToolCall("1", "x", malformed="{oops"), "not a JSON object"),
    ],
)
async def test_wrong_arguments_are_told_to_the_model(call, reason):
    result = await refund.call(call, SITE)

    assert result.failed
    assert reason in result.text


def test_a_parameter_without_a_type_is_an_error_that_names_it():
    def vague(x):
        return x

    with pytest.raises(TypeError, match="parameter 'x' needs a type"):
        tool(vague)


def test_a_tool_is_still_a_function():
    assert refund(1, idempotency_key="k") == {"order": 1, "speed": "slow", "key": "k"}


async def test_what_a_sync_function_raises_is_raised_to_its_caller():
    def broken() -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await tool(broken).call(ToolCall("1", "broken"), SITE)


async def test_a_sync_function_that_hangs_keeps_no_process_alive():
    loop, begun, let_go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    threads = []

    def hang() -> str:
        threads.append(threading.current_thread())
        loop.call_soon_threadsafe(begun.set)
        let_go.wait()
        return "late"

    calling = asyncio.ensure_future(tool(hang).call(ToolCall("1", "hang"), SITE))
    await begun.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    let_go.set()
    threads[0].join()

    assert threads[0].daemon
