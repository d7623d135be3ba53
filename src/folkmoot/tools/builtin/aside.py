"""Work on foreign text that may take for ever, in a process of its own that is ended in time.

A regular expression and an HTML parser can be made to compute for hours, and no thread can be stopped. The scripts
of this folder that run so import nothing of the package.
"""

from __future__ import annotations

import asyncio
import math
import sys
from pathlib import Path

from folkmoot.tools.builtin.refused import Refused


async def aside(script: str, given: bytes, seconds: float) -> bytes:
    """What the script makes of `given`. Raises `Refused` if it takes too long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-X", "utf8",
        str(Path(__file__).parent / script), str(math.ceil(seconds) if seconds else 0),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={}, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds or None):
            made, _ = await process.communicate(given)
    except TimeoutError:
        raise Refused(
            f"it took longer than {seconds:g} s; look for something simpler, or in fewer files"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if process.returncode:
        raise Refused("it could not be worked out; look for something simpler")
    return made
