"""A tool for tests that look at what happens around it."""

import asyncio
import inspect

from folkmoot import tool


def fake(signature, gives="done", *, effect="pure", access="read", does=None, calls=None, **more):
    """A tool such as `pay(to)` or `pay(to): Pay somebody.` that gives `paid {to}`, or raises what it is to give.

    It adds the first argument of every call to its `calls`, sets `reached`, and waits for what it `does`.
    """
    signature, _, doc = signature.partition(": ")
    name, _, taken = signature.rstrip(")").partition("(")
    parameters = taken.split(", ") if taken else []

    async def function(**given):
        made.calls.append(next(iter(given.values()), None))
        made.reached.set()
        if does:
            await does()
        if isinstance(gives, Exception):
            raise gives
        return gives.format(**given) if given else gives

    function.__name__ = name
    function.__doc__ = doc or f"{name.capitalize()}."
    function.__annotations__ = dict.fromkeys(parameters, str)
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    made = tool(effect=effect, access=access, **more)(function)
    made.calls, made.reached = [] if calls is None else calls, asyncio.Event()
    return made
