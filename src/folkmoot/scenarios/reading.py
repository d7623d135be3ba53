"""From a file of scenarios to cases; whatever is wrong in it is reported at once, each at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from folkmoot.errors import DeclarationError
from folkmoot.loader.compose import compose
from folkmoot.loader.files import read_text
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.nodes import ListNode, MapNode, Node, Scalar, data, find, place_of
from folkmoot.loader.nodes import Path as Keys
from folkmoot.loader.plain import WRONG
from folkmoot.loader.walk import definition, walk
from folkmoot.models.script import Path as Steps
from folkmoot.models.script import Script, read_script
from folkmoot.models.script_file import read_script_file
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.files import project_of
from folkmoot.scenarios.scenario import Scenario, ScenarioFile


def read_cases(file: Path, findings: Findings) -> list[Case]:
    """The scenarios of a file, as far as they are sound."""
    shown = str(file)
    text = read_text(Path(), shown, findings)
    node = None if text is None else compose(text, Place(shown), findings)
    if node is None:
        return []
    said = walk(node, definition(ScenarioFile), "", findings)
    shared = _script(file, node, ("script",), findings)
    if said is WRONG:
        for number, _ in enumerate(_items(node)):
            _script(file, node, ("scenarios", number, "script"), findings)
        return []
    cases = [_case(file, node, said, number, shared, findings) for number in range(len(said.scenarios))]
    _check_names(cases, findings)
    return cases


def _items(node: Node) -> tuple[Node, ...]:
    listed = find(node, ("scenarios",))
    return listed.items if isinstance(listed, ListNode) else ()


def _case(
    file: Path, node: Node, said: ScenarioFile, number: int, shared: Script | None, findings: Findings
) -> Case:
    own = said.scenarios[number]
    keys: Keys = ("scenarios", number)
    spelt = find(node, keys)
    assert isinstance(spelt, MapNode)
    _check(own, spelt, findings)
    script = _merged(shared, _script(file, node, (*keys, "script"), findings))
    recorded = file.parent / own.recorded if own.recorded else None
    if recorded and not recorded.is_file():
        findings.error(
            place_of(spelt, ("recorded",)), f"there is no file {own.recorded!r}; export a run to it"
        )
    return Case(
        scenario=replace(
            own,
            agent=own.agent or said.agent,
            tools={**said.tools, **own.tools},
            allow=(*said.allow, *own.allow),
        ),
        file=file,
        project=project_of(file),
        node=spelt,
        script=None if recorded else script,
        recorded=recorded,
        live=said.live,
    )


def _script(file: Path, node: Node, keys: Keys, findings: Findings) -> Script | None:
    """What stands there as a script, or the script file that is named there."""
    found = find(node, keys)
    if found is None:
        return None
    try:
        if isinstance(found, Scalar) and isinstance(found.value, str):
            return read_script_file(file.parent / found.value, str(file.parent / found.value))
        return read_script(data(found), file=found.place.file, places=dict(_places(found, ())))
    except DeclarationError as error:
        for problem in error.problems:
            findings.error(Place(problem.file, problem.line, problem.column), problem.message)
        return None


def _places(node: Node, path: Steps) -> Iterator[tuple[Steps, tuple[int, int]]]:
    """As a script wants them: a key stands where it is written, and items are counted from 1."""
    yield path, node.place[1:]
    match node:
        case MapNode(entries=entries):
            for key, value in entries:
                yield from _places(value, (*path, key.text))
                yield (*path, key.text), key.place[1:]
        case ListNode(items=items):
            for number, item in enumerate(items, start=1):
                yield from _places(item, (*path, number))


def _merged(shared: Script | None, own: Script | None) -> Script | None:
    if shared is None or own is None:
        return own or shared
    return replace(own, agents={**shared.agents, **own.agents}, default=own.default or shared.default)


def _check(scenario: Scenario, node: MapNode, findings: Findings) -> None:
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
    seen: dict[str, Place] = {}
    for case in cases:
        if before := seen.get(case.scenario.name):
            message = f"a scenario is called so already, in line {before.line}; give it another name"
            findings.error(case.place_of(("name",)), message)
        seen[case.scenario.name] = case.place
