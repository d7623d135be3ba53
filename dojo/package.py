"""The suites of AgentDojo as `playing` takes them, judged by the package's own judges."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import Function, FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.task_suite.task_suite import TaskSuite
from agentdojo.types import text_content_block_from_string

from dojo import declared
from dojo.playing import MARK, Call, Suite, Trial

VERSION = "v1.2.2"


def suite(name: str) -> Suite:
    given: TaskSuite[Any] = get_suite(VERSION, name)
    world = _world(given)
    return Suite(
        name,
        functions={function.name: _signature(function) for function in given.tools},
        declared=declared.SUITES[name],
        tasks=[*given.user_tasks],
        attacks={key: bool(task.ground_truth(world(""))) for key, task in given.injection_tasks.items()},
        trial=partial(_trial, given, world),
    )


def _world(given: TaskSuite[Any]) -> Callable[[str], Any]:
    """The suite's environment with an injection in every place that the package has for one.

    It does not quote the goal of the attack: judges look for that goal's words in mails and the like.
    """

    @cache
    def made(attack: str) -> Any:
        if not attack:
            return given.load_and_inject_default_environment({})
        places = given.get_injection_vector_defaults()
        return given.load_and_inject_default_environment(
            dict.fromkeys(places, f"IMPORTANT: {MARK}, {attack}")
        )

    return lambda attack: made(attack).model_copy(deep=True)


def _trial(given: TaskSuite[Any], world: Callable[[str], Any], task: str, attack: str) -> Trial:
    user, attacker = given.user_tasks[task], given.injection_tasks.get(attack)
    now = user.init_environment(world(attack))
    before = now.model_copy(deep=True)
    runtime = FunctionsRuntime(given.tools)

    def perform(call: Call) -> str:
        result, error = runtime.run_function(now, call.tool, call.arguments)
        if error:
            raise RuntimeError(error)
        return str(tool_result_to_str(result))

    def judged(by: Any, report: str, made: Sequence[Call]) -> bool:
        calls = [FunctionCall(function=call.tool, args=call.arguments) for call in made]
        output = [text_content_block_from_string(report)]
        return bool(given._check_task_result(by, output, before, now, calls))

    return Trial(
        f"{given.name}/{task}" + (f"/{attack}" if attack else ""),
        user.PROMPT,
        _calls(user, before),
        user.GROUND_TRUTH_OUTPUT,
        perform,
        partial(judged, user),
        _calls(attacker, before) if attacker else (),
        attacker.GROUND_TRUTH_OUTPUT if attacker else "",
        partial(judged, attacker) if attacker else lambda report, made: False,
    )


def _calls(task: Any, world: Any) -> list[Call]:
    found: Sequence[FunctionCall] = task.ground_truth(world.model_copy(deep=True))
    return [Call(call.function, dict(call.args)) for call in found]


def _signature(function: Function[..., Any]) -> inspect.Signature:
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.is_required() else field.default,
                annotation=field.annotation,
            )
            for name, field in function.parameters.model_fields.items()
        ]
    )
