"""Python files of a project as modules: found by one rule, listed before they are trusted, imported apart from others.

An absolute import in a project's file finds modules in the folder of that file and in each folder above it, up to the
project's. The standard library goes first, so does an installed package before a folder that is itself a package. The
modules belong to a package with a name of its own, so that two projects in one process share none, and nothing is put
into `sys.path`.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import itertools
import sys
import traceback
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from folkmoot.domain.settings import ToolSource
from folkmoot.errors import DeclarationError, Problem
from folkmoot.tools.registry import PACKAGE, FunctionTool, without_own_name

Parts = tuple[str, ...]
"""A module by its path from the project's folder: `tools/psp.py` is `("tools", "psp")`."""
_numbers = itertools.count(1)


def imported_files(folder: Path, module: str) -> list[str]:
    """Every other file of the project that a tool module imports, directly or not, by its path in the project.

    Found by reading, nothing is run: a file that is imported in another way than by an `import` statement is not
    listed, and is refused when it is imported.
    """
    return [file for file in _Files(folder).closure(module) if file != Path(module).as_posix()]


def load_modules(
    folder: Path, sources: Mapping[str, ToolSource], owner: object
) -> dict[str, list[FunctionTool]]:
    """Run trusted Python files; their tools by the name of the source. Raises `DeclarationError` with all problems.

    The modules stay in `sys.modules` until the owner is gone.
    """
    files = {name: source.module for name, source in sources.items() if source.module}
    if not files:
        return {}
    modules, loaded = ProjectModules(folder, owner), {}
    problems: list[Problem] = []
    for name, file in files.items():
        try:
            loaded[name] = modules.load(file)
        except DeclarationError as error:
            problems += error.problems
    if problems:
        raise DeclarationError(problems)
    return loaded


def syntax_problem(folder: Path, module: str) -> Problem | None:
    """What can be known to be wrong with a Python file without running it."""
    try:
        ast.parse((folder / module).read_bytes())
    except SyntaxError as error:
        return Problem(file=module, line=error.lineno or 1, message=_unloadable(error))
    except (OSError, ValueError, RecursionError) as error:
        return Problem(file=module, message=_unloadable(error))
    return None


class _Files:
    """Finds the files of a project that are meant by import statements."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def closure(self, module: str) -> list[str]:
        """A module, the packages it lies in, and all that they import, by their paths in the project."""
        found: dict[Path, None] = {}
        open_files = list(self._executed(self.parts(self.folder / module)))
        while open_files:
            file = open_files.pop()
            if file not in found:
                found[file] = None
                open_files += [each for parts in self._wanted(file) for each in self._executed(parts)]
        return sorted(file.relative_to(self.folder).as_posix() for file in found)

    def parts(self, file: Path) -> Parts:
        """Of a file or a folder."""
        place = file.relative_to(self.folder)
        return (place.parent if place.name == "__init__.py" else place.with_suffix("")).parts

    def find(self, parts: Parts) -> Path | None:
        """The file of a module or package, or the folder of a package without a file."""
        place = self.folder.joinpath(*parts)
        for file in (place / "__init__.py", place.parent / f"{place.name}.py"):
            if file.is_file():
                return file if file.resolve().is_relative_to(self.folder) else None
        return place if place.is_dir() else None

    def root(self, importer: Path, name: str) -> Path | None:
        """The folder of the project in which an absolute import finds this name; None if it means no file of it."""
        head = name.partition(".")[0]
        if head in sys.stdlib_module_names or not importer.is_relative_to(self.folder):
            return None
        above = [each for each in importer.parents if each.is_relative_to(self.folder)]
        loose = [each for each in above if each == self.folder or not (each / "__init__.py").is_file()]
        for root in loose:
            file = root / f"{head}.py"
            if (file.is_file() and file != importer) or any((root / head).glob("*.py")):
                return root
        if _is_installed(head):
            return None
        there = (root for root in above if self.find((*root.relative_to(self.folder).parts, head)))
        return next((root for root in there if root / f"{head}.py" != importer), None)

    def _executed(self, parts: Parts) -> Iterator[Path]:
        """Importing a module runs the packages above it too."""
        for end in range(1, len(parts) + 1):
            file = self.find(parts[:end])
            if file and file.is_file():
                yield file

    def _wanted(self, file: Path) -> Iterator[Parts]:
        """What a file's import statements may mean, of which some are names inside of modules."""
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return  # it cannot be imported either
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if root := self.root(file, alias.name):
                        yield (*root.relative_to(self.folder).parts, *alias.name.split("."))
            elif isinstance(node, ast.ImportFrom) and (base := self._base(file, node)) is not None:
                yield base
                for alias in node.names:
                    yield (*base, alias.name)
                    if alias.name == "*":
                        yield from (self.parts(each) for each in self.folder.joinpath(*base).glob("*.py"))

    def _base(self, file: Path, node: ast.ImportFrom) -> Parts | None:
        inner = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            above = [each for each in file.parents if each.is_relative_to(self.folder)]
            root = above[node.level - 1] if node.level <= len(above) else None
        else:
            root = self.root(file, node.module or "")
        return (*root.relative_to(self.folder).parts, *inner) if root else None


class ProjectModules(MetaPathFinder):
    """The Python files of one opened project as modules. They are forgotten together with their owner."""

    def __init__(self, folder: Path, owner: object) -> None:
        self._name = f"{PACKAGE}{next(_numbers)}"
        self._files = _Files(folder)
        self._listed: set[str] = set()
        """What may be imported: the files that whoever trusts the tool modules is shown."""
        self._builtins = {**vars(builtins), "__import__": self._import}
        sys.meta_path.insert(0, self)  # before the one that knows folders and no projects
        weakref.finalize(owner, self.forget).atexit = False

    def load(self, module: str) -> list[FunctionTool]:
        """Run a trusted Python file and collect the tools that it makes. Raises `DeclarationError`."""
        if not module.endswith(".py"):
            message = "a Python module is a file that ends in .py"
            raise DeclarationError([Problem(file=module, message=message)])
        self._listed |= {*self._files.closure(module)}
        try:
            with redirect_stdout(sys.stderr):  # what a module prints is no output of a command
                loaded = importlib.import_module(self._full(self._files.parts(self._files.folder / module)))
                tools = [value for value in vars(loaded).values() if isinstance(value, FunctionTool)]
                for each in tools:
                    each.prepare()
        except (Exception, SystemExit) as error:
            raise DeclarationError([self._problem(module, error)]) from error
        if not tools:
            message = "this Python module makes no tools; put @tool from folkmoot on its functions"
            raise DeclarationError([Problem(file=module, message=message)])
        return tools

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self._name:
            return None
        parts = tuple(part.replace(":", ".") for part in fullname.split(".")[1:])
        file = self._files.find(parts) if parts else self._files.folder
        if file is None:
            return None
        if not file.is_file():
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(file)]
            return spec
        shown = file.relative_to(self._files.folder).as_posix()
        if shown not in self._listed:
            raise ImportError(f"{shown} was not trusted, because no import statement names it; write one")
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _Loader(fullname, str(file), self._builtins)
        return importlib.util.spec_from_file_location(
            fullname, file, loader=loader, submodule_search_locations=inside
        )

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """Stands for `__import__` in the project's files."""
        file = (globals or {}).get("__file__")
        root = self._files.root(Path(file), name) if file and not level else None
        if root is None:
            return builtins.__import__(name, globals, locals, fromlist, level)
        above = root.relative_to(self._files.folder).parts
        whole = f"{self._full(above)}.{name}"
        if fromlist:
            return builtins.__import__(whole, globals, locals, fromlist, 0)
        importlib.import_module(whole)
        return sys.modules[f"{self._full(above)}.{name.partition('.')[0]}"]

    def _full(self, parts: Parts) -> str:
        return ".".join((self._name, *(part.replace(".", ":") for part in parts)))

    def _problem(self, module: str, error: BaseException) -> Problem:
        """At the last line of the project's own files that was reached."""
        lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            lines.append((error.filename or "", error.lineno or 1))
        if function := getattr(error, "function", None):
            lines.append((function.__code__.co_filename, function.__code__.co_firstlineno))
        own = [(Path(file), line) for file, line in lines if Path(file).is_relative_to(self._files.folder)]
        file, line = own[-1] if own else (self._files.folder / module, 1)
        shown = file.relative_to(self._files.folder).as_posix()
        return Problem(file=shown, line=line, message=_unloadable(error))

    def forget(self) -> None:
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.partition(".")[0] == self._name]:
            del sys.modules[name]


class _Loader(SourceFileLoader):
    """Runs what stands in the file: a compiled copy beside it may come from elsewhere, and nobody trusted it."""

    def __init__(self, fullname: str, path: str, names: Mapping[str, Any]) -> None:
        super().__init__(fullname, path)
        self._builtins = names

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._builtins
        super().exec_module(module)


def _unloadable(error: BaseException) -> str:
    said = without_own_name(str(error).encode(errors="replace")).decode()
    message = f"this Python module cannot be loaded: {type(error).__name__}: {said}"
    if isinstance(error, ModuleNotFoundError):
        where = "put it beside this file or into the project's folder"
        message += f"; {where}, or install its package for {sys.executable}"
    return message


def _is_installed(name: str) -> bool:
    """A folder of this name that happens to lie in `sys.path` does not count."""
    if name in sys.modules:
        return True
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None
