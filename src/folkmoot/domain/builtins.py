"""What `builtins:` in `folkmoot.yaml` may say: the limits of the tools that come with the package."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from folkmoot.domain.budget import Duration
from folkmoot.domain.naming import Variable
from folkmoot.domain.value import Value

Bytes = Annotated[int, Meta(ge=1)]


class FileLimits(Value, forbid_unknown_fields=True):
    read_lines: Annotated[int, Meta(ge=1)] = 500
    """The most lines that one `files.read` shows."""
    read_bytes: Bytes = 12_000
    """The most bytes that one `files.read` shows; not more than `toolResponseMaxBytes` is sensible."""
    file_bytes: Bytes = 10_000_000
    """Larger files are neither read nor written."""
    search_time: Duration = 10.0
    """How long one `files.search` may take."""


class ProcessLimits(Value, forbid_unknown_fields=True):
    time: Duration = 120.0
    """How long one call may take; `toolTimeout` ends it too."""
    output_bytes: Bytes = 12_000
    """Of a longer output the beginning and the end are kept."""
    processes: Annotated[int, Meta(ge=1)] = 64
    """The most processes of one call at a time."""
    memory_bytes: Bytes = 2_000_000_000
    """Of each of its processes."""
    file_bytes: Bytes = 1_000_000_000
    """No file that it writes grows beyond this."""
    env: tuple[Variable, ...] = ()
    """The environment variables that it gets beside a `PATH` of the system's folders."""


class WebLimits(Value, forbid_unknown_fields=True):
    time: Duration = 30.0
    """How long one call may take, redirects included."""
    bytes: Bytes = 2_000_000
    """The most that is read of a page, after unpacking."""
    allow: tuple[str, ...] = ()
    """Hosts, addresses or networks (`10.1.0.0/16`) that may be asked though they are not public."""


class Builtins(Value, forbid_unknown_fields=True):
    """Limits of the built-in tools."""

    files: FileLimits = FileLimits()
    """Of `files.read`, `list`, `search`, `write` and `edit`."""
    shell: ProcessLimits = ProcessLimits()
    """Of the programs that agents run."""
    python: ProcessLimits = ProcessLimits()
    """Of the Python code that agents run."""
    web: WebLimits = WebLimits()
    """Of `web.fetch`."""
