"""All built-in tools by the names that agent files use."""

from __future__ import annotations

from collections.abc import Mapping

from folkmoot.domain.builtins import Builtins
from folkmoot.tools.builtin.files import Files
from folkmoot.tools.builtin.programs import Programs
from folkmoot.tools.builtin.search import Search
from folkmoot.tools.builtin.web import Web
from folkmoot.tools.functions import FunctionTool


def builtin_tools(limits: Builtins, env: Mapping[str, str]) -> dict[str, FunctionTool]:
    """Nothing is kept from one call to the next, so sessions cannot learn of each other.

    What they read is the text of whoever wrote the file, the page or the program's output.
    A write may be repeated: it leaves the same file. An edit may not: what it inserts could stand there twice.
    """
    files, search, programs, web = (
        Files(limits.files),
        Search(limits.files),
        Programs(limits, env),
        Web(limits.web),
    )
    return {
        "files.read": FunctionTool(files.read, "pure", "read", untrusted=True),
        "files.list": FunctionTool(files.list, "pure", "read", untrusted=True),
        "files.search": FunctionTool(search.search, "pure", "read", untrusted=True),
        "files.write": FunctionTool(files.write, "keyed", "write", "medium"),
        "files.edit": FunctionTool(files.edit, "once", "write", "medium"),
        "shell": FunctionTool(programs.shell, "once", "exec", "high", untrusted=True),
        "python": FunctionTool(programs.python, "once", "exec", "high", untrusted=True),
        "web.fetch": FunctionTool(web.fetch, "pure", "egress", untrusted=True),
    }
