"""Tools in Python files of a project: what they import, what their functions take, and what `check` says of both."""

import py_compile
import sys

import pytest

from tests.cli.conftest import SETTINGS, ended

TOOL = '@tool(effect="pure", access="read")\n'


def write(folkmoot, files, calls=({"tool": "t.look"},), module="tools/t.py"):
    """A project whose agent makes these calls and reports, with the Python files trusted."""
    script = {"a": [{"calls": list(calls)}, {"report": "fine"}]}
    folkmoot.write(
        {"a": "tools: [t]"}, script, SETTINGS + f"tools: {{t: {{kind: python, module: {module}}}}}\n"
    )
    for path, text in files.items():
        file = folkmoot.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert folkmoot("trust", "--yes").code == 0


def results(folkmoot):
    """What the model was told of each call."""
    done = folkmoot("run", "a", "hi", "--json")
    assert done.code == 0, done.err
    return [said["text"] for said in done.json["conversation"] if said["role"] == "tool"]


def looking(imports, value):
    return (
        f'from folkmoot import tool\n{imports}\n{TOOL}def look() -> str:\n    "Look."\n    return {value}\n'
    )


@pytest.mark.parametrize(
    "imports",
    [
        "import helper",
        "from tools import helper",
        "import tools.helper as helper",
        "from . import helper",
        "from .helper import *\nfrom .. import tools\nhelper = tools.helper",
        "from lib.deep import helper",
    ],
)
@pytest.mark.parametrize("package", [False, True])
def test_a_tool_file_imports_other_files_of_its_project_in_every_usual_way(folkmoot, imports, package):
    """K-40: `check` imports what is trusted too, and nothing of it stays in the module path."""
    files = {
        "tools/helper.py": "import shared\nWHO = shared.NAME\n",
        "shared.py": "NAME = 'Ann'\n",
        "lib/deep/helper.py": "from .near import WHO\n",
        "lib/deep/near.py": "import shared\nWHO = shared.NAME\n",
    }
    if package:
        files |= {"tools/__init__.py": "", "lib/__init__.py": "", "lib/deep/__init__.py": ""}
    write(folkmoot, files | {"tools/t.py": looking(imports, "helper.WHO")})
    path = [*sys.path]

    assert folkmoot("check").code == 0
    assert results(folkmoot) == ["Ann"]
    assert sys.path == path
    assert not {"helper", "shared", "tools", "lib"} & sys.modules.keys()


def test_two_projects_in_one_process_have_their_own_modules_of_one_name(folkmoot, monkeypatch):
    """K-40: also those that a function imports only when it is called, and after a file has changed."""
    lazy = looking("", "helper.WHO").replace("return", "import helper\n    return")
    for name in ("one", "two"):
        folkmoot.folder = folkmoot.folder.parent / name
        folkmoot.folder.mkdir()
        monkeypatch.chdir(folkmoot.folder)
        write(folkmoot, {"tools/t.py": lazy, "tools/helper.py": f"WHO = {name!r}\n"})
        folkmoot("trust", "--not-mine")
        folkmoot("trust", "--yes")
        assert results(folkmoot) == [name]
    (folkmoot.folder / "tools/helper.py").write_text("WHO = 'new'\n")
    assert folkmoot("run", "a", "hi").code == 4
    folkmoot("trust", "--yes")
    assert results(folkmoot) == ["new"]


def test_a_file_named_like_the_package_that_it_imports_gets_that_package(folkmoot):
    """K-40: a project's `json.py` and `msgspec.py` hide nothing from themselves or the standard library's users."""
    files = {
        "tools/json.py": "NAME = 'not the standard one'\n",
        "tools/msgspec.py": looking("import json, msgspec", "json.dumps(msgspec.json.decode('[1]'))"),
    }
    write(folkmoot, files, module="tools/msgspec.py")

    assert results(folkmoot) == ["[1]"]


@pytest.mark.parametrize(
    ("files", "place", "reason"),
    [
        ({"t.py": "import nowhere\n"}, "t.py:1:1", "No module named 'nowhere'; put it beside this file"),
        ({"t.py": "\nimport u\n", "u.py": "\n\nimport nope\n"}, "u.py:3:1", "No module named 'nope'"),
        ({"t.py": "from . import nope\n"}, "t.py:1:1", "cannot import name 'nope' from"),
        ({"t.py": "import u\n", "u.py": "x = (\n"}, "u.py:1:1", "SyntaxError"),
        ({"t.py": "import sys\nsys.exit(0)\n"}, "t.py:2:1", "SystemExit"),
        ({"t.py": "x = 1\n"}, "t.py:1:1", "makes no tools"),
        (
            {"t.py": "import importlib\nimportlib.import_module('.u', __package__)\n", "u.py": ""},
            "t.py:2:1",
            "no import statement names it",
        ),
    ],
)
def test_a_module_that_cannot_be_imported_is_found_before_anything_runs(folkmoot, files, place, reason):
    """K-40: by `check`, `doctor` and `run` alike, with the place and the reason."""
    write(folkmoot, files, module="t.py")

    for command in (["check"], ["doctor"], ["run", "a", "hi"]):
        done = folkmoot(*command)
        assert done.code in (1, 4)
        assert place in done.out + done.err
        assert reason in done.out + done.err
        assert "broke" not in done.err
    assert not (folkmoot.folder / ".folkmoot").exists()


def test_what_is_not_trusted_is_not_imported_by_check_and_it_says_so(folkmoot):
    """K-40, K-5: a file that a trusted module imports asks again when it changes; a wrong syntax is seen anyway."""
    write(folkmoot, {"t.py": looking("import u", "u.X"), "u.py": "X = 'x'\n"}, module="t.py")
    folkmoot("trust", "--not-mine")
    folkmoot("trust", "--yes")
    assert folkmoot("check").err == "1 agent, no problems, no warnings\n"
    (folkmoot.folder / "u.py").write_text("open('was here', 'w')\nX = 'x'\n")

    done = folkmoot("check")

    assert done.code == 0
    assert "t.py:1:1: warning: not imported, because it is not trusted" in done.out
    assert not (folkmoot.folder / "was here").exists()
    assert "run the Python module t.py, which imports u.py" in folkmoot("run", "a", "hi").err
    (folkmoot.folder / "t.py").write_text("x = (\n")
    assert "t.py:1:1: this Python module cannot be loaded: SyntaxError" in folkmoot("check").out


def test_a_compiled_copy_that_a_project_brings_is_not_run(folkmoot):
    """K-5: trust goes by what stands in the file."""
    source = looking("", "'as written'")
    write(folkmoot, {"t.py": source.replace("as written", "smuggled")}, module="t.py")
    file = folkmoot.folder / "t.py"
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    file.write_text(source)
    folkmoot("trust", "--yes")

    assert results(folkmoot) == ["as written"]


def test_a_wrong_tool_name_of_a_trusted_module_is_a_problem(folkmoot):
    write(folkmoot, {"t.py": looking("", "'x'")}, module="t.py")
    (folkmoot.folder / "a.ai").write_text("---\ntools: [t.lok]\n---\nYou are a.\n")

    done = folkmoot("check")

    assert done.code == 4
    assert "a.ai:1:1: t.py makes no tool 't.lok'; it makes t.look" in done.out


TYPES = """
from __future__ import annotations
import dataclasses, datetime, decimal, enum, pathlib, sys, uuid
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union
import msgspec
from folkmoot import tool
class Size(enum.Enum):
    S = "s"
@dataclasses.dataclass
class Item:
    name: str
    size: Size = Size.S
    where: pathlib.Path = dataclasses.field(default_factory=lambda: pathlib.Path("shelf"))
@dataclasses.dataclass
class Shelf:
    where: pathlib.Path = pathlib.Path("shelf")
class Order(msgspec.Struct):
    items: list[Item]
    when: datetime.date | None = None
class Note(TypedDict):
    text: str
class Point(NamedTuple):
    x: int
"""
FIT = [
    ("x: Item", {"name": "pen"}, "Item(name='pen', size=<Size.S: 's'>, where=PosixPath('shelf'))"),
    ("x: Order", {"items": [{"name": "pen"}], "when": "2026-01-02"}, "when=datetime.date(2026, 1, 2)"),
    ("x: Note", {"text": "hi"}, "{'text': 'hi'}"),
    ("x: Point", [1], "Point(x=1)"),
    ("x: Size", "s", "<Size.S: 's'>"),
    ("x: Literal['a', 1]", 1, "1"),
    ("x: Optional[Item] = None", None, "None"),
    ("x: Union[int, list[str]]", ["a"], "['a']"),
    ("x: dict[str, list[Item]]", {"k": [{"name": "pen"}]}, "{'k': [Item("),
    ("x: datetime.datetime", "2026-01-02T03:04:05Z", "datetime.datetime(2026, 1, 2, 3, 4, 5"),
    ("x: datetime.timedelta", "PT5M", "datetime.timedelta(seconds=300)"),
    ("x: decimal.Decimal", "1.50", "Decimal('1.50')"),
    ("x: uuid.UUID", "12345678-1234-5678-1234-567812345678", "UUID('12345678-"),
    ("x: pathlib.Path", "a/b", "PosixPath('a/b')"),
    ("x: list[pathlib.Path] = [pathlib.Path('d')]", ..., "[PosixPath('d')]"),
    ("x: bytes", "aGk=", "b'hi'"),
    ("x: Annotated[int, msgspec.Meta(ge=1)]", 2, "2"),
    ("x: NewType('Id', int)", 2, "2"),
    ("x: Any", {"a": 1}, "{'a': 1}"),
    ("x: Item = Item('mine')", ..., "Item(name='mine'"),
    ("x: Order = Order([])", ..., "Order(items=[]"),
    ("x: dict[str, int] = {'a': 1}", ..., "{'a': 1}"),
    ("x: set[int] = {1}", ..., "{1}"),
    ("x: 'Later'", {"y": 1}, "Later(y=1)"),
]
PYDANTIC = """
import pydantic
class Line(pydantic.BaseModel):
    model_config = {"strict": True}
    name: str
    due: datetime.date = datetime.date(2026, 1, 2)
    inner: list["Line"] = []
class Card(pydantic.BaseModel):
    number: int
@pydantic.dataclasses.dataclass
class Checked:
    n: int = pydantic.Field(gt=0)
class Even(pydantic.BaseModel):
    n: int
    @pydantic.field_validator("n")
    def even(cls, n: int) -> int:
        raise ValueError("not even")
class Plain:
    pass
@dataclasses.dataclass
class Outer:
    line: Line
"""
WITH_PYDANTIC = [
    ("x: Line", {"name": "pen", "due": "2026-05-06", "inner": [{"name": "cap"}]}, "inner=[Line(name='cap'"),
    ("x: Line | None = None", None, "None"),
    ("x: Line | Card", {"number": 1}, "Card(number=1)"),
    ("x: dict[str, list[Line]]", {"k": [{"name": "pen"}]}, "{'k': [Line("),
    ("x: Line = Line(name='mine')", ..., "name='mine'"),
    ("x: Checked", {"n": 1}, "Checked(n=1)"),
    ("x: Outer", {"line": {"name": "pen"}}, "Outer(line=Line("),
    ("x: Annotated[int, pydantic.Field(gt=1)]", 2, "2"),
]


def typed(signatures, head=TYPES):
    functions = "".join(
        f'{TOOL}def f{number}({signature}) -> str:\n    "Show it."\n    return repr(x)\n'
        for number, signature in enumerate(signatures)
    )
    return head + functions + "@dataclasses.dataclass\nclass Later:\n    y: int\n"


@pytest.mark.parametrize(
    ("head", "cases"),
    [(TYPES, FIT), (TYPES + PYDANTIC, FIT + WITH_PYDANTIC)],
    ids=["plain", "pydantic"],
)
def test_a_tool_takes_every_usual_type_as_an_object_of_it(folkmoot, head, cases):
    """K-41: with the schema offered, and a default left as it is."""
    calls = [
        {"tool": f"t.f{n}", "arguments": {} if value is ... else {"x": value}}
        for n, (_, value, _) in enumerate(cases)
    ]
    write(folkmoot, {"t.py": typed([each[0] for each in cases], head)}, calls, "t.py")
    (folkmoot.folder / "a.ai").write_text("---\ntools: [t]\nmaxToolCallsPerTurn: 50\n---\nYou are a.\n")

    assert folkmoot("check").err == "1 agent, no problems, no warnings\n"
    told = results(folkmoot)
    assert len(told) == len(cases)
    for text, (signature, _, expected) in zip(told, cases, strict=True):
        assert expected in text, signature


def test_an_argument_that_does_not_fit_is_told_to_the_model_with_the_reason(folkmoot):
    """K-41: whoever checks it, and whatever the type's own code raises."""
    own = "@dataclasses.dataclass\nclass Odd:\n    n: int\n    def __post_init__(self):\n        raise KeyError('odd')\n"
    signatures = [
        "x: Line",
        "x: Even",
        "x: Item",
        "x: Annotated[int, pydantic.Field(gt=1)]",
        "x: Odd",
        "x: pathlib.Path",
    ]
    values = [
        {"name": "pen", "inner": [{"name": 7}]},
        {"n": 3},
        {"name": "pen", "size": "xl"},
        1,
        {"n": 1},
        5,
    ]
    calls = [{"tool": f"t.f{n}", "arguments": {"x": value}} for n, value in enumerate(values)]
    write(folkmoot, {"t.py": typed(signatures, TYPES + PYDANTIC + own)}, calls, "t.py")

    told = " | ".join(results(folkmoot))

    assert "$.x.inner[0].name: 7 is not of type 'string'" in told
    assert "Value error, not even - at `$.x.n`" in told
    assert "$.x.size: 'xl' is not one of ['s']" in told
    assert "$.x: 1 is less than or equal to the minimum of 1" in told
    assert "odd" in told
    assert "$.x: 5 is not of type 'string'" in told


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("x", "parameter 'x' needs a type"),
        ("*x: int", "named parameters only, not *x"),
        ("**x: int", "named parameters only, not **x"),
        ("x: int, /", "named parameters only, not x"),
        ("x: object", "parameter 'x' cannot be of the type object: it is not made from JSON"),
        ("x: list[complex]", "parameter 'x' cannot be of the type list[complex]"),
        ("x: Item | Order", "Type unions may not contain more than one dict-like type"),
        ("x: datetime.date | str", "more than one str-like type"),
        ("x: Shelf", "has a default that is no JSON (PosixPath); write it as a default_factory"),
        ("x: Missing", "name 'Missing' is not defined"),
        ("x: int = pydantic.Field(gt=1)", "write Annotated"),
        ("x: Line | Plain", "parameter 'x' cannot be described"),
    ],
)
def test_a_type_that_cannot_be_given_is_refused_by_check_with_its_place_and_the_remedy(
    folkmoot, signature, reason
):
    """K-41: never a breakdown when it runs."""
    source = typed([signature], TYPES + PYDANTIC)
    write(folkmoot, {"t.py": source}, module="t.py")
    line = source[: source.index(TOOL)].count("\n") + 1

    for command in ("check", "doctor"):
        done = folkmoot(command)
        assert done.code in (1, 4)
        assert f"t.py:{line}:1: this Python module cannot be loaded: UnfitTool: f0: " in done.out
        assert reason in done.out
    assert "broke" not in folkmoot("run", "a", "hi").err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("None", "null"),
        ("Item('pen')", '{"name":"pen","size":"s","where":"shelf"}'),
        ("[Line(name='pen')]", '[{"name":"pen","due":"2026-01-02","inner":[]}]'),
        ("b'hi'", '"aGk="'),
        ("{(1, 2): 3}", '{"(1, 2)":3}'),
        ("2**80", str(2**80)),
        ("'\\ud800'", "\ufffd"),
        ("complex(1, 2)", '"(1+2j)"'),
        ("later()", "waited"),
    ],
)
def test_whatever_a_tool_returns_reaches_the_model(folkmoot, value, text):
    """K-41: the call was made, so its result is never lost."""
    head = TYPES + PYDANTIC + 'async def later():\n    return "waited"\n'
    body = f'{TOOL}def look() -> Any:\n    "Look."\n    return {value}\n'
    write(folkmoot, {"t.py": head + body}, module="t.py")

    assert results(folkmoot) == [text]


def test_pydantic_is_not_imported_for_a_tool_that_does_not_use_it(folkmoot):
    """K-41: it is no part of the core. A process of its own: here others have imported it."""
    source = typed(["x: Item = Item('mine')"]).replace(
        "return", 'assert "pydantic" not in sys.modules; return'
    )
    write(folkmoot, {"t.py": source}, [{"tool": "t.f0"}], "t.py")

    done = ended(folkmoot.started("run", "a", "hi", "--json"))

    assert "Item(name='mine'" in done.json["conversation"][2]["text"]
