"""Which files hold scenarios, and the cases in them; whatever is wrong is reported at once, each at its place.

A file of scenarios has a name that ends in `.test.yaml`, so that no other YAML file of a project is taken for one.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from folkmoot.errors import DeclarationError, NotFound, WrongUse
from folkmoot.loader.document import ListNode, MapNode, Node, Scalar, compose, find, place_of
from folkmoot.loader.files import MOST_FOLDERS, NOT_SEARCHED, SETTINGS, read_text
from folkmoot.loader.findings import Findings, Location
from folkmoot.loader.walk import WRONG, definition, walk
from folkmoot.models.script import ModelScript, read_script, read_script_file
from folkmoot.scenarios.scenario import Case, Scenario, ScenarioFile


def read_cases(file: Path, findings: Findings) -> list[Case]:
    """The scenarios of a file, as far as they are sound."""
    shown = str(file)
    text = read_text(Path(), shown, findings)
    node = None if text is None else compose(text, Location(shown), findings)
    if node is None:
        return []
    said = walk(node, definition(ScenarioFile), "", findings)
    if not isinstance(node, MapNode):
        return []
    if said is WRONG:  # enough to look for what else is wrong
        named = find(node, ("agent",))
        said = ScenarioFile(scenarios=(), agent=named.text if isinstance(named, Scalar) else "")
    shared = Case(
        scenario=Scenario("", "", said.agent, tools=said.tools, allow=said.allow),
        file=file,
        project=find_project_folder(file),
        node=node,
        whole=node,
        script=_load_case_script(file, node, findings),
        live=said.live,
    )
    cases = [_build_case(shared, own, spelt, findings) for own, spelt in _parse_scenarios(node)]
    _check_names(cases, findings)
    return cases


def _parse_scenarios(node: Node) -> Iterator[tuple[Scenario, MapNode]]:
    """What is wrong in the others was said already."""
    listed = find(node, ("scenarios",))
    for spelt in listed.items if isinstance(listed, ListNode) else ():
        own = walk(spelt, definition(Scenario), "", Findings())
        if own is not WRONG:
            assert isinstance(spelt, MapNode)
            yield own, spelt


def _build_case(shared: Case, own: Scenario, spelt: MapNode, findings: Findings) -> Case:
    """A scenario with what its file says for all."""
    _check_scenario(own, spelt, findings)
    script = _merge_scripts(shared.script, _load_case_script(shared.file, spelt, findings))
    recorded = shared.file.parent / own.recorded if own.recorded else None
    if recorded and not recorded.is_file():
        findings.error(
            place_of(spelt, ("recorded",)), f"there is no file {own.recorded!r}; export a run to it"
        )
    said = shared.scenario
    tools, allow = {**said.tools, **own.tools}, (*own.allow, *said.allow)
    scenario = replace(own, agent=own.agent or said.agent, tools=tools, allow=allow)
    script = None if recorded else script
    return dataclasses.replace(shared, scenario=scenario, node=spelt, script=script, recorded=recorded)


def _load_case_script(file: Path, node: Node, findings: Findings) -> ModelScript | None:
    """What stands there as a script, or the script file that is named there."""
    found = find(node, ("script",))
    if found is None:
        return None
    if not (isinstance(found, Scalar) and isinstance(found.value, str)):
        return read_script(found, findings)
    try:
        return read_script_file(Path(), str(file.parent / found.value))
    except DeclarationError as error:
        for problem in error.problems:
            place = Location(problem.file, problem.line, problem.column)
            findings.error(place, problem.message, problem.code)
        return None


def _merge_scripts(shared: ModelScript | None, own: ModelScript | None) -> ModelScript | None:
    if shared is None or own is None:
        return own or shared
    return replace(own, agents={**shared.agents, **own.agents}, default=own.default or shared.default)


def _check_scenario(scenario: Scenario, node: MapNode, findings: Findings) -> None:
    """What the shapes alone cannot say."""
    if scenario.script is not None and scenario.recorded:
        findings.error(place_of(node, ("recorded",)), "`script` and `recorded` both answer; keep one")
    for number, word in enumerate(scenario.answers):
        if sum(map(bool, (word.approve, word.deny, word.answer))) != 1:
            message = "say one of `approve: TOOL`, `deny: TOOL` and `answer: TEXT`"
            findings.error(place_of(node, ("answers", number)), message)
    for key in ("report", "error"):
        text = getattr(scenario.expect, key)
        try:
            re.compile((text and text.matches) or "")
        except re.error as error:
            place = place_of(node, ("expect", key, "matches"))
            findings.error(place, f"{text.matches!r} is no regular expression: {error}")


def _check_names(cases: list[Case], findings: Findings) -> None:
    seen: dict[str, Location] = {}
    for case in cases:
        if before := seen.get(case.scenario.name):
            message = f"a scenario is called so already, in line {before.line}; give it another name"
            findings.error(case.place_of(("name",)), message)
        seen[case.scenario.name] = case.place


SUFFIX = ".test.yaml"


def scenario_files(paths: Iterable[Path]) -> list[Path]:
    """The named files, and all below the named folders. Raises `WrongUse` for what does not exist."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(_walk_scenario_files(path)))
        elif path.is_file():
            found[path] = None
        else:
            raise NotFound(
                f"there is no file or folder {str(path)!r}; name scenario files (*{SUFFIX}) or a folder",
                code="file_not_found",
            )
    return list(found)


def find_project_folder(file: Path) -> Path:
    """The nearest folder upwards with settings, otherwise the file's own."""
    folder = file.resolve().parent
    return next((each for each in (folder, *folder.parents) if (each / SETTINGS).is_file()), folder)


def _walk_scenario_files(folder: Path) -> Iterator[Path]:
    for count, (here, folders, files) in enumerate(os.walk(folder)):
        folders[:] = [name for name in folders if name[0] != "." and name not in NOT_SEARCHED]
        yield from (Path(here, name) for name in files if name.endswith(SUFFIX) and name[0] != ".")
        if count > MOST_FOLDERS:
            raise WrongUse(f"{folder} has more than {MOST_FOLDERS:,} folders; name a smaller one")
