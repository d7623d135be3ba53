"""`folkmoot test`: the scenarios beside the agents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.call import AsJson, get_global_options, resolve_links, run_async
from folkmoot.cli.output import counted, redact_and_escape, write, write_json, write_stderr
from folkmoot.errors import WrongUse
from folkmoot.scenarios.playing import ScenarioOptions
from folkmoot.scenarios.reading import SUFFIX, scenario_files
from folkmoot.scenarios.recording import write_script
from folkmoot.scenarios.scenario import Case
from folkmoot.scenarios.suite import Suite, load_suite
from folkmoot.scenarios.verdict import Verdict, describe_failures, describe_verdict, render_junit


def play_scenarios(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Scenario files, or folders with some; absent: the project."),
    ] = None,
    only: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only those with TEXT in file or name.")
    ] = "",
    as_list: Annotated[bool, typer.Option("--list", help="Only say which there are.")] = False,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            envvar="FOLKMOOT_TEST_MODEL",
            help="Let this real model answer for every agent, not the scripts; such as openai/gpt-5-mini.",
        ),
    ] = "",
    record: Annotated[
        bool,
        typer.Option("--record", help="Ask the real models once, and write their answers down as scripts."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --record: replace scripts without asking.")
    ] = False,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit's XML to FILE too.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """A scenario says which agent is asked what, what the models answer, and what is expected: the route, the
    agents, the tool calls, the report, the cost. Each is played in memory, several at once; the journal of the
    project is not touched. Tools that only read are called; every other needs a result under `tools`, or `allow`.

    The exit code is 0 if all passed, 1 if one failed, 2 for wrong use, 4 if a file is wrong.

    \b
    Examples:
      folkmoot test
      folkmoot test desks -k refund
      folkmoot test --list
      folkmoot test --junit report.xml
      folkmoot test live.test.yaml --model ollama/qwen3
      folkmoot test front-desk.test.yaml -k "charged twice" --record
    """

    call = get_global_options(context)
    overrides = {**call.overrides, **({"models": model} if model else {})}
    wishes = ScenarioOptions(overrides=overrides, live=bool(model) or record)
    suite = _select_suite(paths or [call.folder], only, wishes)
    if as_list:
        _write_list(suite.cases, as_json=as_json)
        return 0
    with redirect_stdout(sys.stderr):  # what tools print is no verdict
        verdicts = (
            record_all(suite, wishes, write_verdict_line, yes=yes)
            if record
            else run_async(suite.play(wishes, write_verdict_line))
        )
    if junit_file:
        _write_junit(junit_file, verdicts)
    if as_json:
        write_json({"scenarios": verdicts})
    else:
        _write_verdicts(verdicts)
    return 1 if any(verdict.status == "failed" for verdict in verdicts) else 0


def _select_suite(paths: Sequence[Path], only: str, wishes: ScenarioOptions) -> Suite:

    here = Path.cwd()
    near = [
        resolve_links(path).relative_to(here) if resolve_links(path).is_relative_to(here) else path
        for path in paths
    ]
    files = scenario_files(near)
    if not files:
        where = ", ".join(map(str, paths))
        raise WrongUse(
            f"there are no scenarios in {where}; write one into a file named like an agent: desk{SUFFIX}"
        )
    suite = run_async(load_suite(files, wishes))
    cases = [
        case for case in suite.cases if only.casefold() in f"{case.shown} {case.scenario.name}".casefold()
    ]
    if not cases:
        raise WrongUse(f"no scenario has {only!r} in its file or name; `folkmoot test --list` shows all")
    return Suite(cases, suite.projects)


def _write_list(cases: Sequence[Case], *, as_json: bool) -> None:

    if as_json:
        write_json(
            [
                {
                    "file": case.shown,
                    "line": case.place.line,
                    "name": case.scenario.name,
                    "live": case.needs_model,
                }
                for case in cases
            ]
        )
        return
    for case in cases:
        write(f"{case.shown}:{case.place.line} {case.scenario.name}{' (live)' if case.needs_model else ''}")


def write_verdict_line(verdict: Verdict) -> None:
    """On stderr, as they end."""

    write_stderr(
        describe_verdict(verdict),
        {"passed": "green", "failed": "bold red", "skipped": "yellow"}[verdict.status],
    )


def _write_verdicts(verdicts: Sequence[Verdict]) -> None:

    for verdict in verdicts:
        if verdict.failures:
            write(describe_verdict(verdict), "bold red")
            for line in describe_failures(verdict):
                write(line)
    numbers = {status: sum(each.status == status for each in verdicts) for status in ("failed", "skipped")}
    rest = "".join(f", {number} {status}" for status, number in numbers.items() if number)
    passed = sum(verdict.status == "passed" for verdict in verdicts)
    write(
        f"{counted(len(verdicts), 'scenario')}: {passed} passed{rest}",
        "red" if numbers["failed"] else "green",
    )


def _write_junit(file: Path, verdicts: Sequence[Verdict]) -> None:

    try:
        file.write_text(redact_and_escape(render_junit(verdicts)), encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"cannot write {str(file)!r}: {error.strerror}") from None


def record_all(
    suite: Suite, wishes: ScenarioOptions, tell: Callable[[Verdict], None], *, yes: bool
) -> list[Verdict]:
    """From the last to the first, so that the places of the others stay true; each is written when it is paid for."""

    for case in suite.cases:
        if case.recorded:
            raise WrongUse(
                f"{case.shown}:{case.place.line}: it answers from {case.recorded}; take `recorded` out"
            )
        _confirm_replacement(case, yes=yes)
    verdicts = []
    for case in reversed(suite.cases):
        verdict, script = run_async(suite.record(case, wishes))
        tell(verdict)
        write_script(case, script)
        write_stderr(f"wrote the answers into {case.shown}")
        verdicts.append(verdict)
    return verdicts[::-1]


def _confirm_replacement(case: Case, *, yes: bool) -> None:
    from folkmoot.cli.trust import is_interactive

    if yes or case.scenario.script is None:
        return
    what = f"{case.shown}:{case.place.line}: {case.scenario.name!r} has a script already"
    if not is_interactive():
        raise WrongUse(f"{what}; replace it with --record --yes")
    write_stderr(f"{what}. Replace it? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise WrongUse("nothing was recorded")
